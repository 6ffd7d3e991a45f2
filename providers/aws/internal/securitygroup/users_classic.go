package securitygroup

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstype"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// tagPage is the maximum number of load balancers in one call for tags:
// https://docs.aws.amazon.com/elasticloadbalancing/2012-06-01/APIReference/API_DescribeTags.html
const tagPage = 20

// findClassic finds classic load balancers that have the group which a rule
// refers to.
func (u Users) findClassic(ctx context.Context, rules []Rule, found map[Rule][]string) error {
	if len(rules) == 0 {
		return nil
	}
	all, err := u.Classic.Groups(ctx)
	if err != nil {
		return fmt.Errorf("find the classic load balancers that share a security group: %w", err)
	}
	groups := map[string][]string{} // by load balancer
	for name, have := range all {
		uses := slices.ContainsFunc(rules, func(r Rule) bool { return slices.Contains(have, r.Source.Value) })
		if uses && u.other(name) {
			groups[name] = have
		}
	}
	members, err := u.classicMembers(ctx, sets.List(sets.KeySet(groups)))
	if err != nil {
		return err
	}
	for _, rule := range rules {
		for _, name := range members {
			if slices.Contains(groups[name], rule.Source.Value) {
				found[rule] = append(found[rule], name)
			}
		}
	}

	return nil
}

// classicMembers returns the load balancers of the cluster, or all of them if
// there is no permission to read tags. It is an error if AWS does not find the
// tags of an existing one, unless its needs are stored.
func (u Users) classicMembers(ctx context.Context, names []string) ([]string, error) {
	var members []string
	found := sets.New[string]()
	err := inHalves(names, func(some []string) error {
		out, err := u.Classic.DescribeTags(ctx, &elb.DescribeTagsInput{LoadBalancerNames: some})
		if err != nil {
			return err
		}
		for i := range out.TagDescriptions {
			seen := &out.TagDescriptions[i]
			found.Insert(aws.ToString(seen.LoadBalancerName))
			if u.Cluster.Member(awstype.FromELBTags(seen.Tags)) {
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
	for _, name := range names {
		switch {
		case found.Has(name):
		case u.Known.has(name):
			members = append(members, name)
		default:
			if err := u.deletedClassic(ctx, name); err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(members)

	return members, nil
}

// deletedClassic returns an error unless a load balancer no longer exists.
func (u Users) deletedClassic(ctx context.Context, name string) error {
	_, err := u.Classic.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{LoadBalancerNames: []string{name}})
	switch {
	case errors.Is(err, apierr.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("describe classic load balancer %s: %w", name, err)
	default:
		return &changingError{name}
	}
}

// inHalves calls query with a page of names at a time, and with half of them if
// one is not found: it may have been deleted in the meantime.
func inHalves(things []string, query func([]string) error) error {
	for page := range slices.Chunk(things, tagPage) {
		err := query(page)
		if !errors.Is(err, apierr.ErrNotFound) {
			if err != nil {
				return err
			}

			continue
		}
		half := len(page) / 2
		if half == 0 {
			continue
		}
		if err := errors.Join(inHalves(page[:half], query), inHalves(page[half:], query)); err != nil {
			return err
		}
	}

	return nil
}
