package snapshot

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/cache"
)

// Defaults of [Options].
const (
	defaultMaxAge      = 15 * time.Second
	defaultKnownAge    = 10 * time.Minute
	defaultLeftoverAge = 24 * time.Hour
	defaultTimeout     = client.ListTimeout
)

// pageSize is the maximum size of a page of a list:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_DescribeTargetGroups.html
const pageSize = 400

// Options bounds the age of results. Zero values select the defaults.
type Options struct {
	// MaxAge is the maximum age of load balancers and target groups.
	MaxAge time.Duration
	// KnownAge is the maximum age of attributes and tags.
	KnownAge time.Duration
	// LeftoverAge is the maximum age of the list of target groups for a search
	// for leftover ones. Target groups of this process are known without a
	// list, and no other process creates any while this one runs.
	LeftoverAge time.Duration
	// Timeout bounds a list with all its pages.
	Timeout time.Duration
}

func (o Options) withDefaults() Options {
	return Options{
		MaxAge:      cmp.Or(o.MaxAge, defaultMaxAge),
		KnownAge:    cmp.Or(o.KnownAge, defaultKnownAge),
		LeftoverAge: cmp.Or(o.LeftoverAge, defaultLeftoverAge),
		Timeout:     cmp.Or(o.Timeout, defaultTimeout),
	}
}

// Snapshot is a client for network load balancers with shared reads. Reads take
// the writes through it into account. It is safe for concurrent use; results
// are shared and must not be changed.
type Snapshot struct {
	// ELBV2 is for the calls that are not shared.
	client.ELBV2
	options   Options
	balancers *cache.Value[balancerList]
	groups    *cache.Value[groupList]
	// tagLock is held while tags are read from AWS, so that one call reads the
	// tags for several callers.
	tagLock chan struct{}

	mu sync.Mutex
	// written has the time of the last write by name or ARN.
	written map[string]time.Time
	// created and deleted are the target groups that were created or modified,
	// and deleted, since the last list, or so shortly before it that it may not
	// show that, by ARN.
	created map[string]types.TargetGroup
	deleted map[string]bool
	// grown is the time of the last write that adds to a list or changes it.
	// Unclear is the time of the last creation of a target group whose outcome
	// is not known, or which is not in the last list.
	grown, unclear time.Time

	balancerReads, groupReads reads
	attributes, tags          *known
	attachments               attachments
	// alone are load balancers that were read by name, aloneGroups the target
	// groups of a load balancer that were read by its ARN.
	alone       map[string]alone[*types.LoadBalancer]
	aloneGroups map[string]alone[[]types.TargetGroup]
}

// New returns a Snapshot that has not read anything yet.
func New(api client.ELBV2, options Options) *Snapshot {
	s := &Snapshot{
		ELBV2:   api,
		options: options.withDefaults(),
		tagLock: make(chan struct{}, 1),
		written: map[string]time.Time{},
		created: map[string]types.TargetGroup{},
		deleted: map[string]bool{},
		alone:   map[string]alone[*types.LoadBalancer]{},

		aloneGroups: map[string]alone[[]types.TargetGroup]{},
		attachments: attachments{made: map[attachment]time.Time{}, ended: map[string]time.Time{}, users: map[string]string{}},
	}
	s.attributes, s.tags = newKnown(s.options.KnownAge), newKnown(s.options.KnownAge)
	s.balancers = cache.NewValue(s.listBalancers, cache.Options{TTL: s.options.KnownAge, Timeout: s.options.Timeout})
	s.groups = cache.NewValue(s.listGroups, cache.Options{TTL: s.options.LeftoverAge, Timeout: s.options.Timeout})

	return s
}

// balancerList holds load balancers by name.
type balancerList map[string]*types.LoadBalancer

// groupList holds target groups by ARN.
type groupList map[string]types.TargetGroup

func (s *Snapshot) listBalancers(ctx context.Context) (balancerList, error) {
	list := balancerList{}
	pages := elbv2.NewDescribeLoadBalancersPaginator(s.ELBV2, &elbv2.DescribeLoadBalancersInput{PageSize: aws.Int32(pageSize)})
	balancers, err := client.All(ctx, pages, func(page *elbv2.DescribeLoadBalancersOutput) []types.LoadBalancer { return page.LoadBalancers })
	if err != nil {
		return nil, fmt.Errorf("list load balancers: %w", err)
	}
	for i := range balancers {
		list[aws.ToString(balancers[i].LoadBalancerName)] = &balancers[i]
	}

	return list, nil
}

func (s *Snapshot) listGroups(ctx context.Context) (groupList, error) {
	start := time.Now()
	list := groupList{}
	pages := elbv2.NewDescribeTargetGroupsPaginator(s.ELBV2, &elbv2.DescribeTargetGroupsInput{PageSize: aws.Int32(pageSize)})
	groups, err := client.All(ctx, pages, targetGroups)
	if err != nil {
		return nil, fmt.Errorf("list target groups: %w", err)
	}
	for i := range groups {
		list[aws.ToString(groups[i].TargetGroupArn)] = groups[i]
	}
	s.expire(start, list)
	s.attachments.expire(start, list)

	return list, nil
}

func targetGroups(page *elbv2.DescribeTargetGroupsOutput) []types.TargetGroup {
	return page.TargetGroups
}

// expire drops the writes that a list from start on includes. A list that began
// shortly after a write may not show it.
func (s *Snapshot) expire(start time.Time, list groupList) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.created, func(arn string, _ types.TargetGroup) bool { return list.supersedes(arn, s.written[arn], start) })
	maps.DeleteFunc(s.deleted, func(arn string, _ bool) bool { return start.Sub(s.written[arn]) >= propagation })
	maps.DeleteFunc(s.written, func(_ string, at time.Time) bool { return start.Sub(at) > s.options.KnownAge })
}

// supersedes reports whether a list from start on is newer than a write of a
// target group: it contains the group, or enough time has passed.
func (l groupList) supersedes(arn string, written, start time.Time) bool {
	_, listed := l[arn]

	return listed && written.Before(start) || start.Sub(written) >= propagation
}

// pages returns how many calls a list takes.
func pages(items int) int { return max(1, (items+pageSize-1)/pageSize) }

// LoadBalancer returns the load balancer of a name, nil if there is none.
func (s *Snapshot) LoadBalancer(ctx context.Context, name string) (*types.LoadBalancer, error) {
	if recent := s.recent(name, time.Now()); recent != nil {
		return recent, nil
	}
	known, listed, _ := s.balancers.Peek()
	if age, ok := s.listAge(&s.balancerReads, name, listed, pages(len(known))); ok {
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

// LoadBalancers returns all load balancers of the account, by name. Those that
// were created through this Snapshot are among them.
func (s *Snapshot) LoadBalancers(ctx context.Context) (map[string]*types.LoadBalancer, error) {
	return s.balancers.GetWithin(ctx, s.grownAge())
}

// TargetGroupsOf returns the target groups that a load balancer forwards to.
func (s *Snapshot) TargetGroupsOf(ctx context.Context, balancer string) ([]types.TargetGroup, error) {
	groups, err := s.groupsOf(ctx, balancer)
	s.attachments.seen(balancer, groups)

	return groups, err
}

func (s *Snapshot) groupsOf(ctx context.Context, balancer string) ([]types.TargetGroup, error) {
	if recent, ok := s.recentGroups(balancer, time.Now()); ok {
		return recent, nil
	}
	known, listed, _ := s.groups.Peek()
	if age, ok := s.listAge(&s.groupReads, balancer, listed, pages(len(known))); ok {
		list, err := s.groups.GetWithin(ctx, age)
		if err != nil {
			return nil, err
		}

		return list.usedBy(balancer), nil
	}

	return s.readGroupsAlone(ctx, balancer)
}

// TargetGroups returns all target groups of the account, with the creations and
// changes through this Snapshot.
func (s *Snapshot) TargetGroups(ctx context.Context) ([]types.TargetGroup, error) {
	list, err := s.groups.GetWithin(ctx, s.grownAge())
	if err != nil {
		return nil, err
	}

	return s.sinceThen(list, func(types.TargetGroup) bool { return true }), nil
}

// TargetGroupsNamed returns the target groups whose names begin with a prefix,
// from a list that is at most LeftoverAge old. Later writes through this
// Snapshot are taken into account, also in the load balancers that use the
// groups. If now is set, they are listed for this very call.
func (s *Snapshot) TargetGroupsNamed(ctx context.Context, prefix string, now bool) ([]types.TargetGroup, error) {
	age := s.leftoverAge()
	if now {
		age = 0
	}
	list, err := s.groups.GetWithin(ctx, age)
	if err != nil {
		return nil, err
	}

	return s.sinceThen(list, hasPrefix(prefix)), nil
}
