package nsxt

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// put creates or replaces an object. A replacement needs the current revision, a creation
// has none ([SDK]; [terraform] 1027).
func (c *Cloud) put(k *call) (any, error) {
	fields, old, err := c.receive(k)
	if err != nil {
		return nil, err
	}
	_, revised := fields["_revision"]
	switch {
	case old == nil && revised:
		return nil, existing(k.path)
	case old != nil && !k.kind.allocates:
		if err := c.checkRevision(old, fields); err != nil {
			return nil, err
		}
	}
	o, err := c.store(k.kind, k.path, fields, k.caller)
	if err != nil {
		return nil, err
	}

	return o.document(k.caller), nil
}

// patch creates or replaces an object, whatever the revision is: what is not sent is lost
// ([API] PatchLBPool), unless partial patch is on.
func (c *Cloud) patch(k *call) (any, error) {
	fields, old, err := c.receive(k)
	if err != nil {
		return nil, err
	}
	if old != nil && c.spec.PartialPatch {
		merged := maps.Clone(old.fields)
		maps.Copy(merged, fields)
		fields = merged
	}
	_, err = c.store(k.kind, k.path, fields, k.caller)

	return nil, err
}

// receive reads the object in a request and returns the one that exists, nil for none.
func (c *Cloud) receive(k *call) (fields Object, old *object, err error) {
	if fields, err = decode(k.body); err != nil || fields == nil {
		return nil, nil, invalid("the body is no JSON object")
	}
	old = c.state.objects[k.path]
	if old == nil {
		return fields, nil, nil
	}

	return fields, old, cmp.Or(old.pending(), k.checkProtection(old))
}

// pending refuses to write an object that is being deleted ([operator] NsxPendingDelete).
func (o *object) pending() error {
	if o == nil || !o.marked {
		return nil
	}

	return &apiError{
		status: http.StatusBadRequest, code: codePendingDelete, module: modulePolicy, message: "The object " + o.path + " is being deleted.",
	}
}

// store writes an object.
func (c *Cloud) store(k *kind, path string, fields Object, who caller) (*object, error) {
	old := c.state.objects[path]
	if old != nil && k.allocates {
		return old, nil
	}
	now := c.now()
	o := &object{kind: k, path: path, uid: c.newID(), revision: -1, creator: who.name, created: now}
	if who.principal {
		o.principal = who.name
	}
	if old != nil {
		o = new(*old)
		o.updated, o.shape = true, 0
	}
	o.fields, o.modifier, o.modified, o.began = k.complete(fields), who.name, now, now
	if err := c.check(o); err != nil {
		return nil, err
	}
	o.revision++
	c.state.objects[path] = o
	c.reindex(o)
	if k.allocates {
		c.after(c.realizationTime(k), func(c *Cloud) { c.allocate(path, o.uid) })
	}

	return o, nil
}

// complete returns the fields as the manager stores them, fields that it does not know
// included.
func (k *kind) complete(fields Object) Object {
	full := maps.Clone(fields)
	for _, field := range serverFields {
		delete(full, field)
	}
	if full.text("resource_type") == "" && len(k.types) == 1 {
		full["resource_type"] = k.types[0]
	}
	addDefaults(full, k.defaults)
	for list, defaults := range k.elements {
		var elements []any
		for _, element := range full.objects(list) {
			element = maps.Clone(element)
			addDefaults(element, defaults)
			elements = append(elements, map[string]any(element))
		}
		if elements != nil {
			full[list] = elements
		}
	}

	return full
}

func addDefaults(o, defaults Object) {
	for field, value := range defaults {
		if o[field] == nil {
			o[field] = value
		}
	}
}

// check refuses an object that is not valid.
func (c *Cloud) check(o *object) error {
	if !slices.Contains(o.kind.types, o.fields.text("resource_type")) {
		return invalid("resource_type must be one of %s", strings.Join(o.kind.types, ", "))
	}
	if err := c.checkParent(o.kind, o.path); err != nil {
		return err
	}
	if err := checkLengths(o.fields); err != nil {
		return err
	}
	for _, path := range o.references() {
		if other := c.state.objects[path]; other == nil || other.marked {
			return badPath(path)
		}
	}
	if o.kind.check == nil {
		return nil
	}

	return o.kind.check(c, o)
}

// The limits of texts ([API] types_Tag; NCP 4.1, limits of tags).
const (
	maxName        = 255
	maxDescription = 1024
	maxScope       = 128
	maxTag         = 256
	maxTags        = 30
)

// checkLengths refuses texts that are too long. A tag may lack its scope and its tag
// ([API] types_Tag; [terraform] 781).
func checkLengths(fields Object) error {
	if err := cmp.Or(fields.atMost("display_name", maxName), fields.atMost("description", maxDescription)); err != nil {
		return err
	}
	tags := fields.objects("tags")
	if len(tags) > maxTags {
		return invalid("there are more than %d tags", maxTags)
	}
	for _, tag := range tags {
		if err := cmp.Or(tag.atMost("scope", maxScope), tag.atMost("tag", maxTag)); err != nil {
			return err
		}
	}

	return nil
}

func (o Object) atMost(field string, limit int) error {
	if utf8.RuneCountInString(o.text(field)) > limit {
		return invalid("%s has more than %d characters", field, limit)
	}

	return nil
}

// newID returns a UUID that looks random and is the same in every run.
func (c *Cloud) newID() string {
	h := c.state.ids.Hex("object", 32)

	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-a" + h[17:20] + "-" + h[20:]
}
