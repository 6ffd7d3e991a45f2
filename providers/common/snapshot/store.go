package snapshot

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

const (
	// maxEntries bounds the results that are kept one by one. Objects that are
	// listed do not count.
	maxEntries = 1 << 14
	// interest is how long after its last query an object counts as one that will
	// be needed again.
	interest = 10 * time.Minute
	// muchUsed is how many results a list provides while a pass over objects goes
	// on.
	muchUsed = 50
)

// entry is the result of reading one key, nil for no object, or one alias.
type entry[T any] struct {
	found T
	// at is when it was read, used is when it was last queried.
	at, used time.Time
}

// list is the result of listing all objects, or the part of it that came before the
// list failed. Such a part has no aliases, as another object with the same alias may
// be missing in it.
type list[V any] struct {
	byKey   map[string]*V
	byAlias map[string][]*V
	// complete is false if a part is missing.
	complete bool
	// begun is how old its objects may be, ended is when the last page came.
	begun, ended time.Time
	// hits is how many results it has provided.
	hits int
}

// store keeps results. It is safe for concurrent use.
type store[V any] struct {
	key, alias func(*V) string
	// maxAge and missingAge are the ages at which an object, and that it is
	// missing, are no longer known.
	maxAge, missingAge time.Duration

	mu      sync.Mutex
	list    list[V]
	keys    map[string]entry[*V]
	aliases map[string]entry[[]*V]
}

func newStore[V any](key, alias func(*V) string, maxAge, missingAge time.Duration) *store[V] {
	return &store[V]{
		key: key, alias: alias,
		maxAge: maxAge, missingAge: missingAge,
		keys: map[string]entry[*V]{}, aliases: map[string]entry[[]*V]{},
	}
}

// fresh reports whether what was read at a moment is young enough at another one.
func fresh(at, now time.Time, age time.Duration) bool { return !at.IsZero() && now.Sub(at) < age }

// listed reports whether the list is fresh, also if a part of it is missing.
func (s *store[V]) listed(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	return fresh(s.list.ended, now, s.maxAge)
}

// busy reports whether the list has just gone out of date and was much used: it
// will be again.
func (s *store[V]) busy(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.list.hits > muchUsed && fresh(s.list.ended, now, 2*s.maxAge)
}

// find returns an object, nil if it is missing, and whether that is known.
func (s *store[V]) find(key string, now time.Time) (found *V, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	single, read := s.keys[key]
	if read {
		single.used = now
		s.keys[key] = single
	}
	listed := s.list.byKey[key]
	if listed != nil && fresh(s.list.ended, now, s.maxAge) && !single.at.After(s.list.begun) {
		s.list.hits++

		return listed, true
	}

	return single.found, read && fresh(single.at, now, s.ageOf(single.found != nil))
}

// findByAlias returns the objects with an alias, and whether they are known.
func (s *store[V]) findByAlias(alias string, now time.Time) (found []*V, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	single, read := s.aliases[alias]
	listed := s.list.byAlias[alias]
	if len(listed) > 0 && fresh(s.list.ended, now, s.maxAge) && !single.at.After(s.list.begun) {
		s.list.hits++

		return listed, true
	}

	return single.found, read && fresh(single.at, now, s.ageOf(len(single.found) > 0))
}

func (s *store[V]) ageOf(found bool) time.Duration {
	if found {
		return s.maxAge
	}

	return s.missingAge
}

// putList replaces the list, which is complete or failed.
func (s *store[V]) putList(all []*V, complete bool, begun, ended time.Time) {
	l := list[V]{byKey: make(map[string]*V, len(all)), byAlias: make(map[string][]*V, len(all)), complete: complete, begun: begun, ended: ended}
	for _, one := range all {
		key, alias := s.key(one), s.alias(one)
		if _, twice := l.byKey[key]; twice {
			continue // it moved from one page to the next meanwhile
		}
		l.byKey[key] = one
		if complete && alias != "" {
			l.byAlias[alias] = append(l.byAlias[alias], one)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = l
}

// put keeps the result of reading keys: objects that were not found are missing.
// More may have been found than these keys.
func (s *store[V]) put(keys []string, found []*V, at, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	prune(s.keys, now)
	for _, key := range keys {
		s.keep(key, entry[*V]{at: at, used: now})
	}
	for _, one := range found {
		s.keep(s.key(one), entry[*V]{found: one, at: at, used: now})
	}
}

// keep stores the entry of a key, and when that was really queried: an object that
// is only read along with others is dropped in time. Callers hold the lock.
func (s *store[V]) keep(key string, e entry[*V]) {
	if before, ok := s.keys[key]; ok {
		e.used = before.used
	}
	s.keys[key] = e
}

// putAlias keeps the result of reading an alias.
func (s *store[V]) putAlias(alias string, found []*V, at, now time.Time) {
	s.put(nil, found, at, now)
	s.mu.Lock()
	defer s.mu.Unlock()
	prune(s.aliases, now)
	s.aliases[alias] = entry[[]*V]{found: found, at: at, used: now}
}

// prune evicts entries: first what has not been queried for long, then anything.
// All of it can be read again. Callers hold the lock of the store.
func prune[T any](entries map[string]entry[T], now time.Time) {
	if len(entries) < maxEntries {
		return
	}
	maps.DeleteFunc(entries, func(_ string, e entry[T]) bool { return !fresh(e.used, now, interest) })
	for key := range entries {
		if len(entries) < maxEntries*3/4 {
			return
		}
		delete(entries, key)
	}
}

// due returns up to n keys, without some, of objects that will be needed soon:
// they were before, the list does not have them, and what is known is out of date.
func (s *store[V]) due(n int, without sets.Set[string], now time.Time) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for key, e := range s.keys {
		if len(keys) >= n {
			break
		}
		if e.found != nil && !without.Has(key) && s.list.byKey[key] == nil && fresh(e.used, now, interest) && !fresh(e.at, now, s.maxAge) {
			keys = append(keys, key)
		}
	}

	return keys
}

// peek returns the list, if it is complete and younger than age.
func (s *store[V]) peek(now time.Time, age time.Duration) []*V {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.list.complete || !fresh(s.list.ended, now, age) {
		return nil
	}

	return slices.Collect(maps.Values(s.list.byKey))
}
