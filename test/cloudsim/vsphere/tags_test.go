package vsphere

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"
)

func TestTags(t *testing.T) {
	t.Parallel()
	v := start(t, large()).VCenter("vc")
	c := login(t, v)
	manager := tags.NewManager(loginREST(t, v, c))
	nameOf := func(id string) string {
		tag, err := manager.GetTag(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		category, err := manager.GetCategory(t.Context(), tag.CategoryID)
		if err != nil {
			t.Fatal(err)
		}

		return category.Name + "/" + tag.Name
	}
	d := v.dcs[0]
	objects := map[string]mo.Reference{
		"datacenter": d.dc.Self, "cluster": *d.hosts[0].Parent, "host": d.hosts[0].Self,
		"pool": d.pools["cluster/pool"].entity.Entity().Self, "vapp": d.pools["cluster/vapp"].entity.Entity().Self,
		"vm": v.VM("node").Reference(), "folder": *d.vms()["node"].folder.Parent, "untagged": d.hosts[1].Self,
	}
	var refs []mo.Reference
	for _, ref := range objects {
		refs = append(refs, ref)
	}
	attached, err := manager.ListAttachedTagsOnObjects(t.Context(), refs)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string][]string)
	for _, a := range attached {
		for name, ref := range objects {
			if ref.Reference() != a.ObjectID.Reference() {
				continue
			}
			for _, id := range a.TagIDs {
				got[name] = append(got[name], nameOf(id))
			}
			slices.Sort(got[name])
		}
	}
	want := map[string][]string{
		"datacenter": {"region/eu"}, "cluster": {"zone/eu-1"}, "host": {"rack/r1"}, "pool": {"zone/pool"},
		"vapp": {"zone/vapp"}, "vm": {"zone/one", "zone/two"}, "folder": {"zone/folder"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attached tags (-want +got):\n%s", diff)
	}
	if _, err := manager.GetTagForCategory(t.Context(), "tag", "unused"); err != nil {
		t.Errorf("a tag attached to nothing: %v", err)
	}
}

// vms returns the machines of a datacenter by name.
func (d *datacenter) vms() map[string]*machine {
	byName := make(map[string]*machine)
	for _, m := range d.v.vms {
		if m.dc == d {
			byName[m.Name] = m
		}
	}

	return byName
}

func TestTagChanges(t *testing.T) {
	t.Parallel()
	v := start(t, small()).VCenter("vc")
	manager := tags.NewManager(loginREST(t, v, login(t, v)))
	vm := v.VM("one")
	names := func(ref mo.Reference) []string {
		attached, err := manager.GetAttachedTags(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, tag := range attached {
			out = append(out, tag.Name)
		}

		return out
	}
	steps := []struct {
		name   string
		change func() error
		want   []string
	}{
		{"attach", func() error { return vm.AttachTag("zone", "a") }, []string{"a"}},
		{"rename", func() error { return v.RenameTag("zone", "a", "b") }, []string{"b"}},
		{"detach", func() error { return vm.DetachTag("zone", "b") }, nil},
		{"attach by path", func() error { return v.AttachTag("/dc/vm/one", "zone", "c") }, []string{"c"}},
		{"detach by path", func() error { return v.DetachTag("/dc/vm/one", "zone", "c") }, nil},
		{"attach again", func() error { return vm.AttachTag("zone", "c") }, []string{"c"}},
		{"destroy", vm.Destroy, nil},
	}
	for _, step := range steps {
		if err := step.change(); err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
		if diff := cmp.Diff(step.want, names(vm.Reference())); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", step.name, diff)
		}
	}
}
