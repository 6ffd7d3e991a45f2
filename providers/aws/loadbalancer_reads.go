package aws

import (
	"net/netip"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
)

// openToAll reports whether clients may come from any IPv4 address.
func openToAll(r *request.Request) bool {
	return slices.ContainsFunc(r.SourceRanges, func(cidr netip.Prefix) bool { return cidr.Bits() == 0 && cidr.Addr().Is4() })
}

// probesOtherPorts reports whether health checks may go to other ports than the
// traffic.
func probesOtherPorts(r *request.Request, c request.Config) bool {
	return r.LocalTraffic || r.HealthCheck.Port != nil || c.SharedProbe
}

// attributesMatter reports whether planning needs the attributes of target
// groups: the Service asks for some, or nodes must let in the load balancer itself
// if its clients are hidden, which the rules for clients do not.
func attributesMatter(r *request.Request, c request.Config) bool {
	return len(r.TargetGroupAttributes) > 0 || r.Kind == request.Network && probesOtherPorts(r, c) && !openToAll(r)
}

// subnetsMatter reports whether planning needs the CIDRs of the subnets that a
// network load balancer is in, from where it probes nodes.
func subnetsMatter(r *request.Request, c request.Config) bool {
	return !c.LeaveNodeSecurityGroups &&
		(probesOtherPorts(r, c) || !openToAll(r) || len(r.SourceRanges) > 1 || r.Ports[0].Protocol == "UDP")
}

// discovery reports whether subnets are discovered that no annotation names, and
// for which scheme. A network load balancer that exists keeps its own; one of
// either kind keeps its scheme.
func discovery(r *request.Request, o *observed) (internal, needed bool) {
	switch {
	case r.Kind == request.Network && o.hasNetwork():
		return false, false
	case r.Kind == request.Classic && o.hasClassic() && o.Classic.Scheme != "":
		return o.Classic.Scheme == "internal", true
	default:
		return r.Internal, true
	}
}
