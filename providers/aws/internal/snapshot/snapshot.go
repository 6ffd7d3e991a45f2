package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/cache"
)

// Defaults of [Options].
const (
	DefaultMaxAge   = 15 * time.Second
	DefaultKnownAge = 10 * time.Minute
	DefaultDirect   = 3
	DefaultTimeout  = 30 * time.Second
)

// pageSize is the most that one page of a list holds:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_DescribeTargetGroups.html
const pageSize = 400

// Options bounds the age of results. What is zero is as by default.
type Options struct {
	// MaxAge is the age at which load balancers and target groups are read
	// again.
	MaxAge time.Duration
	// KnownAge is the age at which attributes and tags are read again, and the
	// list in which leftover target groups are looked for.
	KnownAge time.Duration
	// Direct is how many single reads there may be within MaxAge before all are
	// listed instead.
	Direct int
	// Timeout bounds a list with all its pages.
	Timeout time.Duration
}

func (o Options) withDefaults() Options {
	return Options{
		MaxAge:   cmp.Or(o.MaxAge, DefaultMaxAge),
		KnownAge: cmp.Or(o.KnownAge, DefaultKnownAge),
		Direct:   cmp.Or(o.Direct, DefaultDirect),
		Timeout:  cmp.Or(o.Timeout, DefaultTimeout),
	}
}

// Snapshot is a client for network load balancers with shared reads. Writes
// through it are taken into account. It is safe for concurrent use; what it
// returns is shared and must not be changed.
type Snapshot struct {
	// ELBV2 is for the calls that are not shared.
	client.ELBV2
	options   Options
	balancers *cache.Value[balancerList]
	groups    *cache.Value[groupList]
	// tagTurn is held while tags are read.
	tagTurn chan struct{}

	mu sync.Mutex
	// written has the time of the last write by name or ARN.
	written map[string]time.Time
	// created and deleted are the target groups of writes since the last list,
	// by ARN.
	created map[string]types.TargetGroup
	deleted map[string]bool
	// grown is the time of the last write after which a list has more in it, or
	// something else; unclear that of the last creation of a target group whose
	// outcome is not known.
	grown, unclear time.Time

	balancerReads, groupReads reads
	attributes, tags          known
	// alone are load balancers that were read by name.
	alone map[string]aloneBalancer
}

// New returns a Snapshot that has not read anything yet.
func New(api client.ELBV2, options Options) *Snapshot {
	s := &Snapshot{
		ELBV2:   api,
		options: options.withDefaults(),
		tagTurn: make(chan struct{}, 1),
		written: map[string]time.Time{},
		created: map[string]types.TargetGroup{},
		deleted: map[string]bool{},
		alone:   map[string]aloneBalancer{},
	}
	s.balancers = cache.NewValue(s.listBalancers, cache.Options[balancerList]{TTL: s.options.KnownAge, Timeout: s.options.Timeout})
	s.groups = cache.NewValue(s.listGroups, cache.Options[groupList]{TTL: s.options.KnownAge, Timeout: s.options.Timeout})
	return s
}

// balancerList holds load balancers by name.
type balancerList map[string]*types.LoadBalancer

// groupList holds target groups by ARN.
type groupList map[string]types.TargetGroup

func (s *Snapshot) listBalancers(ctx context.Context) (balancerList, error) {
	list := balancerList{}
	pages := elbv2.NewDescribeLoadBalancersPaginator(s.ELBV2, &elbv2.DescribeLoadBalancersInput{PageSize: aws.Int32(pageSize)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("list load balancers: %w", err)
		}
		for i := range page.LoadBalancers {
			list[aws.ToString(page.LoadBalancers[i].LoadBalancerName)] = &page.LoadBalancers[i]
		}
	}
	return list, nil
}

func (s *Snapshot) listGroups(ctx context.Context) (groupList, error) {
	start := time.Now()
	list := groupList{}
	pages := elbv2.NewDescribeTargetGroupsPaginator(s.ELBV2, &elbv2.DescribeTargetGroupsInput{PageSize: aws.Int32(pageSize)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("list target groups: %w", err)
		}
		for i := range page.TargetGroups {
			list[aws.ToString(page.TargetGroups[i].TargetGroupArn)] = page.TargetGroups[i]
		}
	}
	s.settle(start)
	return list, nil
}

// settle forgets the writes that a list from start on has seen.
func (s *Snapshot) settle(start time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.created, func(arn string, _ types.TargetGroup) bool { return s.written[arn].Before(start) })
	maps.DeleteFunc(s.deleted, func(arn string, _ bool) bool { return s.written[arn].Before(start) })
	maps.DeleteFunc(s.written, func(_ string, at time.Time) bool { return start.Sub(at) > s.options.KnownAge })
}

// LoadBalancer returns the load balancer of a name, nil if there is none.
func (s *Snapshot) LoadBalancer(ctx context.Context, name string) (*types.LoadBalancer, error) {
	_, listed, _ := s.balancers.Peek()
	if age, ok := s.listAge(&s.balancerReads, name, listed); ok {
		list, err := s.balancers.GetWithin(ctx, age)
		if err != nil {
			return nil, err
		}
		if found := list[name]; found != nil {
			return found, nil
		}
	}
	return s.readAlone(ctx, name)
}

// aloneBalancer is a load balancer that was read by name.
type aloneBalancer struct {
	found *types.LoadBalancer
	at    time.Time
}

// readAlone reads a load balancer by name, unless that was done a short time ago
// and it exists.
func (s *Snapshot) readAlone(ctx context.Context, name string) (*types.LoadBalancer, error) {
	start := time.Now()
	if known := s.recent(name, start); known != nil {
		return known, nil
	}
	found, err := s.describeOne(ctx, name)
	if err == nil && found != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		maps.DeleteFunc(s.alone, func(_ string, one aloneBalancer) bool { return start.Sub(one.at) >= s.options.MaxAge })
		s.alone[name] = aloneBalancer{found: found, at: start}
	}
	return found, err
}

// recent returns a load balancer that was read alone within MaxAge, and was not
// written since.
func (s *Snapshot) recent(name string, now time.Time) *types.LoadBalancer {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.alone[name]
	if !ok || now.Sub(one.at) >= s.options.MaxAge || !s.written[name].Before(one.at) {
		return nil
	}
	return one.found
}

// describeOne reads a load balancer by name, nil if there is none.
func (s *Snapshot) describeOne(ctx context.Context, name string) (*types.LoadBalancer, error) {
	out, err := s.DescribeLoadBalancers(ctx, &elbv2.DescribeLoadBalancersInput{Names: []string{name}})
	if errors.Is(err, apierr.ErrNotFound) {
		return nil, nil //nolint:nilnil // absence is a result
	}
	if err != nil {
		return nil, fmt.Errorf("describe load balancer %s: %w", name, err)
	}
	for i := range out.LoadBalancers {
		if aws.ToString(out.LoadBalancers[i].LoadBalancerName) == name {
			return &out.LoadBalancers[i], nil
		}
	}
	return nil, nil //nolint:nilnil // as above
}

// LoadBalancers returns all load balancers of the account, by name. Those that
// were created through this Snapshot are among them.
func (s *Snapshot) LoadBalancers(ctx context.Context) (map[string]*types.LoadBalancer, error) {
	return s.balancers.GetWithin(ctx, s.grownAge())
}

// TargetGroupsOf returns the target groups that a load balancer forwards to.
func (s *Snapshot) TargetGroupsOf(ctx context.Context, balancer string) ([]types.TargetGroup, error) {
	_, listed, _ := s.groups.Peek()
	if age, ok := s.listAge(&s.groupReads, balancer, listed); ok {
		list, err := s.groups.GetWithin(ctx, age)
		if err != nil {
			return nil, err
		}
		return list.usedBy(balancer), nil
	}
	var groups []types.TargetGroup
	pages := elbv2.NewDescribeTargetGroupsPaginator(s.ELBV2, &elbv2.DescribeTargetGroupsInput{
		LoadBalancerArn: aws.String(balancer), PageSize: aws.Int32(pageSize),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("describe the target groups of %s: %w", balancer, err)
		}
		groups = append(groups, page.TargetGroups...)
	}
	return groups, nil
}

// TargetGroups returns all target groups of the account. Those that were created
// or changed through this Snapshot are as they are now.
func (s *Snapshot) TargetGroups(ctx context.Context) ([]types.TargetGroup, error) {
	list, err := s.groups.GetWithin(ctx, s.grownAge())
	if err != nil {
		return nil, err
	}
	return s.sinceThen(list, func(types.TargetGroup) bool { return true }), nil
}

// TargetGroupsNamed returns the target groups whose names begin with a prefix,
// as they were listed last, at most KnownAge ago. Those that were created or
// deleted through this Snapshot since then are taken into account; load
// balancers that use them may have come or gone. With now they are listed for this
// very call.
func (s *Snapshot) TargetGroupsNamed(ctx context.Context, prefix string, now bool) ([]types.TargetGroup, error) {
	age := s.knownAge()
	if now {
		age = 0
	}
	list, err := s.groups.GetWithin(ctx, age)
	if err != nil {
		return nil, err
	}
	return s.sinceThen(list, hasPrefix(prefix)), nil
}
