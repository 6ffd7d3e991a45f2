package simstate

import (
	"maps"
	"slices"
)

// CloneMap copies a map and the objects in it. Own makes the copy of an object
// independent of the original, such as by copying its maps.
func CloneMap[K comparable, T any](objects map[K]*T, own func(*T)) map[K]*T {
	out := maps.Clone(objects)
	for key, object := range out {
		out[key] = new(*object)
		own(out[key])
	}

	return out
}

// CloneSlice copies a slice and the objects in it, to which nothing else may point.
func CloneSlice[T any](objects []*T) []*T {
	out := slices.Clone(objects)
	for i, object := range out {
		out[i] = new(*object)
	}

	return out
}
