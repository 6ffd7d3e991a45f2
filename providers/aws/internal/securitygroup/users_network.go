package securitygroup

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/snapshot"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// prober is a network load balancer that probes the port of a rule.
type prober struct {
	name, arn string
	ports     sets.Set[int32]
	cidrs     []netip.Prefix
}

func (p *prober) needs(rule Rule) bool {
	return p.ports.Has(rule.From) &&
		slices.ContainsFunc(p.cidrs, func(cidr netip.Prefix) bool { return prefix(cidr) == rule.Source })
}

// findNetwork finds network load balancers that probe the port of a rule from
// the subnet in it.
func (u Users) findNetwork(ctx context.Context, rules []Rule, found map[Rule][]string) error {
	if len(rules) == 0 {
		return nil
	}
	probers, err := u.probers(ctx, rules)
	if err != nil || len(probers) == 0 {
		return err
	}
	if err := u.locate(ctx, probers); err != nil {
		return err
	}
	probers = slices.DeleteFunc(probers, func(p *prober) bool { return !slices.ContainsFunc(rules, p.needs) })
	members, err := u.networkMembers(ctx, probers)
	if err != nil {
		return err
	}
	for _, rule := range rules {
		for _, p := range members {
			if p.needs(rule) {
				found[rule] = append(found[rule], p.name)
			}
		}
	}

	return nil
}

// probers returns the other load balancers with a target group whose health
// checks use the port of a rule, by name.
func (u Users) probers(ctx context.Context, rules []Rule) ([]*prober, error) {
	groups, err := u.Network.TargetGroups(ctx)
	if err != nil {
		return nil, err
	}
	byARN := map[string]*prober{}
	for i := range groups {
		group := &groups[i]
		port := probedPort(group)
		if aws.ToString(group.VpcId) != u.VPC || !slices.ContainsFunc(rules, func(r Rule) bool { return r.From == port }) {
			continue
		}
		for _, arn := range group.LoadBalancerArns {
			name := snapshot.NameOf(arn)
			if !u.other(name) {
				continue
			}
			if byARN[arn] == nil {
				byARN[arn] = &prober{name: name, arn: arn, ports: sets.New[int32]()}
			}
			byARN[arn].ports.Insert(port)
		}
	}

	return slices.SortedFunc(maps.Values(byARN), func(a, b *prober) int { return cmp.Compare(a.name, b.name) }), nil
}

// probedPort returns the port of health checks.
func probedPort(group *elbv2types.TargetGroup) int32 {
	if port, err := strconv.ParseInt(aws.ToString(group.HealthCheckPort), 10, 32); err == nil {
		return int32(port)
	}

	return aws.ToInt32(group.Port)
}

// locate determines the subnets of the load balancers. It is an error if one
// does not exist, unless its needs are stored.
func (u Users) locate(ctx context.Context, probers []*prober) error {
	balancers, err := u.Network.LoadBalancers(ctx)
	if err != nil {
		return err
	}
	subnets := map[string][]string{} // by name
	all := sets.New[string]()
	for _, p := range probers {
		lb := balancers[p.name]
		switch {
		case lb != nil && aws.ToString(lb.LoadBalancerArn) == p.arn:
			for _, zone := range lb.AvailabilityZones {
				subnets[p.name] = append(subnets[p.name], aws.ToString(zone.SubnetId))
			}
		case !u.Known.has(p.name):
			return &changingError{p.name}
		}
		all.Insert(subnets[p.name]...)
	}
	if all.Len() == 0 {
		return nil
	}
	cidrs, err := u.CIDRs(ctx, sets.List(all))
	if err != nil {
		return err
	}
	for _, p := range probers {
		for _, subnet := range subnets[p.name] {
			if cidr, ok := cidrs[subnet]; ok {
				p.cidrs = append(p.cidrs, cidr)
			}
		}
	}

	return nil
}

// networkMembers returns the load balancers of the cluster, or all of them if
// there is no permission to read tags. It is an error if AWS does not find the
// tags of an existing one, unless its needs are stored.
func (u Users) networkMembers(ctx context.Context, probers []*prober) ([]*prober, error) {
	tags, err := u.Network.Tags(ctx, lists.Map(probers, func(p *prober) string { return p.arn }))
	if err != nil {
		return nil, fmt.Errorf("find the network load balancers that share a health check port: %w", err)
	}
	if tags == nil {
		return probers, nil
	}
	var members []*prober
	for _, p := range probers {
		have, found := tags[p.arn]
		switch {
		case !found && !u.Known.has(p.name):
			if exists, err := u.Network.Exists(ctx, p.name); err != nil {
				return nil, err
			} else if exists {
				return nil, &changingError{p.name}
			}
		case !found, u.Cluster.Member(have):
			members = append(members, p)
		}
	}

	return members, nil
}
