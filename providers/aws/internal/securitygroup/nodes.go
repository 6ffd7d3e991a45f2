package securitygroup

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// Descriptions of rules for network load balancers. Existing rules are known by
// them, so they never change.
const (
	clientPrefix   = "kubernetes.io/rule/nlb/client="
	healthPrefix   = "kubernetes.io/rule/nlb/health="
	mtuDescription = "kubernetes.io/rule/nlb/mtu"
)

// Reasons of Events about the security groups of nodes.
const (
	// AmbiguousGroup is a node of which it cannot be told which of its groups is
	// for load balancers.
	AmbiguousGroup service.Reason = "AmbiguousNodeSecurityGroup"
	// NoGroup is a node that is in no security group.
	NoGroup service.Reason = "NoNodeSecurityGroup"
)

// Needs is what one load balancer needs of the nodes behind it.
type Needs struct {
	// LoadBalancer is the name that descriptions of rules have. Without it no
	// rule with a description is its own.
	LoadBalancer string
	// Groups are the IDs of the groups of the nodes that it sends to. Without
	// any, all that it had is given back.
	Groups []string
	// Rules are what each of those is to have.
	Rules Rules
	// Sources are the IDs of groups by which a classic load balancer is, or was,
	// let in. Rules with these sources, in the form of [FromEverything], are its
	// own.
	Sources []string
	// Ending are those of Sources that are about to be deleted: nothing may refer
	// to them any more, whoever the referring groups are there for.
	Ending []string
}

// ForClassicNodes are the rules that let a classic load balancer in, by its
// primary group.
func ForClassicNodes(primary string) Rules { return Rules{FromEverything(primary): ""} }

// Traffic is what a network load balancer sends to nodes.
type Traffic struct {
	LoadBalancer string
	// Transport is "tcp" or "udp".
	Transport string
	// NodePorts and HealthCheckPorts are sorted.
	NodePorts, HealthCheckPorts []int32
	// Clients are the source ranges, Subnets those of the load balancer itself.
	Clients, Subnets []netip.Prefix
	// HidesClients says that packets come from the load balancer, not from the
	// clients.
	HidesClients bool
}

// ForNetworkNodes are the rules that let the clients of a network load balancer
// in, and its health checks:
//
//	client   each node port, from each source range
//	health   each health check port, from each subnet, unless everybody may
//	         connect to all of them as a client
//	health   each node port, from each subnet, if clients are hidden
func ForNetworkNodes(t Traffic) Rules {
	rules := Rules{}
	if !t.healthCovered() {
		t.add(rules, healthPrefix, tcp, t.HealthCheckPorts, t.Subnets)
	}
	if t.HidesClients {
		t.add(rules, healthPrefix, t.Transport, t.NodePorts, t.Subnets)
	}
	// EC2 takes a rule for the clients and one for health checks for the same
	// where ports and sources are. It is for the clients then, since the rules
	// for path MTU discovery go by those.
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

// healthCovered says whether health checks come in by the rules for the clients.
func (t Traffic) healthCovered() bool {
	return t.Transport == tcp && slices.Equal(t.HealthCheckPorts, t.NodePorts) &&
		len(t.Clients) == 1 && t.Clients[0].Addr().Is4() && t.Clients[0].Bits() == 0
}

// ChooseNodeGroups chooses of each instance the group that lets load balancers
// in, of those that the instance is in:
//
//	one that is there for the cluster    that
//	several such                         cannot be told
//	none such, one other                 that
//	none such, several others            cannot be told
//	none at all                          the instance is left out
//
// Instances of which it cannot be told are an error beside what was chosen for
// the others.
func ChooseNodeGroups(instances map[string]*inventory.Instance, member func(group string) bool) ([]string, []service.Warning, error) {
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
	var warnings []service.Warning
	if len(without) > 0 {
		warnings = append(warnings, service.Warn(NoGroup,
			"Instances without a security group get no rules for the load balancer: %s", strings.Join(without, ", ")))
	}
	if len(ambiguous) == 0 {
		return slices.Sorted(maps.Keys(chosen)), warnings, nil
	}
	err := fmt.Errorf("choose the security group of instances %s: tag exactly one of the groups of each for the cluster",
		strings.Join(ambiguous, ", "))
	warnings = append(warnings, service.Warn(AmbiguousGroup,
		"Tag exactly one of the security groups of each instance for the cluster: %s", strings.Join(ambiguous, ", ")))
	return slices.Sorted(maps.Keys(chosen)), warnings, apierr.Mark(apierr.ErrInvalid, err)
}
