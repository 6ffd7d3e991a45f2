package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// none stands for an empty list.
const none = "none"

// Words lists items in a line, separated by blanks. An empty list is "none".
func Words[T any](items []T) string { return join(items, " ") }

// Commas lists items that contain blanks. An empty list is "none".
func Commas[T any](items []T) string { return join(items, ", ") }

// most is how many items a short list names.
const most = 5

// FewWords lists at most five items in a line, separated by blanks, and the number
// of the others. An empty list is "none".
func FewWords[T any](items []T) string { return few(items, Words) }

// FewCommas is FewWords with commas.
func FewCommas[T any](items []T) string { return few(items, Commas) }

func few[T any](items []T, list func([]T) string) string {
	if len(items) <= most {
		return list(items)
	}

	return fmt.Sprintf("%s and %d more", list(items[:most]), len(items)-most)
}

func join[T any](items []T, separator string) string {
	if len(items) == 0 {
		return none
	}
	texts := make([]string, 0, len(items))
	for _, item := range items {
		texts = append(texts, fmt.Sprint(item))
	}

	return strings.Join(texts, separator)
}

// Pairs lists keys with their values in a line, in the order of the keys. An
// empty map is an empty text.
func Pairs(values map[string]string) string {
	pairs := make([]string, 0, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		pairs = append(pairs, key+"="+values[key])
	}

	return strings.Join(pairs, " ")
}

// Sorted returns a copy of a list in order and without repetition, nil for an
// empty one.
func Sorted[T cmp.Ordered](items []T) []T {
	return slices.Compact(slices.Sorted(slices.Values(items)))
}
