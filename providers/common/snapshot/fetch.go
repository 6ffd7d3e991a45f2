package snapshot

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/cache"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// query requests several keys, or several aliases.
type query[T any] struct {
	// at is when the query was made, from where ages count.
	at      time.Time
	find    func(key string, now time.Time) (found T, known bool)
	results map[string]T
	unknown []string
}

func newQuery[T any](keys []string, at time.Time, find func(string, time.Time) (T, bool)) *query[T] {
	return &query[T]{at: at, find: find, results: make(map[string]T, len(keys)), unknown: keys}
}

// take moves to the results what is known, and returns how many keys are left:
// those without a result, each once and in order.
func (q *query[T]) take() int {
	var unknown []string
	seen := sets.Set[string]{}
	for _, key := range q.unknown {
		if found, known := q.find(key, q.at); known {
			q.results[key] = found
		} else if !seen.Has(key) {
			seen.Insert(key)
			unknown = append(unknown, key)
		}
	}
	q.unknown = unknown

	return len(unknown)
}

// get returns a result for each key, nil for an object that is missing.
func (s *Snapshot[V]) get(ctx context.Context, keys []string) (map[string]*V, error) {
	q := newQuery(keys, s.now(), s.store.find)
	if unknown := q.take(); unknown > 0 && s.awaitList(ctx, unknown) {
		q.take()
	}
	if err := s.fetch(ctx, q.unknown, q.results); err != nil {
		return nil, err
	}
	s.countFetched(len(keys), len(q.unknown))

	return q.results, nil
}

// getByAlias returns the objects with each alias.
func (s *Snapshot[V]) getByAlias(ctx context.Context, aliases []string) (map[string][]*V, error) {
	q := newQuery(aliases, s.now(), s.store.findByAlias)
	if unknown := q.take(); unknown > 0 && s.awaitList(ctx, unknown) {
		q.take()
	}
	if err := s.fetchByAlias(ctx, q.unknown, q.results); err != nil {
		return nil, err
	}
	s.countFetched(len(aliases), len(q.unknown))

	return q.results, nil
}

// refresh returns a result for each key that is read now, nil for an object that is
// missing.
func (s *Snapshot[V]) refresh(ctx context.Context, keys []string) (map[string]*V, error) {
	results := make(map[string]*V, len(keys))
	if err := s.fetch(ctx, keys, results); err != nil {
		return nil, err
	}
	s.countFetched(len(keys), len(keys))

	return results, nil
}

// fetch reads objects by key, in as many calls as it takes.
func (s *Snapshot[V]) fetch(ctx context.Context, keys []string, results map[string]*V) error {
	for chunk := range slices.Chunk(keys, s.options.MaxKeys) {
		if err := s.fetchChunk(ctx, chunk, results); err != nil {
			return err
		}
	}

	return nil
}

// fetchChunk reads objects by key in one call, along with those that will be needed
// next because no list has them.
func (s *Snapshot[V]) fetchChunk(ctx context.Context, keys []string, results map[string]*V) error {
	now := s.now()
	all := keys
	if s.store.listed(now) {
		all = slices.Concat(keys, s.store.due(s.options.MaxKeys-len(keys), sets.New(keys...), now))
	}
	found, err := s.api.Get(ctx, all)
	if err != nil {
		return err
	}
	s.store.put(all, found, now, s.now())
	for _, key := range keys {
		results[key] = nil
	}
	for _, one := range found {
		if _, wanted := results[s.api.Key(one)]; wanted {
			results[s.api.Key(one)] = one
		}
	}

	return nil
}

// fetchByAlias reads objects by alias, in as many calls as it takes.
func (s *Snapshot[V]) fetchByAlias(ctx context.Context, aliases []string, results map[string][]*V) error {
	for chunk := range slices.Chunk(aliases, s.options.MaxAliases) {
		now := s.now()
		found, err := s.api.GetByAlias(ctx, chunk)
		if err != nil {
			return err
		}
		for _, alias := range chunk {
			results[alias] = lists.Filter(found, func(one *V) bool { return s.api.Alias(one) == alias })
			s.store.putAlias(alias, results[alias], now, s.now())
		}
	}

	return nil
}

// countFetched counts queries of which some were read from the cloud: the first of
// them made the call, the others shared it.
func (s *Snapshot[V]) countFetched(all, unknown int) {
	own := min(unknown, 1)
	s.count(cache.Miss, own)
	s.count(cache.Shared, all-own)
}
