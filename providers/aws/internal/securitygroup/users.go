package securitygroup

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/snapshot"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// serviceName is the form of the names of load balancers that are created for
// Services.
var serviceName = regexp.MustCompile(`^a[0-9a-f]{31}$`)

// Users finds out which other load balancers of the cluster need a rule.
type Users struct {
	Classic *Classic
	Network *snapshot.Snapshot
	Cluster cluster.ID
	VPC     string
	// LoadBalancer is the one that no longer needs the rules. Deleting reports
	// which others are being deleted, too.
	LoadBalancer string
	Deleting     func(loadBalancer string) bool
	// Known are the stored needs of other load balancers.
	Known *KnownNeeds
	// CIDRs returns the CIDRs of subnets by ID.
	CIDRs func(ctx context.Context, subnets []string) (map[string]netip.Prefix, error)
}

// RuleUsers contains the other load balancers that need rules. The zero value
// is empty.
type RuleUsers struct {
	// candidates are the load balancers that need a rule wherever they have
	// nodes, by name.
	candidates map[Rule][]string
	// loadBalancer is the one that no longer needs the rules.
	loadBalancer string
	known        *KnownNeeds
}

// of returns the load balancer that needs a rule in a group, or none, and the
// description of its rule. If there is no other, it returns one that may have
// no nodes in the group: its own next run removes the rule then.
func (u RuleUsers) of(rule Rule, group string) (user, description string) {
	candidates, searched := u.candidates[rule]
	if !searched {
		return "", ""
	}
	if user, description = u.known.userOf(rule, group, u.loadBalancer); user != "" {
		return user, description
	}
	for _, name := range candidates {
		if u.known.without(rule, name) {
			continue
		}
		in, known := u.known.inGroup(name, group)
		switch {
		case in:
			return name, healthPrefix + name
		case !known && user == "":
			user = name
		}
	}

	return user, healthPrefix + user
}

// Covers reports whether the users of all these rules were looked up.
func (u RuleUsers) Covers(rules []Rule) bool {
	return sets.KeySet(u.candidates).HasAll(rules...)
}

// Find looks up the load balancers that need rules. It reads only the kinds of
// load balancers that such rules are for.
func (u Users) Find(ctx context.Context, rules []Rule) (RuleUsers, error) {
	found := RuleUsers{candidates: map[Rule][]string{}, loadBalancer: u.LoadBalancer, known: u.Known}
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
	if err := twice(func() error { return u.findNetwork(ctx, network, found.candidates) }, u.Network.Refresh); err != nil {
		return RuleUsers{}, err
	}

	return found, nil
}

// twice repeats a search whose reads contradict each other, after the shared
// reads were dropped: a load balancer may have been deleted since it was read.
func twice(find func() error, refresh func()) error {
	err := find()
	if !apierr.Has[*changingError](err) {
		return err
	}
	refresh()

	return find()
}

// widestSubnet is the minimum prefix length of a subnet:
// https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html
const widestSubnet = 16

// fromSubnet reports whether the source of a rule can be a subnet, from which
// load balancers probe nodes.
func (r Rule) fromSubnet() bool {
	cidr, err := netip.ParsePrefix(r.Source.Value)

	return err == nil && cidr.Bits() >= widestSubnet
}

// other reports whether a name belongs to another load balancer that stays.
func (u Users) other(name string) bool {
	return serviceName.MatchString(name) && name != u.LoadBalancer && !u.Deleting(name)
}

// changingError means that reads of a load balancer contradict each other: it
// was created or deleted a moment ago. Such reads prove nothing; a later run
// repeats them. It is also apierr.ErrConflict.
type changingError struct{ name string }

// Error implements error.
func (e *changingError) Error() string {
	return fmt.Sprintf("it cannot be determined now what load balancer %s needs, which was created or deleted a moment ago", e.name)
}

// Is makes errors.Is report a conflict.
func (*changingError) Is(target error) bool { return target == apierr.ErrConflict }
