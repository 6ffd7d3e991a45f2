// Package lists has the operations on lists that package slices lacks.
//
// What it promises: the order of the items is kept, and the list that is passed in
// is not changed.
package lists

import "slices"

// Map returns what of returns for each item. The result is never nil.
func Map[T, R any](items []T, of func(T) R) []R {
	results := make([]R, 0, len(items))
	for _, item := range items {
		results = append(results, of(item))
	}

	return results
}

// Filter returns the items that are wanted, nil for none.
func Filter[T any](items []T, wanted func(T) bool) []T {
	var kept []T
	for _, item := range items {
		if wanted(item) {
			kept = append(kept, item)
		}
	}

	return kept
}

// Split returns the items for which is reports true, and the others. Either is nil
// for none.
func Split[T any](items []T, is func(T) bool) (yes, no []T) {
	for _, item := range items {
		if is(item) {
			yes = append(yes, item)
		} else {
			no = append(no, item)
		}
	}

	return yes, no
}

// Without returns the items that are not among others, nil for none.
func Without[T comparable](items, others []T) []T {
	known := make(map[T]bool, len(others))
	for _, other := range others {
		known[other] = true
	}

	return Filter(items, func(item T) bool { return !known[item] })
}

// Distinct returns the different items, each where it comes first, nil for none.
func Distinct[T comparable](items []T) []T {
	return DistinctBy(items, func(item T) T { return item })
}

// DistinctBy returns the items with different keys, each the first one with its key,
// nil for none.
func DistinctBy[T any, K comparable](items []T, key func(T) K) []T {
	seen := make(map[K]bool, len(items))

	return Filter(items, func(item T) bool {
		k := key(item)
		first := !seen[k]
		seen[k] = true

		return first
	})
}

// Shared returns the other list if both are equal and not empty, so that many lists that are
// stored are in memory once.
func Shared[T comparable](items, other []T) []T {
	if len(items) > 0 && slices.Equal(items, other) {
		return other
	}

	return items
}

// TrueFirst compares two values for a sort in which true comes first.
func TrueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}
