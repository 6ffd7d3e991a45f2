package request

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
)

// The ranges of all clients.
var (
	allIPv4 = netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	allIPv6 = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
)

// readClientRanges reads the ranges of the spec, or else of the annotation.
func (p *parser) readClientRanges() {
	ranges := &p.request.ClientRanges
	if spec := p.svc.Spec.LoadBalancerSourceRanges; len(spec) > 0 {
		ranges.Wanted = true
		for _, item := range spec {
			parsed, err := address.ParsePrefixes(item)
			if err != nil || len(parsed) != 1 {
				p.reject("spec.loadBalancerSourceRanges: %q is not a CIDR", item)
			}
			ranges.Prefixes = append(ranges.Prefixes, parsed...)
		}
	} else {
		ranges.Prefixes = p.strict.CIDRs(AnnotationSourceRanges)
		ranges.Wanted = len(ranges.Prefixes) > 0
	}
	slices.SortFunc(ranges.Prefixes, netip.Prefix.Compare)
	ranges.Prefixes = slices.Compact(ranges.Prefixes)
}

// restrict reports whether any client is not allowed.
func (c ClientRanges) restrict() bool {
	return c.Wanted && !slices.ContainsFunc(c.Prefixes, func(prefix netip.Prefix) bool { return prefix.Bits() == 0 })
}

// clients are the ranges of clients in the place where they are enforced.
type clients struct {
	// allowed are those of listeners, nil if they are not sent.
	allowed []netip.Prefix
	// sources are those of rules for members, nil if these allow the member subnet.
	sources []netip.Prefix
}

// clientsOf decides where the ranges of clients are enforced:
//
//	                                            place                 else
//	the API and the provider have allowed CIDRs listeners             Event if ranges are set
//	OVN with managed security groups            rules for members     Event if ranges are set
//
// Ranges of a family that the VIPs do not have are left out with an Event: Octavia
// refuses them. If none is left, it is an error, since no ranges mean all clients.
func (r *Request) clientsOf(given Given) (clients, []service.Warning, error) {
	onListeners := given.Features.Has(features.AllowedCIDRs) && !given.VIPSecurityGroups
	onMembers := given.Features.KeepsSource() && r.ManageSecurityGroups
	if !onListeners && !onMembers {
		if !r.ClientRanges.restrict() {
			return clients{}, nil, nil
		}

		return clients{}, []service.Warning{service.Warn(SourceRangesIgnored,
			"Source ranges are ignored, so that all clients are allowed: %s", r.whyNoRanges(given))}, nil
	}
	ranges, warnings, err := r.clientRanges(given.families(r.Family))
	if err != nil {
		return clients{}, nil, err
	}
	var result clients
	if onListeners {
		result.allowed = ranges
	}
	if given.Features.KeepsSource() && r.ManageSecurityGroups {
		result.sources = ranges
	}

	return result, warnings, nil
}

// whyNoRanges is the reason why ranges of clients cannot be enforced.
func (r *Request) whyNoRanges(given Given) string {
	switch {
	case given.VIPSecurityGroups:
		return "the VIP has security groups, which take precedence"
	case given.Features.KeepsSource():
		return "the provider " + given.Features.Provider() + " needs manage-security-groups for it"
	default:
		return "the load balancer API " + given.Features.Version().String() + " or the provider does not support them"
	}
}

// clientRanges returns the ranges of these families.
func (r *Request) clientRanges(families []address.Family) ([]netip.Prefix, []service.Warning, error) {
	if !r.ClientRanges.Wanted {
		return everyone(families), nil, nil
	}
	if len(families) == 0 {
		return r.ClientRanges.Prefixes, nil, nil
	}
	var kept []netip.Prefix
	var dropped []string
	for _, prefix := range r.ClientRanges.Prefixes {
		if slices.Contains(families, address.FamilyOf(prefix.Addr())) {
			kept = append(kept, prefix)
		} else {
			dropped = append(dropped, prefix.String())
		}
	}
	list := strings.Join(dropped, ", ")
	switch {
	case len(kept) == 0:
		return nil, nil, invalid("source ranges %s: none is of the IP family of the load balancer, so that no client would be allowed", list)
	case len(dropped) == 0:
		return kept, nil, nil
	default:
		return kept, []service.Warning{service.Warn(SourceRangesIgnored,
			"Source ranges %s are ignored: the load balancer has no address of their IP family", list)}, nil
	}
}

// everyone returns the ranges of all clients of these families, and of IPv4 without
// any.
func everyone(families []address.Family) []netip.Prefix {
	var all []netip.Prefix
	if len(families) == 0 || slices.Contains(families, address.IPv4) {
		all = append(all, allIPv4)
	}
	if slices.Contains(families, address.IPv6) {
		all = append(all, allIPv6)
	}

	return all
}
