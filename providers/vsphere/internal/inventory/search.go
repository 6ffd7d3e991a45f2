package inventory

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// finder queries the search index of the vCenter, in all datacenters.
type finder func(ctx context.Context, c *vim25.Client) ([]Ref, error)

// searches lists the searches for a query, in order of preference.
func searches(q Query) []finder {
	out := lists.Map(q.UUIDs, func(uuid string) finder { return byUUID(normal(uuid)) })
	for _, name := range q.Names {
		out = append(out, byDNSName(normal(name)))
	}
	for _, name := range q.Names {
		if short := shortName(normal(name)); short != normal(name) {
			out = append(out, byDNSName(short))
		}
	}
	for _, name := range q.Names {
		if ip, err := netip.ParseAddr(normal(name)); err == nil {
			out = append(out, byIP(ip.String()))
		}
	}

	return out
}

func byUUID(uuid string) finder {
	return func(ctx context.Context, c *vim25.Client) ([]Ref, error) {
		res, err := methods.FindAllByUuid(ctx, c, &types.FindAllByUuid{
			This: *c.ServiceContent.SearchIndex, Uuid: uuid, VmSearch: true, InstanceUuid: new(false),
		})
		if err != nil {
			return nil, fmt.Errorf("find VMs by UUID %s: %w", uuid, err)
		}

		return res.Returnval, nil
	}
}

func byDNSName(name string) finder {
	return func(ctx context.Context, c *vim25.Client) ([]Ref, error) {
		res, err := methods.FindAllByDnsName(ctx, c, &types.FindAllByDnsName{
			This: *c.ServiceContent.SearchIndex, DnsName: name, VmSearch: true,
		})
		if err != nil {
			return nil, fmt.Errorf("find VMs by DNS name %s: %w", name, err)
		}

		return res.Returnval, nil
	}
}

func byIP(ip string) finder {
	return func(ctx context.Context, c *vim25.Client) ([]Ref, error) {
		res, err := methods.FindAllByIp(ctx, c, &types.FindAllByIp{
			This: *c.ServiceContent.SearchIndex, Ip: ip, VmSearch: true,
		})
		if err != nil {
			return nil, fmt.Errorf("find VMs by IP address %s: %w", ip, err)
		}

		return res.Returnval, nil
	}
}
