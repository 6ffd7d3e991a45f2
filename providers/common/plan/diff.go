package plan

import (
	"cmp"
	"maps"
	"slices"
)

// Entry is something desired or observed, under its key.
type Entry[K cmp.Ordered, T any] struct {
	Key   K
	Value T
}

// Pair is something that is both desired and observed, and not the same.
type Pair[K cmp.Ordered, D, O any] struct {
	Key      K
	Desired  D
	Observed O
}

// Set is a difference, each part in the order of the keys.
type Set[K cmp.Ordered, D, O any] struct {
	Create []Entry[K, D]
	Change []Pair[K, D, O]
	Delete []Entry[K, O]
}

// Diff compares by key:
//
//	desired  observed  equal
//	yes      no               Create
//	yes      yes       no     Change
//	yes      yes       yes    nothing
//	no       yes              Delete
func Diff[K cmp.Ordered, D, O any](desired map[K]D, observed map[K]O, equal func(D, O) bool) Set[K, D, O] {
	var set Set[K, D, O]
	for _, key := range slices.Sorted(maps.Keys(desired)) {
		seen, ok := observed[key]
		switch {
		case !ok:
			set.Create = append(set.Create, Entry[K, D]{Key: key, Value: desired[key]})
		case !equal(desired[key], seen):
			set.Change = append(set.Change, Pair[K, D, O]{Key: key, Desired: desired[key], Observed: seen})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(observed)) {
		if _, ok := desired[key]; !ok {
			set.Delete = append(set.Delete, Entry[K, O]{Key: key, Value: observed[key]})
		}
	}

	return set
}
