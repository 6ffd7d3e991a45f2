package vsphere

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"

	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// tagStore reaches into vcsim's REST handler, whose type is not exported while
// its fields and these methods are. It is guarded by VCenter.mu.
type tagStore struct {
	categories map[string]*tags.Category // by id
	tags       map[string]*tags.Tag      // by id
	attached   reflect.Value             // tag id → set of objects
	attacher   tagAttacher
}

type tagAttacher interface {
	AttachTag(obj types.ManagedObjectReference, tagID string) types.BaseMethodFault
	DetachTag(obj types.ManagedObjectReference, tagID string) types.BaseMethodFault
	AttachedTags(obj types.ManagedObjectReference) ([]string, types.BaseMethodFault)
}

func newTagStore(handler http.Handler) *tagStore {
	fields := reflect.ValueOf(handler).Elem()

	return &tagStore{
		categories: fields.FieldByName("Category").Interface().(map[string]*tags.Category),
		tags:       fields.FieldByName("Tag").Interface().(map[string]*tags.Tag),
		attached:   fields.FieldByName("Association"),
		attacher:   handler.(tagAttacher),
	}
}

// create makes the categories and tags that are missing.
func (t *tagStore) create(wanted Tags) {
	for _, category := range slices.Sorted(maps.Keys(wanted)) {
		t.category(category)
		for _, name := range wanted[category] {
			t.tag(category, name)
		}
	}
}

// attach makes the tags that are missing and attaches all of them.
func (t *tagStore) attach(obj types.ManagedObjectReference, wanted Tags) {
	for _, category := range slices.Sorted(maps.Keys(wanted)) {
		for _, name := range wanted[category] {
			t.attacher.AttachTag(obj, t.tag(category, name)) // faults for unknown tags only
		}
	}
}

func (t *tagStore) detach(obj types.ManagedObjectReference, category, name string) error {
	tag := t.find(category, name)
	if tag == nil {
		return fmt.Errorf("no tag %q in category %q", name, category)
	}
	t.attacher.DetachTag(obj, tag.ID) // faults for unknown tags only

	return nil
}

// detachAll removes every tag from an object.
func (t *tagStore) detachAll(obj types.ManagedObjectReference) {
	ids, _ := t.attacher.AttachedTags(obj) // never faults
	for _, id := range ids {
		t.attacher.DetachTag(obj, id) // faults for unknown tags only
	}
}

// category returns the id of a category.
func (t *tagStore) category(name string) string {
	for id, category := range t.categories {
		if category.Name == name {
			return id
		}
	}
	id := tagID("Category", name)
	t.categories[id] = &tags.Category{ID: id, Name: name, Cardinality: "MULTIPLE"}

	return id
}

// find returns the tag of that name, or nil.
func (t *tagStore) find(category, name string) *tags.Tag {
	for _, tag := range t.tags {
		if tag.Name == name && t.categories[tag.CategoryID].Name == category {
			return tag
		}
	}

	return nil
}

// tag returns the id of a tag.
func (t *tagStore) tag(category, name string) string {
	if tag := t.find(category, name); tag != nil {
		return tag.ID
	}
	tag := &tags.Tag{ID: tagID("Tag", category, name), Name: name, CategoryID: t.category(category)}
	t.tags[tag.ID] = tag
	t.attached.SetMapIndex(reflect.ValueOf(tag.ID), reflect.MakeMap(t.attached.Type().Elem()))

	return tag.ID
}

func tagID(kind string, parts ...string) string {
	return fmt.Sprintf("urn:vmomi:InventoryService%s:%s:GLOBAL", kind, makeUUID(append([]string{kind}, parts...)...))
}

// AttachTag attaches a tag to the object at an inventory path such as
// /dc-a/host/cluster-1, creating tag and category if need be.
func (v *VCenter) AttachTag(path, category, tag string) error {
	return v.atPath(path, func(obj types.ManagedObjectReference) error {
		v.tags.attach(obj, Tags{category: {tag}})

		return nil
	})
}

// DetachTag removes a tag from the object at an inventory path.
func (v *VCenter) DetachTag(path, category, tag string) error {
	return v.atPath(path, func(obj types.ManagedObjectReference) error { return v.tags.detach(obj, category, tag) })
}

// RenameTag changes the name of a tag; it stays attached.
func (v *VCenter) RenameTag(category, tag, name string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	found := v.tags.find(category, tag)
	if found == nil {
		return fmt.Errorf("rename tag: no tag %q in category %q", tag, category)
	}
	found.Name = name

	return nil
}

func (v *VCenter) atPath(path string, f func(types.ManagedObjectReference) error) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	index := v.registry.SearchIndex()
	body := index.FindByInventoryPath(v.context, &types.FindByInventoryPath{This: index.Self, InventoryPath: path})
	found, ok := body.(*methods.FindByInventoryPathBody)
	if !ok || found.Res.Returnval == nil {
		return fmt.Errorf("find %q in the inventory: nothing there", path)
	}

	return f(*found.Res.Returnval)
}
