package inventory

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/batch"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/cache"
)

// few is how many instances can be asked for in several calls before the whole
// cluster is listed instead.
const few = 5

// crowd counts questions, so that a pass over many nodes is noticed.
type crowd struct {
	span  time.Duration
	calls []call
}

type call struct {
	at   time.Time
	size int
}

// tooMany reports whether one more call about so many instances is not to be made,
// because the list of all is cheaper: it comes after others, as those of a loop
// with a few workers do, or it would be several calls.
func (c *crowd) tooMany(size int, now time.Time) bool {
	c.calls = slices.DeleteFunc(c.calls, func(before call) bool { return !fresh(before.at, now, c.span) })
	sum := size
	for _, before := range c.calls {
		sum += before.size
	}
	if size > maxIDs || len(c.calls) > 0 && sum > few {
		c.calls = nil
		return true
	}
	c.calls = append(c.calls, call{now, size})
	return false
}

// batchIDs answers the single questions that came at about the same time.
func (i *Inventory) batchIDs(ctx context.Context, ids []string) (map[string]batch.Result[*Instance], error) {
	answers, err := i.learn(ctx, ids)
	return results(answers), err
}

func (i *Inventory) batchNames(ctx context.Context, names []string) (map[string]batch.Result[[]*Instance], error) {
	answers, err := i.learnNames(ctx, names)
	return results(answers), err
}

func results[T any](answers map[string]T) map[string]batch.Result[T] {
	given := make(map[string]batch.Result[T], len(answers))
	for key, value := range answers {
		given[key] = batch.Result[T]{Value: value}
	}
	return given
}

// learn gives an answer for each ID, nil for one that does not exist.
func (i *Inventory) learn(ctx context.Context, ids []string) (map[string]*Instance, error) {
	start := i.now()
	answers := make(map[string]*Instance, len(ids))
	unknown := collect(answers, ids, start, i.memory.lookUp)
	if len(unknown) == 0 {
		i.count(cache.Hit, len(ids))
		return answers, nil
	}
	err := i.turn.do(ctx, func(ctx context.Context) error {
		if err := i.listIfCrowded(ctx, func() int {
			unknown = collect(answers, unknown, start, i.memory.lookUp)
			return len(unknown)
		}); err != nil {
			return err
		}
		return i.fetchAll(ctx, unknown, answers)
	})
	if err != nil {
		return nil, err
	}
	i.countAsked(len(ids), len(unknown))
	return answers, nil
}

// fetchAll asks EC2 for instances by ID, in as many calls as it takes.
func (i *Inventory) fetchAll(ctx context.Context, ids []string, answers map[string]*Instance) error {
	for chunk := range slices.Chunk(ids, maxIDs) {
		if err := i.fetch(ctx, chunk, answers); err != nil {
			return err
		}
	}
	return nil
}

// ask gives an answer of EC2's own for each ID, nil for one that does not exist.
func (i *Inventory) ask(ctx context.Context, ids []string) (map[string]*Instance, error) {
	answers := make(map[string]*Instance, len(ids))
	if len(ids) == 0 {
		return answers, nil
	}
	if err := i.turn.do(ctx, func(ctx context.Context) error { return i.fetchAll(ctx, ids, answers) }); err != nil {
		return nil, err
	}
	i.countAsked(len(ids), len(ids))
	return answers, nil
}

// learnNames gives the instances with each name.
func (i *Inventory) learnNames(ctx context.Context, names []string) (map[string][]*Instance, error) {
	start := i.now()
	answers := make(map[string][]*Instance, len(names))
	unknown := names
	err := i.turn.do(ctx, func(ctx context.Context) error {
		if err := i.listIfCrowded(ctx, func() int {
			unknown = collect(answers, unknown, start, i.memory.lookUpName)
			return len(unknown)
		}); err != nil {
			return err
		}
		for chunk := range slices.Chunk(unknown, maxNames) {
			if err := i.fetchNames(ctx, chunk, answers); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	i.countAsked(len(names), len(unknown))
	return answers, nil
}

// collect takes the answers out of memory, and gives the keys without one, each
// once and in order.
func collect[T any](answers map[string]T, keys []string, now time.Time, lookUp func(string, time.Time) (T, bool)) []string {
	var unknown []string
	seen := sets.Set[string]{}
	for _, key := range keys {
		if value, known := lookUp(key, now); known {
			answers[key] = value
		} else if !seen.Has(key) {
			seen.Insert(key)
			unknown = append(unknown, key)
		}
	}
	return unknown
}

// listIfCrowded lists the whole cluster if many instances are asked for and the
// list is out of date. It leaves the keys that are still unknown with collect. A
// list that fails because EC2 does not respond is no error: EC2 may describe single
// instances sooner than it finds those with a tag.
func (i *Inventory) listIfCrowded(ctx context.Context, collect func() int) error {
	unknown := collect()
	now := i.now()
	if unknown == 0 || i.memory.listed(now) || !i.memory.busy(now) && !i.crowd.tooMany(unknown, now) {
		return nil
	}
	all, err := i.describeCluster(ctx)
	noResponse := ctx.Err() == nil && (apierr.Code(err) == apierr.CodeTimeout || apierr.Code(err) == apierr.CodeUnavailable)
	if err == nil || noResponse || len(all) > 0 {
		i.memory.storeList(all, err == nil, now, i.now())
	}
	if err != nil && !noResponse {
		return err
	}
	left := collect()
	if err != nil {
		klog.FromContext(ctx).Info("The cluster could not be listed, describing single instances",
			"listed", len(all), "left", left, "err", err)
	} else if i.config.Metrics != nil {
		i.config.Metrics.Refreshed(now)
	}
	return nil
}

// fetch asks EC2 for instances by ID, along with those that will be asked for
// next because no list has them.
func (i *Inventory) fetch(ctx context.Context, ids []string, answers map[string]*Instance) error {
	now := i.now()
	asked := ids
	if i.memory.listed(now) {
		asked = slices.Concat(ids, i.memory.wanted(maxIDs-len(ids), sets.New(ids...), now))
	}
	found, err := i.describeIDs(ctx, asked)
	if err != nil {
		return err
	}
	i.memory.store(asked, found, now, i.now())
	for _, id := range ids {
		answers[id] = nil
	}
	for _, one := range found {
		if _, wanted := answers[one.ID]; wanted {
			answers[one.ID] = one
		}
	}
	return nil
}

// fetchNames asks EC2 for instances by name.
func (i *Inventory) fetchNames(ctx context.Context, names []string, answers map[string][]*Instance) error {
	now := i.now()
	all, err := i.describeNames(ctx, names)
	if err != nil {
		return err
	}
	all = i.members(all)
	for _, name := range names {
		answers[name] = named(all, name)
		i.memory.storeName(name, answers[name], now, i.now())
	}
	return nil
}

// countAsked counts questions that EC2 was asked about: the first of them made
// the call, the others shared it.
func (i *Inventory) countAsked(all, unknown int) {
	own := min(unknown, 1)
	i.count(cache.Miss, own)
	i.count(cache.Shared, all-own)
}

func (i *Inventory) count(outcome cache.Outcome, n int) {
	for range n {
		i.observe(outcome)
	}
}
