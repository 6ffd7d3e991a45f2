package openstack

import (
	"maps"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simstate"
)

// table holds the objects of one sort by ID, in the order of their creation. The
// zero value is empty.
type table[T any] struct {
	rows    map[string]*T
	order   []string            // may name rows that are gone
	removed map[string]struct{} // the ones that order names
}

// get returns the object with an ID, nil when there is none.
func (t *table[T]) get(id string) *T { return t.rows[id] }

// put adds an object, or replaces the one with the same ID.
func (t *table[T]) put(id string, row *T) {
	if t.rows == nil {
		t.rows = make(map[string]*T)
	}
	if _, again := t.removed[id]; again {
		t.compact()
	}
	if t.rows[id] == nil {
		t.order = append(t.order, id)
	}
	t.rows[id] = row
}

// remove removes the object with an ID, if there is one.
func (t *table[T]) remove(id string) {
	if t.rows[id] == nil {
		return
	}
	delete(t.rows, id)
	if t.removed == nil {
		t.removed = make(map[string]struct{})
	}
	t.removed[id] = struct{}{}
	if len(t.removed) > len(t.rows) { // so that each removal costs little
		t.compact()
	}
}

func (t *table[T]) compact() {
	t.order = slices.DeleteFunc(t.order, func(id string) bool { return t.rows[id] == nil })
	clear(t.removed)
}

// len returns the number of objects.
func (t *table[T]) len() int { return len(t.rows) }

// all returns the objects, oldest first.
func (t *table[T]) all() []*T {
	return t.where(func(*T) bool { return true })
}

// where returns the objects that match, oldest first.
func (t *table[T]) where(match func(*T) bool) []*T {
	var rows []*T
	for _, id := range t.order {
		if row := t.rows[id]; row != nil && match(row) {
			rows = append(rows, row)
		}
	}

	return rows
}

// clone returns a copy. Own makes the copy of an object independent of the
// original, such as by copying its slices and maps.
func (t *table[T]) clone(own func(*T)) table[T] {
	return table[T]{rows: simstate.CloneMap(t.rows, own), order: slices.Clone(t.order), removed: maps.Clone(t.removed)}
}
