package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
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

	return strings.Join(lists.Map(items, func(item T) string { return fmt.Sprint(item) }), separator)
}

// Pairs lists keys with their values in a line, in the order of the keys. An
// empty map is an empty text.
func Pairs(values map[string]string) string {
	pair := func(key string) string { return key + "=" + values[key] }

	return strings.Join(lists.Map(slices.Sorted(maps.Keys(values)), pair), " ")
}

// Sorted returns a copy of a list in order and without repetition, nil for an
// empty one.
func Sorted[T cmp.Ordered](items []T) []T {
	return slices.Compact(slices.Sorted(slices.Values(items)))
}
