package snapshot

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func storeOf(maxAge, missingAge time.Duration) *store[object] {
	return newStore(keyOf, nameOf, maxAge, missingAge)
}

// TestStoreIsTrue: whatever is queried, a result is one that was read within the age
// that is allowed, and an object is never missing because it was not read.
func TestStoreIsTrue(t *testing.T) {
	t.Parallel()
	const maxAge, missingAge = 10 * time.Second, 30 * time.Second
	keys := []string{"o-1", "o-2", "o-3"}
	rapid.Check(t, func(t *rapid.T) {
		s := storeOf(maxAge, missingAge)
		now := time.Unix(1000, 0)
		exist := map[string]bool{}
		type moment struct {
			at    time.Time
			exist map[string]bool
		}
		history := []moment{{now, maps.Clone(exist)}}
		was := func(key string, there bool, since time.Time) bool {
			for i, h := range history {
				ended := now
				if i+1 < len(history) {
					ended = history[i+1].at
				}
				if h.exist[key] == there && !ended.Before(since) {
					return true
				}
			}

			return false
		}
		some := func(keys []string) (found []*object) {
			for _, key := range keys {
				if exist[key] {
					found = append(found, &object{id: key})
				}
			}

			return found
		}
		key := func() string { return rapid.SampledFrom(keys).Draw(t, "key") }
		t.Repeat(map[string]func(*rapid.T){
			"time": func(t *rapid.T) { now = now.Add(time.Duration(rapid.IntRange(1, 12).Draw(t, "seconds")) * time.Second) },
			"change": func(*rapid.T) {
				one := key()
				exist[one] = !exist[one]
				history = append(history, moment{now, maps.Clone(exist)})
			},
			"read": func(*rapid.T) { one := key(); s.put([]string{one}, some([]string{one}), now, now) },
			"list": func(*rapid.T) { s.putList(some(keys), true, now, now) },
			"find": func(t *rapid.T) {
				one := key()
				found, known := s.find(one, now)
				age := maxAge
				if found == nil {
					age = missingAge
				}
				if known && !was(one, found != nil, now.Add(-age)) {
					t.Fatalf("%s is %v, which was not so for %s", one, found, age)
				}
				if !known && found != nil && s.listed(now) && s.list.byKey[one] != nil && !s.keys[one].at.After(s.list.begun) {
					t.Fatalf("%s is listed and not known", one)
				}
			},
		})
	})
}

// TestListedTwice: an object that moves from one page to the next while they are read
// is one object.
func TestListedTwice(t *testing.T) {
	t.Parallel()
	s, now := storeOf(time.Second, time.Second), time.Unix(1000, 0)
	one := &object{id: "o-1", name: "n"}
	s.putList([]*object{one, one}, true, now, now)
	if found, known := s.findByAlias("n", now); !known || len(found) != 1 || len(s.peek(now, time.Second)) != 1 {
		t.Errorf("found %v, %t", found, known)
	}
}

// TestStoreIsBounded: what has not been queried for long goes first.
func TestStoreIsBounded(t *testing.T) {
	t.Parallel()
	s := storeOf(time.Second, time.Second)
	old, now := time.Unix(1000, 0), time.Unix(1000, 0).Add(interest)
	for i := range maxEntries {
		s.put([]string{fmt.Sprintf("o-old-%d", i)}, nil, old, old)
	}
	s.put([]string{"o-new"}, nil, now, now)
	if len(s.keys) != 1 {
		t.Errorf("want only what is of interest, got %d", len(s.keys))
	}
	for i := range 2 * maxEntries {
		s.putAlias(fmt.Sprintf("name-%d", i), []*object{{id: fmt.Sprintf("o-%d", i)}}, now, now)
	}
	if len(s.keys) > maxEntries || len(s.aliases) > maxEntries {
		t.Errorf("want at most %d, got %d and %d", maxEntries, len(s.keys), len(s.aliases))
	}
}

// TestReadAlongIsNoInterest: an object that is only read along with others stops
// being one that will be needed, some time after it was last queried.
func TestReadAlongIsNoInterest(t *testing.T) {
	t.Parallel()
	s := storeOf(time.Second, time.Second)
	one, start := []*object{{id: "o-1"}}, time.Unix(1000, 0)
	s.put([]string{"o-1"}, one, start, start)
	for at := start; at.Before(start.Add(interest)); at = at.Add(time.Minute) {
		s.put([]string{"o-1"}, one, at, at) // with others that are queried
	}
	almost, over := start.Add(interest-time.Nanosecond), start.Add(interest)
	if got := s.due(10, nil, almost); len(got) != 1 {
		t.Errorf("just before: %q", got)
	}
	if got := s.due(10, nil, over); len(got) != 0 {
		t.Errorf("%q is read along forever", got)
	}
	s.find("o-1", over)
	if got := s.due(10, nil, over.Add(time.Minute)); len(got) != 1 {
		t.Errorf("queried again: %q", got)
	}
}
