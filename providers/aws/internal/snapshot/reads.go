package snapshot

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// reads counts single reads, so that many of them are replaced by one list.
type reads struct {
	mu sync.Mutex
	at []time.Time
}

// more counts one more read, and reports whether there are more than limit
// within span.
func (r *reads) more(limit int, span time.Duration, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = slices.DeleteFunc(r.at, func(at time.Time) bool { return now.Sub(at) >= span })
	if len(r.at) >= limit {
		return true
	}
	r.at = append(r.at, now)

	return false
}

// listAge returns the maximum age of the list from which a key is read, for a
// list of that many calls. It returns false if the key is to be read by its own
// call:
//
//	no list yet                               list
//	written after the last list               alone
//	last list younger than MaxAge             list
//	fewer single reads within MaxAge than
//	the list has pages                        alone
//	more                                      list
func (s *Snapshot) listAge(r *reads, key string, listed time.Time, pages int) (time.Duration, bool) {
	now := time.Now()
	switch written, ok := s.writtenAt(key); {
	case listed.IsZero():
		return s.options.MaxAge, true
	case ok && !written.Before(listed):
		return 0, false
	case now.Sub(listed) < s.options.MaxAge:
		return s.options.MaxAge, true
	default:
		return s.options.MaxAge, r.more(pages, s.options.MaxAge, now)
	}
}

func (s *Snapshot) writtenAt(key string) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.written[key]

	return at, ok
}

// leftoverAge returns the maximum age of the list of target groups for a search
// for leftover ones: it must be newer than a creation whose outcome is not
// known.
func (s *Snapshot) leftoverAge() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unclear.IsZero() {
		return s.options.LeftoverAge
	}

	return min(s.options.LeftoverAge, time.Since(s.unclear))
}

// grownAge returns the maximum age of a list that must include everything of
// ours.
func (s *Snapshot) grownAge() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.grown.IsZero() {
		return s.options.MaxAge
	}

	return min(s.options.MaxAge, time.Since(s.grown))
}

// usedBy returns the target groups that a load balancer uses, by name.
func (l groupList) usedBy(balancer string) []types.TargetGroup {
	return sortGroups(lists.Filter(slices.Collect(maps.Values(l)), func(group types.TargetGroup) bool {
		return slices.Contains(group.LoadBalancerArns, balancer)
	}))
}

// sinceThen returns the matching target groups of a list, updated by later
// writes.
func (s *Snapshot) sinceThen(list groupList, fits func(types.TargetGroup) bool) []types.TargetGroup {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]types.TargetGroup{}
	for _, groups := range []map[string]types.TargetGroup{list, s.created} {
		for arn, group := range groups {
			if !s.deleted[arn] && fits(group) {
				all[arn] = group
			}
		}
	}

	return s.attachments.update(sortGroups(slices.Collect(maps.Values(all))))
}

func hasPrefix(prefix string) func(types.TargetGroup) bool {
	return func(group types.TargetGroup) bool {
		return strings.HasPrefix(aws.ToString(group.TargetGroupName), prefix)
	}
}

func sortGroups(groups []types.TargetGroup) []types.TargetGroup {
	slices.SortFunc(groups, func(a, b types.TargetGroup) int {
		return cmp.Compare(aws.ToString(a.TargetGroupName), aws.ToString(b.TargetGroupName))
	})

	return groups
}
