package octavia

import (
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// Context is what a load balancer depends on apart from its Service.
type Context struct {
	// Owner means that the load balancer was made for the Service, or is new.
	Owner    bool
	Features features.Features
	// VIPSubnetID is the subnet of a new load balancer whose subnet is to be detected.
	VIPSubnetID string
	// MemberSubnets are the subnets of the members by Node. If it is nil, all members have
	// the one of the Request.
	MemberSubnets map[string]string
	// Keep are the addresses of members that stay although they are not wanted.
	Keep sets.Set[netip.Addr]
	// Repaired are the IDs of pools that were repaired before.
	Repaired sets.Set[string]
	// Refused are the members that Octavia has refused lately.
	Refused change.RefusedMembers
	// Serial is provider-requires-serial-api-calls of the cloud-config.
	Serial bool
}

// Build returns the load balancer that a Service wants. It is pure.
func Build(r *request.Request, resolved *request.Resolved, given Context) *Desired {
	names := r.Names
	d := &Desired{
		Names: names, Owner: given.Owner, Serial: given.Serial, Keep: given.Keep, Features: given.Features,
		Refused: given.Refused, Repaired: given.Repaired,
		LoadBalancer: LoadBalancer{
			Name: names.LoadBalancer(), Description: names.Description(),
			Provider: given.Features.Provider(), FlavorID: resolved.FlavorID, Zone: resolved.AvailabilityZone,
			VIP: r.VIP,
		},
	}
	if r.VIP.Detect {
		d.LoadBalancer.VIP.SubnetID = given.VIPSubnetID
	}
	var tags []string
	if given.Features.Has(features.Tags) {
		d.LoadBalancer.Tags, tags = names.Tags(), []string{names.LoadBalancer()}
	}
	for _, port := range resolved.Ports {
		d.Ports = append(d.Ports, Port{
			Listener: buildListener(r, resolved, port.Port, tags),
			Pool:     buildPool(r, resolved, port, given, tags),
		})
	}

	return d
}

func buildListener(r *request.Request, resolved *request.Resolved, port request.Port, tags []string) DesiredListener {
	l := DesiredListener{
		Name: r.Names.Part(request.PartListener, port.Index), Protocol: port.Listener, Number: port.Number,
		ConnectionLimit: r.ConnectionLimit, ForwardedFor: port.ForwardedFor,
		AllowedCIDRs: resolved.AllowedCIDRs, Timeouts: resolved.Timeouts, Tags: tags,
	}
	if port.TLS && r.TLS != nil {
		l.TLSRef = r.TLS.Ref
	}

	return l
}

func buildPool(r *request.Request, resolved *request.Resolved, port request.ResolvedPort, given Context, tags []string) DesiredPool {
	p := DesiredPool{
		Name: r.Names.Part(request.PartPool, port.Index), Protocol: port.Pool, Algorithm: resolved.Algorithm,
		KeepsAffinity: r.KeepsAffinity && given.Features.Has(features.Persistence), Tags: tags,
	}
	if port.Monitor != nil {
		p.Monitor = &DesiredMonitor{Name: r.Names.Part(request.PartMonitor, port.Index), Tags: tags, Monitor: *port.Monitor}
	}
	// Octavia takes no address and port twice, and may never end a change that has one.
	used := make(map[netip.AddrPort]bool, len(port.Members))
	p.Members = slices.Grow(p.Members, len(port.Members))
	for _, m := range port.Members {
		at := netip.AddrPortFrom(m.Address.Unmap(), uint16(m.Port))
		if used[at] {
			continue
		}
		used[at] = true
		member := DesiredMember{
			Name: m.Name(given.Serial), Address: at.Addr(), Port: m.Port, MonitorPort: m.MonitorPort, SubnetID: r.MemberSubnet.ID,
		}
		if given.MemberSubnets != nil {
			member.SubnetID = given.MemberSubnets[m.Node]
		}
		p.Members = append(p.Members, member)
	}

	return p
}
