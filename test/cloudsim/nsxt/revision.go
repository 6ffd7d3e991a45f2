package nsxt

import (
	"cmp"
	"net/http"
)

// StaleShape is how a stale revision is refused: there are six shapes ([operator]
// StaleRevision).
type StaleShape int

// The shapes, by status or code.
const (
	Stale412 StaleShape = iota + 1
	Stale409
	Stale500087
	Stale500232
	Stale100148
	Stale500090
)

// StaleShapes returns all shapes.
func StaleShapes() []StaleShape {
	return []StaleShape{Stale412, Stale409, Stale500087, Stale500232, Stale100148, Stale500090}
}

// staleErrors are the status and code of each shape.
var staleErrors = map[StaleShape][2]int{
	Stale412: {412, 604}, Stale409: {409, 0}, Stale500087: {400, 500087},
	Stale500232: {400, 500232}, Stale100148: {400, 100148}, Stale500090: {404, 500090},
}

// err returns the refusal.
func (s StaleShape) err() *apiError {
	e := staleErrors[s]

	return &apiError{status: e[0], code: e[1], module: modulePolicy, message: "The revision is not the current one."}
}

// MakeStale makes the revision of an object a later one, as another write does,
// and has older ones refused in a shape. Run it by [simserver.Before] to have it between a
// read and a write of a client.
func (c *Cloud) MakeStale(path string, shape StaleShape) error {
	return c.edit(path, func(o *object) error {
		o.revision++
		o.shape = shape
		c.reindex(o)

		return nil
	})
}

// checkRevision refuses an update without the current revision ([SDK] _revision).
func (c *Cloud) checkRevision(o *object, fields Object) error {
	revision, ok := fields.number("_revision")
	switch {
	case !ok && o.kind.missing:
		return existing(o.path)
	case !ok || revision != o.revision:
		return cmp.Or(o.shape, c.spec.Stale, Stale412).err()
	}

	return nil
}

// existing returns the refusal of a creation.
func existing(path string) *apiError {
	return &apiError{status: http.StatusBadRequest, code: codeExists, module: modulePolicy, message: "The path " + path + " already exists."}
}
