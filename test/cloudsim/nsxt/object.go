package nsxt

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simstate"
)

// Object is the JSON of an object. Numbers are a [json.Number] in what the manager returns.
type Object map[string]any

// text returns a field that is a string, or "".
func (o Object) text(key string) string {
	s, _ := o[key].(string)

	return s
}

// texts returns a field that is a list of strings.
func (o Object) texts(key string) []string {
	list, _ := o[key].([]any)
	var all []string
	for _, one := range list {
		if s, ok := one.(string); ok {
			all = append(all, s)
		}
	}

	return all
}

// number returns a field that is a whole number, and whether it is one.
func (o Object) number(key string) (int, bool) {
	n, ok := o[key].(json.Number)
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(n.String())

	return i, err == nil
}

// object returns a field that is an object, or nil.
func (o Object) object(key string) Object {
	m, _ := o[key].(map[string]any)

	return m
}

// objects returns a field that is a list of objects.
func (o Object) objects(key string) []Object {
	list, _ := o[key].([]any)
	var all []Object
	for _, one := range list {
		if m, ok := one.(map[string]any); ok {
			all = append(all, m)
		}
	}

	return all
}

// decode reads an object from JSON.
func decode(data []byte) (Object, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var o Object
	err := decoder.Decode(&o)

	return o, err
}

// clone returns an independent copy, as it would be after a request.
func (o Object) clone() (Object, error) {
	data, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}

	return decode(data)
}

// object is an intent, as clients write it, with what the manager knows about it.
type object struct {
	kind   *kind
	path   string
	fields Object // never changed in place, and without the fields of the manager
	uid    string

	revision          int
	creator, modifier string
	created, modified time.Time
	principal         string // the identity that protects it, if any
	marked            bool   // deleted, with a realization that is not gone
	began             time.Time
	updated           bool // changed since it was created
	seed              Object
	address           netip.Addr // of an allocation, once realized
	failure           *Alarm     // of an allocation
	shape             StaleShape
}

// serverFields are those that the manager sets, whatever a client sends ([SDK]).
var serverFields = []string{
	"_revision", "_create_time", "_create_user", "_last_modified_time", "_last_modified_user", "_protection", "_system_owned",
	"_links", "_schema", "_self", "id", "path", "relative_path", "parent_path", "unique_id", "realization_id", "owner_id", "origin_site_id",
	"marked_for_delete", "overridden",
}

// parentOf returns the path that a collection or object belongs to.
func parentOf(objectPath string) string { return path.Dir(path.Dir(objectPath)) }

// document returns the object as a caller sees it.
func (o *object) document(who caller) Object {
	d := maps.Clone(o.fields)
	id := path.Base(o.path)
	if d.text("display_name") == "" {
		d["display_name"] = id // [SDK]
	}
	maps.Copy(d, Object{
		"id": id, "path": o.path, "relative_path": id, "parent_path": parentOf(o.path),
		"unique_id": o.uid, "realization_id": o.uid, "marked_for_delete": o.marked, "overridden": false,
		"_revision": o.revision, "_protection": o.protection(who), "_system_owned": false,
		"_create_user": o.creator, "_create_time": o.created.UnixMilli(),
		"_last_modified_user": o.modifier, "_last_modified_time": o.modified.UnixMilli(),
	})

	return d
}

// state is everything that exists.
type state struct {
	ids      simstate.IDs
	schedule simstate.Schedule[*Cloud]
	objects  map[string]*object // by path
	index    map[string]Object  // documents by path, as the search API sees them
	pools    map[string]*addresses
	alarms   []failure
	lost     map[string]bool // paths of seeded objects that clients deleted
}

func newState() *state {
	return &state{objects: map[string]*object{}, index: map[string]Object{}, pools: map[string]*addresses{}, lost: map[string]bool{}}
}

func (s *state) clone() *state {
	return &state{
		ids: s.ids.Clone(), schedule: s.schedule.Clone(),
		objects: simstate.CloneMap(s.objects, func(*object) {}), index: maps.Clone(s.index),
		pools: simstate.CloneMap(s.pools, (*addresses).own), alarms: slices.Clone(s.alarms), lost: maps.Clone(s.lost),
	}
}

// Snapshot is a state of the manager, with everything that exists in it and what is about
// to happen. It stays as it is, and can be restored any number of times.
type Snapshot struct{ state *state }

// Snapshot copies the present state. Accounts, sessions, tokens, limits, and the interceptor
// with its rules and its log are not part of it.
func (c *Cloud) Snapshot() *Snapshot {
	var s *Snapshot
	c.inspect(func() { s = &Snapshot{c.state.clone()} })

	return s
}

// Restore restores a state of this manager.
func (c *Cloud) Restore(s *Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state = s.state.clone()
}

// text returns the fields of an object that clients write as JSON, in order.
func (o *object) text() string { return textOf(o.fields) }

func textOf(fields Object) string {
	data, err := json.Marshal(fields)
	if err != nil {
		return err.Error() // it came from JSON
	}

	return string(data)
}
