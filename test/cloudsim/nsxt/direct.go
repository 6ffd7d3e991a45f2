package nsxt

import (
	"errors"
	"maps"
	"slices"
)

// person is who changes objects directly, as people do in the user interface.
const person = "user"

// Get returns an object by its policy path, also while it is marked for deletion, and
// whether there is one.
func (c *Cloud) Get(path string) (Object, bool) {
	var found Object
	c.inspect(func() {
		if o := c.state.objects[path]; o != nil {
			found, _ = o.document(caller{}).clone() // it came from JSON
		}
	})

	return found, found != nil
}

// List returns all objects of a resource_type by their paths, without those that are marked
// for deletion. An empty type is any.
func (c *Cloud) List(resourceType string) map[string]Object {
	found := map[string]Object{}
	c.inspect(func() {
		for path, o := range c.state.objects {
			if !o.marked && (resourceType == "" || o.fields.text("resource_type") == resourceType) {
				found[path], _ = o.document(caller{}).clone() // it came from JSON
			}
		}
	})

	return found
}

// Put creates or replaces an object, as people do in the user interface: with the checks
// of the API, but for revision and protection. What it makes or changes counts as there from
// the start for [Cloud.Leaks] and [Cloud.Resources].
func (c *Cloud) Put(path string, fields Object) error {
	fields, err := fields.clone()
	if err != nil {
		return err
	}
	if fields == nil {
		fields = Object{}
	}
	c.inspect(func() {
		kind, whole := c.kindOf(path)
		if kind == nil || whole {
			err = notFound(path)

			return
		}
		o := c.state.objects[path]
		if err = o.pending(); err != nil {
			return
		}
		if o, err = c.store(kind, path, fields, caller{name: person}); err == nil {
			o.seed = o.fields
			delete(c.state.lost, path)
		}
	})

	return err
}

// Delete deletes an object, as people do in the user interface.
func (c *Cloud) Delete(path string) error {
	return c.edit(path, func(o *object) error {
		o.seed = nil

		return c.mark(o, false)
	})
}

// edit changes an object in place.
func (c *Cloud) edit(path string, f func(*object) error) (err error) {
	c.inspect(func() {
		o := c.state.objects[path]
		if o == nil || o.marked {
			err = notFound(path)

			return
		}
		err = f(o)
	})

	return err
}

// seed makes the objects of the spec, which are realized and known to the search API from
// the start.
func (c *Cloud) seed() error {
	var problems []error
	put := func(path string, fields Object) { problems = append(problems, c.Put(path, fields)) }
	for _, t := range c.spec.Tier1s {
		put("/infra/tier-1s/"+t.ID, Object{"ha_mode": "ACTIVE_STANDBY"})
	}
	problems = append(problems, c.seedBalancing())
	for path, o := range c.state.objects {
		o.began = o.began.Add(-c.realizationTime(o.kind))
		c.state.index[path] = o.document(caller{})
	}

	return errors.Join(problems...)
}

// Resources describes all that clients have made and not deleted, and what they have changed,
// in one line each and in order. Nothing in it is random, so that equal operations at two
// managers have equal lines.
func (c *Cloud) Resources() []string {
	return c.lines(func(o *object) string { return o.path + " " + o.text() })
}

// Leaks returns what clients made and did not delete, sorted, a line each, and "lost …" and
// "changed …" for what they did to other objects.
func (c *Cloud) Leaks() []string {
	lines := c.lines(func(o *object) string { return o.path })
	c.inspect(func() {
		for path := range c.state.lost {
			lines = append(lines, "lost "+path)
		}
	})
	slices.Sort(lines)

	return lines
}

func (c *Cloud) lines(describe func(*object) string) []string {
	lines := []string{}
	c.inspect(func() {
		for _, path := range slices.Sorted(maps.Keys(c.state.objects)) {
			o := c.state.objects[path]
			switch {
			case o.marked:
			case o.seed == nil:
				lines = append(lines, describe(o))
			case o.text() != textOf(o.seed):
				lines = append(lines, "changed "+describe(o))
			}
		}
	})

	return lines
}
