package routes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	expiring "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

const (
	// attachmentAge is how long the instance of a network interface is cached.
	attachmentAge = 5 * time.Minute
	// deniedAge is how long it is cached that the permission to query them is missing,
	// which an administrator may add at any time.
	deniedAge = 5 * time.Minute
	// peerAge is the maximum age of the list of instances that they are taken from.
	peerAge = time.Minute
	// maxInterfaces is the maximum number of values of the filters of a call.
	maxInterfaces = 200
)

// attachments finds the instances that network interfaces are attached to, for
// routes that EC2 returns without their instance. It is safe for concurrent use.
//
//	the network interface is                 looked up in
//	of an instance of the cluster's list     the inventory, without a call
//	another one                              EC2, all of them in one query
//
// Both results are cached, including that there is no instance, so that network
// interfaces of others do not cost a query each time routes are listed.
type attachments struct {
	api   client.Instances
	peers func(age time.Duration) []*inventory.Instance
	// known has the IDs of instances by those of network interfaces, empty for one
	// that has none, and queryDenied while EC2 is not queried.
	known *expiring.Expiring
}

// queryDenied is the key of a missing permission.
const queryDenied = "denied"

func newAttachments(api client.Instances, peers func(time.Duration) []*inventory.Instance, by clock.Clock) *attachments {
	return &attachments{api: api, peers: peers, known: expiring.NewExpiringWithClock(by)}
}

// instances returns the instances of network interfaces, without those that
// have none. Without the permission to query EC2, only cached and listed
// instances are returned.
func (a *attachments) instances(ctx context.Context, interfaces []string) (map[string]string, error) {
	found := map[string]string{}
	unknown := a.take(found, plan.Sorted(interfaces))
	if len(unknown) > 0 {
		a.keepListed(unknown)
		unknown = a.take(found, unknown)
	}
	if _, notAllowed := a.known.Get(queryDenied); len(unknown) > 0 && !notAllowed {
		err := a.query(ctx, unknown)
		if err != nil && !errors.Is(err, apierr.ErrDenied) {
			return nil, err
		}
		if err != nil {
			klog.FromContext(ctx).Error(err, "Routes to some network interfaces are not listed", "for", deniedAge)
			a.known.Set(queryDenied, nil, deniedAge)
		}
		a.take(found, unknown)
	}
	maps.DeleteFunc(found, func(_, instance string) bool { return instance == "" })

	return found, nil
}

// take adds the cached instances of network interfaces to those that were found,
// and returns the interfaces that are not cached.
func (a *attachments) take(found map[string]string, interfaces []string) (unknown []string) {
	for _, id := range interfaces {
		if instance, known := a.known.Get(id); known {
			found[id] = instance.(string)
		} else {
			unknown = append(unknown, id)
		}
	}

	return unknown
}

// keepListed caches the instances of network interfaces that are listed.
func (a *attachments) keepListed(unknown []string) {
	owners := map[string]string{}
	for _, i := range a.peers(peerAge) {
		for k := range i.Interfaces {
			if _, wanted := slices.BinarySearch(unknown, i.Interfaces[k].ID); wanted {
				owners[i.Interfaces[k].ID] = i.ID
			}
		}
	}
	a.keep(owners)
}

// query queries EC2 for network interfaces. As a filter value, the ID of one
// that does not exist is no error.
func (a *attachments) query(ctx context.Context, unknown []string) error {
	for chunk := range slices.Chunk(unknown, maxInterfaces) {
		owners := make(map[string]string, len(chunk))
		for _, id := range chunk {
			owners[id] = ""
		}
		filter := types.Filter{Name: aws.String("network-interface-id"), Values: chunk}
		input := &ec2.DescribeNetworkInterfacesInput{Filters: []types.Filter{filter}}
		for pages := ec2.NewDescribeNetworkInterfacesPaginator(a.api, input); pages.HasMorePages(); {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return fmt.Errorf("describe %d network interfaces of routes: %w", len(chunk), err)
			}
			if page.NetworkInterfaces == nil {
				return fmt.Errorf("describe %d network interfaces of routes: %w", len(chunk), inventory.ErrNoList)
			}
			for k := range page.NetworkInterfaces {
				if to := page.NetworkInterfaces[k].Attachment; to != nil {
					owners[aws.ToString(page.NetworkInterfaces[k].NetworkInterfaceId)] = aws.ToString(to.InstanceId)
				}
			}
		}
		a.keep(owners)
	}

	return nil
}

func (a *attachments) keep(owners map[string]string) {
	for id, instance := range owners {
		a.known.Set(id, instance, attachmentAge)
	}
}

// leadsToGateway reports whether the target of a route is not an instance: a
// NAT gateway, a transit gateway and so on. Their network interfaces, if they
// are returned as well, do not count.
func leadsToGateway(route *types.Route) bool {
	return slices.ContainsFunc([]*string{
		route.GatewayId, route.NatGatewayId, route.TransitGatewayId, route.EgressOnlyInternetGatewayId,
		route.VpcPeeringConnectionId, route.LocalGatewayId, route.CarrierGatewayId, route.CoreNetworkArn, route.OdbNetworkArn,
	}, func(id *string) bool { return aws.ToString(id) != "" })
}

// instanceIDs returns the target instances of the routes of a table, in the
// order of the routes, empty for other targets.
func (r *Routes) instanceIDs(ctx context.Context, table *types.RouteTable) ([]string, error) {
	ids := make([]string, len(table.Routes))
	var interfaces []string
	for i := range table.Routes {
		entry := &table.Routes[i]
		if _, ok := destination(entry); !ok || leadsToGateway(entry) {
			continue
		}
		ids[i] = aws.ToString(entry.InstanceId)
		if eni := aws.ToString(entry.NetworkInterfaceId); ids[i] == "" && eni != "" {
			interfaces = append(interfaces, eni)
		}
	}
	if len(interfaces) == 0 {
		return ids, nil
	}
	found, err := r.attachments.instances(ctx, interfaces)
	if err != nil {
		return nil, err
	}
	for i := range table.Routes {
		if entry := &table.Routes[i]; ids[i] == "" && !leadsToGateway(entry) {
			ids[i] = found[aws.ToString(entry.NetworkInterfaceId)]
		}
	}

	return ids, nil
}
