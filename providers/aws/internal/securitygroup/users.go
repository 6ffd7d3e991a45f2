package securitygroup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstype"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// tagChunk is how many load balancers either API tells the tags of at once.
const tagChunk = 20

// serviceName is the form of the names of load balancers that are made for
// Services.
var serviceName = regexp.MustCompile(`^a[0-9a-f]{31}$`)

// Others finds out which other load balancers of the cluster need a rule.
type Others struct {
	Classic client.ClassicReads
	Network client.NetworkReads
	Cluster cluster.ID
	VPC     string
	// LoadBalancer is the one that does not need the rules any more. Leaving
	// says which others are being deleted too.
	LoadBalancer string
	Leaving      func(loadBalancer string) bool
	// CIDRs gives the CIDRs of subnets by ID.
	CIDRs func(ctx context.Context, subnets []string) (map[string]netip.Prefix, error)
}

// Heirs finds a load balancer for each rule that another one needs. It asks AWS
// only about the kinds of load balancers that such rules are for.
func (o Others) Heirs(ctx context.Context, rules []Rule) (Heirs, error) {
	heirs := Heirs{}
	var classic, network []Rule
	for _, rule := range rules {
		switch {
		case rule.Source.Kind == FromGroup:
			classic = append(classic, rule)
		case rule.Protocol == tcp && rule.From == rule.To:
			network = append(network, rule)
		}
	}
	if err := o.classicHeirs(ctx, classic, heirs); err != nil {
		return nil, err
	}
	if err := o.networkHeirs(ctx, network, heirs); err != nil {
		return nil, err
	}
	return heirs, nil
}

// other says whether a name is that of another load balancer, one that stays.
func (o Others) other(name string) bool {
	return serviceName.MatchString(name) && name != o.LoadBalancer && !o.Leaving(name)
}

// classicHeirs finds classic load balancers that are in the group which a rule
// lets in.
func (o Others) classicHeirs(ctx context.Context, rules []Rule, heirs Heirs) error {
	if len(rules) == 0 {
		return nil
	}
	groups := map[string][]string{} // by load balancer
	pages := elb.NewDescribeLoadBalancersPaginator(o.Classic, &elb.DescribeLoadBalancersInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("describe the classic load balancers that share a security group: %w", err)
		}
		for i := range page.LoadBalancerDescriptions {
			lb := &page.LoadBalancerDescriptions[i]
			uses := slices.ContainsFunc(rules, func(r Rule) bool { return slices.Contains(lb.SecurityGroups, r.Source.Value) })
			if name := aws.ToString(lb.LoadBalancerName); uses && o.other(name) {
				groups[name] = lb.SecurityGroups
			}
		}
	}
	members, err := o.classicMembers(ctx, sets.List(sets.KeySet(groups)))
	if err != nil {
		return err
	}
	for _, rule := range rules {
		for _, name := range members {
			if slices.Contains(groups[name], rule.Source.Value) {
				heirs[rule] = name
				break
			}
		}
	}
	return nil
}

// classicMembers are those of the load balancers that are there for the cluster,
// all of them if tags may not be read.
func (o Others) classicMembers(ctx context.Context, names []string) ([]string, error) {
	var members []string
	err := halve(names, func(some []string) error {
		answer, err := o.Classic.DescribeTags(ctx, &elb.DescribeTagsInput{LoadBalancerNames: some})
		if err != nil {
			return err
		}
		for i := range answer.TagDescriptions {
			seen := &answer.TagDescriptions[i]
			if o.Cluster.Member(awstype.FromELBTags(seen.Tags)) {
				members = append(members, aws.ToString(seen.LoadBalancerName))
			}
		}
		return nil
	})
	if errors.Is(err, apierr.ErrDenied) {
		return names, nil
	}
	if err != nil {
		return nil, fmt.Errorf("describe the tags of classic load balancers that share a security group: %w", err)
	}
	return members, nil
}

// halve asks about things by the page, and about half of them where one is not
// found: others go away meanwhile.
func halve[T any](things []T, ask func([]T) error) error {
	for chunk := range slices.Chunk(things, tagChunk) {
		err := ask(chunk)
		if !errors.Is(err, apierr.ErrNotFound) {
			if err != nil {
				return err
			}
			continue
		}
		half := len(chunk) / 2
		if half == 0 {
			continue
		}
		if err := errors.Join(halve(chunk[:half], ask), halve(chunk[half:], ask)); err != nil {
			return err
		}
	}
	return nil
}

// probing is a network load balancer that probes the port of a rule.
type probing struct {
	name, arn string
	ports     sets.Set[int32]
	cidrs     []netip.Prefix
}

func (p *probing) needs(rule Rule) bool {
	return p.ports.Has(rule.From) &&
		slices.ContainsFunc(p.cidrs, func(cidr netip.Prefix) bool { return prefix(cidr) == rule.Source })
}

// networkHeirs finds network load balancers that probe the port of a rule from
// the subnet that it lets in.
func (o Others) networkHeirs(ctx context.Context, rules []Rule, heirs Heirs) error {
	if len(rules) == 0 {
		return nil
	}
	candidates, err := o.probing(ctx, rules)
	if err != nil || len(candidates) == 0 {
		return err
	}
	if err := o.place(ctx, candidates); err != nil {
		return err
	}
	candidates = slices.DeleteFunc(candidates, func(p *probing) bool { return !slices.ContainsFunc(rules, p.needs) })
	members, err := o.networkMembers(ctx, candidates)
	if err != nil {
		return err
	}
	for _, rule := range rules {
		if i := slices.IndexFunc(members, func(p *probing) bool { return p.needs(rule) }); i >= 0 {
			heirs[rule] = members[i].name
		}
	}
	return nil
}

// probing are the other load balancers with a target group that is probed on the
// port of a rule, by name.
func (o Others) probing(ctx context.Context, rules []Rule) ([]*probing, error) {
	byARN := map[string]*probing{}
	pages := elbv2.NewDescribeTargetGroupsPaginator(o.Network, &elbv2.DescribeTargetGroupsInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("describe the target groups that share a health check port: %w", err)
		}
		for i := range page.TargetGroups {
			group := &page.TargetGroups[i]
			port := probedPort(group)
			if aws.ToString(group.VpcId) != o.VPC || !slices.ContainsFunc(rules, func(r Rule) bool { return r.From == port }) {
				continue
			}
			for _, arn := range group.LoadBalancerArns {
				name := nameInARN(arn)
				if !o.other(name) {
					continue
				}
				if byARN[arn] == nil {
					byARN[arn] = &probing{name: name, arn: arn, ports: sets.New[int32]()}
				}
				byARN[arn].ports.Insert(port)
			}
		}
	}
	list := make([]*probing, 0, len(byARN))
	for _, p := range byARN {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *probing) int { return cmp.Compare(a.name, b.name) })
	return list, nil
}

// probedPort is the port that targets are probed on.
func probedPort(group *elbv2types.TargetGroup) int32 {
	if port, err := strconv.ParseInt(aws.ToString(group.HealthCheckPort), 10, 32); err == nil {
		return int32(port)
	}
	return aws.ToInt32(group.Port)
}

// nameInARN is the name in the ARN of a network load balancer, such as
// arn:aws:elasticloadbalancing:eu-west-1:111122223333:loadbalancer/net/a1/50dc.
func nameInARN(arn string) string {
	_, rest, _ := strings.Cut(arn, ":loadbalancer/net/")
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// place finds out where the load balancers are.
func (o Others) place(ctx context.Context, candidates []*probing) error {
	subnets := map[string][]string{} // by ARN
	pages := elbv2.NewDescribeLoadBalancersPaginator(o.Network, &elbv2.DescribeLoadBalancersInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("describe the network load balancers that share a health check port: %w", err)
		}
		for i := range page.LoadBalancers {
			for _, zone := range page.LoadBalancers[i].AvailabilityZones {
				arn := aws.ToString(page.LoadBalancers[i].LoadBalancerArn)
				subnets[arn] = append(subnets[arn], aws.ToString(zone.SubnetId))
			}
		}
	}
	all := sets.New[string]()
	for _, p := range candidates {
		all.Insert(subnets[p.arn]...)
	}
	if all.Len() == 0 {
		return nil // they have gone meanwhile
	}
	cidrs, err := o.CIDRs(ctx, sets.List(all))
	if err != nil {
		return err
	}
	for _, p := range candidates {
		for _, subnet := range subnets[p.arn] {
			if cidr, ok := cidrs[subnet]; ok {
				p.cidrs = append(p.cidrs, cidr)
			}
		}
	}
	return nil
}

// networkMembers are those of the load balancers that are there for the cluster,
// all of them if tags may not be read.
func (o Others) networkMembers(ctx context.Context, candidates []*probing) ([]*probing, error) {
	members := sets.New[string]()
	err := halve(candidates, func(some []*probing) error {
		var arns []string
		for _, p := range some {
			arns = append(arns, p.arn)
		}
		answer, err := o.Network.DescribeTags(ctx, &elbv2.DescribeTagsInput{ResourceArns: arns})
		if err != nil {
			return err
		}
		for i := range answer.TagDescriptions {
			seen := &answer.TagDescriptions[i]
			if o.Cluster.Member(awstype.FromELBV2Tags(seen.Tags)) {
				members.Insert(aws.ToString(seen.ResourceArn))
			}
		}
		return nil
	})
	if errors.Is(err, apierr.ErrDenied) {
		return candidates, nil
	}
	if err != nil {
		return nil, fmt.Errorf("describe the tags of network load balancers that share a health check port: %w", err)
	}
	return slices.DeleteFunc(candidates, func(p *probing) bool { return !members.Has(p.arn) }), nil
}
