package securitygroup

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// Descriptions of rules for network load balancers. Existing rules are
// recognized by them, so they never change.
const (
	clientPrefix   = "kubernetes.io/rule/nlb/client="
	healthPrefix   = "kubernetes.io/rule/nlb/health="
	mtuDescription = "kubernetes.io/rule/nlb/mtu"
)

// Reasons of Events about the security groups of nodes.
const (
	// AmbiguousGroup is the reason for a node whose group for load balancers
	// cannot be determined.
	AmbiguousGroup service.Reason = "AmbiguousNodeSecurityGroup"
	// NoGroup is the reason for a node without a security group.
	NoGroup service.Reason = "NoNodeSecurityGroup"
)

// Needs are the requirements of one load balancer in the security groups of its
// nodes.
type Needs struct {
	// LoadBalancer is the name in the descriptions of its rules. If it is empty,
	// no rule with a description is its own.
	LoadBalancer string
	// Groups are the IDs of the groups of the nodes that it sends to. If there
	// are none, all that it had is removed.
	Groups []string
	// Rules are the desired rules of each of those, for a network load
	// balancer.
	Rules Rules
	// Optional are rules of its own that it may need: they are neither added
	// nor removed.
	Optional Rules
	// Primary is the primary group of a classic load balancer, from which every
	// node must allow traffic.
	Primary plan.Ref
	// Sources are the IDs of the current and previous groups of a classic load
	// balancer from which nodes allow traffic. Rules with these sources, in the
	// form of [FromEverything], are its own.
	Sources []string
	// Primaries are the IDs of the desired, current and previous primary groups
	// of a classic load balancer: nodes allow its traffic only from these.
	Primaries []string
	// Ending are the Sources that are about to be deleted: no rule may refer to
	// them any more, whichever load balancer the referring groups are for.
	Ending []string
	// Lost are rules, by the IDs of their groups, that other load balancers
	// need and that were removed on behalf of this one. They are added again.
	Lost map[string]Rules
	// AddOnly is set if the needs of some nodes are unknown: nothing is
	// removed.
	AddOnly bool
	// InUseOnly is set if some nodes are missing for long: nothing is removed
	// from groups other than Groups, which may be theirs.
	InUseOnly bool
}

// adds reports whether nothing is removed from a group.
func (n Needs) adds(id string) bool {
	return n.AddOnly || n.InUseOnly && !slices.Contains(n.Groups, id)
}

// Known reports whether the ID of the primary group is known, if there is one.
func (n Needs) Known() bool { return n.Primary.Key == "" || n.Primary.ID != "" }

// Resolve returns the needs with the ID of the primary group, which an earlier
// step may have created.
func (n Needs) Resolve(ids *plan.IDs) (Needs, error) {
	if n.Primary == (plan.Ref{}) {
		return n, nil
	}
	id, err := ids.Resolve(n.Primary)
	n.Primary = plan.Ref{ID: id}

	return n, err
}

// wanted returns the rules that a group of nodes is to have.
func (n Needs) wanted() Rules {
	if n.Primary == (plan.Ref{}) {
		return n.Rules
	}

	return Rules{FromEverything(n.Primary.String()): ""}
}

// source reports whether nodes allow traffic of the load balancer from a group.
// Rules with groups of nodes as sources allow traffic among nodes.
func (n Needs) source(id string) bool {
	return (id == n.Primary.ID || slices.Contains(n.Sources, id)) && !slices.Contains(n.Groups, id)
}

// Serving returns the rules that a network load balancer serves with now: the
// ones that allow health checks on its ports, and the ones for clients that
// stay.
func (n Needs) Serving(groups Groups, ports []int32, clients []netip.Prefix) Rules {
	serving := Rules{}
	for _, group := range groups {
		for rule, description := range group.Rules {
			stays := group.Rules.allowsHealthChecks(rule) ||
				slices.ContainsFunc(clients, func(cidr netip.Prefix) bool { return prefix(cidr) == rule.Source })
			if n.names(description) && slices.Contains(ports, rule.From) && stays {
				serving[rule] = description
			}
		}
	}

	return serving
}

// Traffic describes the packets that a network load balancer sends to nodes.
type Traffic struct {
	LoadBalancer string
	// Transport is "tcp" or "udp".
	Transport string
	// NodePorts and HealthCheckPorts are sorted.
	NodePorts, HealthCheckPorts []int32
	// Clients are the source ranges, Subnets the CIDRs of the load balancer's
	// subnets.
	Clients, Subnets []netip.Prefix
	// HidesClients means that the source of packets is the load balancer, not
	// the client.
	HidesClients bool
}

// ForNetworkNodes returns the rules that allow the clients of a network load
// balancer, and its health checks:
//
//	client   each node port, from each source range
//	health   each health check port, from each subnet, unless all addresses may
//	         connect to all of them as a client
//	health   each node port, from each subnet, if clients are hidden, unless
//	         clients from there may connect to it anyway
func ForNetworkNodes(t Traffic) Rules {
	rules := Rules{}
	if !t.healthCovered() {
		t.add(rules, healthPrefix, tcp, t.HealthCheckPorts, t.Subnets)
	}
	if t.HidesClients {
		hidden := slices.DeleteFunc(slices.Clone(t.Subnets), t.fromClients)
		t.add(rules, healthPrefix, t.Transport, t.NodePorts, hidden)
	}
	// For EC2, a rule for the clients and one for health checks are equal if
	// ports and sources are. Such a rule gets the description for clients,
	// since the rules for path MTU discovery depend on those.
	t.add(rules, clientPrefix, t.Transport, t.NodePorts, t.Clients)

	return rules
}

func (t Traffic) add(rules Rules, kind, transport string, ports []int32, sources []netip.Prefix) {
	for _, cidr := range sources {
		for _, port := range ports {
			rules[Rule{Protocol: transport, From: port, To: port, Source: prefix(cidr)}] = kind + t.LoadBalancer
		}
	}
}

// fromClients reports whether the source ranges include a whole subnet.
func (t Traffic) fromClients(subnet netip.Prefix) bool {
	return slices.ContainsFunc(t.Clients, func(clients netip.Prefix) bool {
		return clients.Bits() <= subnet.Bits() && clients.Contains(subnet.Addr())
	})
}

// healthCovered reports whether the rules for the clients allow health checks.
func (t Traffic) healthCovered() bool {
	return t.Transport == tcp && slices.Equal(t.HealthCheckPorts, t.NodePorts) &&
		len(t.Clients) == 1 && t.Clients[0].Addr().Is4() && t.Clients[0].Bits() == 0
}

// NodeGroups are the groups of nodes that allow traffic from load balancers.
type NodeGroups struct {
	// IDs are the IDs of the groups, sorted.
	IDs []string
	// Warnings are about instances without a group, and ambiguous ones.
	Warnings []service.Warning
	// Err is set if there are instances whose group is ambiguous. It is also
	// apierr.ErrInvalid.
	Err error
	// Without are the IDs of the instances without a group, which may get one.
	Without []string
}

// ChooseNodeGroups chooses one of the groups of each instance, for the rules
// that allow traffic from load balancers:
//
//	one tagged for the cluster            that
//	several such                          ambiguous
//	none such, one other                  that
//	none such, several others             ambiguous
//	none at all                           the instance is left out
func ChooseNodeGroups(instances map[string]*inventory.Instance, member func(group string) bool) NodeGroups {
	chosen := map[string]bool{}
	var without, ambiguous []string
	for _, id := range slices.Sorted(maps.Keys(instances)) {
		groups := instances[id].SecurityGroups
		tagged := slices.DeleteFunc(slices.Clone(groups), func(group string) bool { return !member(group) })
		if len(tagged) > 0 {
			groups = tagged
		}
		switch groups = slices.Compact(slices.Sorted(slices.Values(groups))); len(groups) {
		case 0:
			without = append(without, id)
		case 1:
			chosen[groups[0]] = true
		default:
			ambiguous = append(ambiguous, id+" ("+strings.Join(groups, ", ")+")")
		}
	}
	result := NodeGroups{IDs: slices.Sorted(maps.Keys(chosen)), Without: without}
	if len(without) > 0 {
		result.Warnings = append(result.Warnings, service.Warn(NoGroup,
			"Instances without a security group get no rules for the load balancer: %s", strings.Join(without, ", ")))
	}
	if len(ambiguous) > 0 {
		list := strings.Join(ambiguous, ", ")
		result.Warnings = append(result.Warnings, service.Warn(AmbiguousGroup,
			"Tag exactly one of the security groups of each instance for the cluster: %s", list))
		result.Err = apierr.Mark(apierr.ErrInvalid, fmt.Errorf(
			"choose the security group of instances %s: tag exactly one of the groups of each for the cluster", list))
	}

	return result
}
