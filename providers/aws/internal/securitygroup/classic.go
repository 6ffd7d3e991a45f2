package securitygroup

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/cache"
)

// Classic is a client for classic load balancers. It shares a list of their
// security groups, which takes writes through this client into account. It is
// safe for concurrent use.
type Classic struct {
	client.ELB
	list *cache.Value[classicList]

	mu sync.Mutex
	// writes are the last writes by the names of load balancers.
	writes map[string]classicWrite
}

// classicList contains the IDs of the security groups of load balancers by
// their names, as read from start on. It is not changed.
type classicList struct {
	groups map[string][]string
	start  time.Time
}

// classicWrite is a write of the groups of a load balancer, or its deletion.
type classicWrite struct {
	groups  []string
	deleted bool
	at      time.Time
}

// NewClassic returns a Classic that has not read anything yet.
func NewClassic(api client.ELB) *Classic {
	c := &Classic{ELB: api, writes: map[string]classicWrite{}}
	c.list = cache.NewValue(c.read, cache.Options{TTL: maxAge, Timeout: client.ListTimeout})

	return c
}

// classicPage is the size of a page, which also contains all instances of each
// load balancer.
const classicPage = 50

func (c *Classic) read(ctx context.Context) (classicList, error) {
	list := classicList{groups: map[string][]string{}, start: time.Now()}
	pages := elb.NewDescribeLoadBalancersPaginator(c.ELB, &elb.DescribeLoadBalancersInput{PageSize: aws.Int32(classicPage)})
	all, err := client.All(ctx, pages, func(page *elb.DescribeLoadBalancersOutput) []types.LoadBalancerDescription {
		return page.LoadBalancerDescriptions
	})
	if err != nil {
		return classicList{}, fmt.Errorf("list classic load balancers: %w", err)
	}
	for i := range all {
		list.groups[aws.ToString(all[i].LoadBalancerName)] = all[i].SecurityGroups
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.writes, func(_ string, write classicWrite) bool { return list.start.Sub(write.at) >= propagation })

	return list, nil
}

// Groups returns the IDs of the security groups of all classic load balancers of the
// account, by name.
func (c *Classic) Groups(ctx context.Context) (map[string][]string, error) {
	list, err := c.list.Get(ctx)
	if err != nil {
		return nil, err
	}
	groups := maps.Clone(list.groups)
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, write := range c.writes {
		switch {
		case list.start.Sub(write.at) >= propagation:
		case write.deleted:
			delete(groups, name)
		default:
			groups[name] = write.groups
		}
	}

	return groups, nil
}

// note stores the effect of a call. If it is unknown whether the call has
// written anything, the list is read again.
func (c *Classic) note(name string, write classicWrite, err error) {
	if apierr.IsRefusal(err) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		delete(c.writes, name)
		c.list.Forget()

		return
	}
	write.groups, write.at = slices.Clone(write.groups), time.Now()
	c.writes[name] = write
}

// CreateLoadBalancer implements client.ClassicWrites.
func (c *Classic) CreateLoadBalancer(
	ctx context.Context, in *elb.CreateLoadBalancerInput, options ...func(*elb.Options),
) (*elb.CreateLoadBalancerOutput, error) {
	out, err := c.ELB.CreateLoadBalancer(ctx, in, options...)
	c.note(aws.ToString(in.LoadBalancerName), classicWrite{groups: in.SecurityGroups}, err)

	return out, err
}

// ApplySecurityGroupsToLoadBalancer implements client.ClassicWrites.
func (c *Classic) ApplySecurityGroupsToLoadBalancer(
	ctx context.Context, in *elb.ApplySecurityGroupsToLoadBalancerInput, options ...func(*elb.Options),
) (*elb.ApplySecurityGroupsToLoadBalancerOutput, error) {
	out, err := c.ELB.ApplySecurityGroupsToLoadBalancer(ctx, in, options...)
	c.note(aws.ToString(in.LoadBalancerName), classicWrite{groups: in.SecurityGroups}, err)

	return out, err
}

// DeleteLoadBalancer implements client.ClassicWrites.
func (c *Classic) DeleteLoadBalancer(
	ctx context.Context, in *elb.DeleteLoadBalancerInput, options ...func(*elb.Options),
) (*elb.DeleteLoadBalancerOutput, error) {
	out, err := c.ELB.DeleteLoadBalancer(ctx, in, options...)
	c.note(aws.ToString(in.LoadBalancerName), classicWrite{deleted: true}, err)

	return out, err
}
