package securitygroup

import (
	"context"
	"net/netip"
	"regexp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/snapshot"
)

// serviceName is the form of the names of load balancers that are created for
// Services.
var serviceName = regexp.MustCompile(`^a[0-9a-f]{31}$`)

// Users finds out which other load balancers of the cluster need a rule.
type Users struct {
	Classic client.ClassicReads
	Network *snapshot.Snapshot
	Cluster cluster.ID
	VPC     string
	// LoadBalancer is the one that does not need the rules any more. Deleting
	// reports which others are being deleted, too.
	LoadBalancer string
	Deleting     func(loadBalancer string) bool
	// InGroup reports whether a load balancer has nodes in a security group, and
	// whether that is known.
	InGroup func(loadBalancer, group string) (in, known bool)
	// CIDRs returns the CIDRs of subnets by ID.
	CIDRs func(ctx context.Context, subnets []string) (map[string]netip.Prefix, error)
}

// RuleUsers is which other load balancers need which rules. The zero value is
// none.
type RuleUsers struct {
	// candidates are the load balancers that need a rule wherever they have
	// nodes, by name.
	candidates map[Rule][]string
	inGroup    func(loadBalancer, group string) (in, known bool)
}

// of returns the load balancer that needs a rule in a group, or none. One of
// which it is not known whether it has nodes in the group is taken if there is no
// other: its own next run removes the rule if it does not.
func (u RuleUsers) of(rule Rule, group string) string {
	unknown := ""
	for _, name := range u.candidates[rule] {
		in, known := u.inGroup(name, group)
		switch {
		case in:
			return name
		case !known && unknown == "":
			unknown = name
		}
	}
	return unknown
}

// Covers reports whether it was looked for users of all these rules.
func (u RuleUsers) Covers(rules []Rule) bool {
	for _, rule := range rules {
		if _, ok := u.candidates[rule]; !ok {
			return false
		}
	}
	return true
}

// Find looks for the load balancers that need rules. It reads only the kinds of
// load balancers that such rules are for.
func (u Users) Find(ctx context.Context, rules []Rule) (RuleUsers, error) {
	found := RuleUsers{candidates: map[Rule][]string{}, inGroup: u.InGroup}
	var classic, network []Rule
	for _, rule := range rules {
		found.candidates[rule] = nil
		switch {
		case rule.Source.Kind == FromGroup:
			classic = append(classic, rule)
		case rule.Protocol == tcp && rule.From == rule.To && rule.fromSubnet():
			network = append(network, rule)
		}
	}
	if err := u.findClassic(ctx, classic, found.candidates); err != nil {
		return RuleUsers{}, err
	}
	if err := u.findNetwork(ctx, network, found.candidates); err != nil {
		return RuleUsers{}, err
	}
	return found, nil
}

// widestSubnet is how many bits the prefix of a subnet has at least:
// https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html
const widestSubnet = 16

// fromSubnet reports whether the source of a rule can be a subnet, from which load
// balancers probe nodes.
func (r Rule) fromSubnet() bool {
	cidr, err := netip.ParsePrefix(r.Source.Value)
	return err == nil && cidr.Bits() >= widestSubnet
}

// other reports whether a name is that of another load balancer, one that stays.
func (u Users) other(name string) bool {
	return serviceName.MatchString(name) && name != u.LoadBalancer && !u.Deleting(name)
}
