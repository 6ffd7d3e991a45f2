package vsphere

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

func TestRetrieveProperties(t *testing.T) {
	t.Parallel()
	v := start(t, large()).VCenter("vc")
	c := login(t, v)
	collector := property.DefaultCollector(c.Client)
	ref := v.VM("node").Reference()
	get := func(paths ...string) ([]types.DynamicProperty, error) {
		var content []types.ObjectContent
		if err := collector.Retrieve(t.Context(), []types.ManagedObjectReference{ref}, paths, &content); err != nil {
			return nil, err
		}
		if len(content) != 1 || len(content[0].MissingSet) != 0 {
			t.Errorf("%v: %+v", paths, content)
		}

		return content[0].PropSet, nil
	}
	for _, bad := range []string{"nothing", "guest.nothing", "Name", `name["x"]`, "config.hardware.nothing", `guest.net["x"].nothing`} {
		if _, err := get("name", bad); !isFault(err, &types.InvalidProperty{}) {
			t.Errorf("property %q: %v, want InvalidProperty", bad, err)
		}
	}
	got, err := get(`config.extraConfig["guestinfo.metadata"]`, `config.extraConfig["none"]`, `config.extraConfig["guestinfo.metadata"].value`)
	want := []types.DynamicProperty{
		{Name: `config.extraConfig["guestinfo.metadata"]`, Val: types.OptionValue{Key: "guestinfo.metadata", Value: "e30="}},
		{Name: `config.extraConfig["guestinfo.metadata"].value`, Val: "e30="},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("keys of an array, %v (-want +got):\n%s", err, diff)
	}
	if err := v.VM("node").HideConfig(true); err != nil {
		t.Fatal(err)
	}
	if got, err := get("config", "config.uuid", "summary.config.uuid", "config.extraConfig"); err != nil || len(got) != 0 {
		t.Errorf("a hidden configuration: %v, %v", got, err)
	}
	_, err = object.NewVirtualMachine(c.Client, ref).PowerOff(t.Context())
	if !isFault(err, &types.InvalidState{}) {
		t.Errorf("work on a VM without a configuration: %v", err)
	}
	if err := v.VM("node").HideConfig(false); err != nil {
		t.Fatal(err)
	}
	if got, err := get("summary.config.uuid"); err != nil || len(got) != 1 {
		t.Errorf("a configuration that is back: %v, %v", got, err)
	}
	if err := v.VM("node").Destroy(); err != nil {
		t.Fatal(err)
	}
	if _, err := get("name"); !isFault(err, &types.ManagedObjectNotFound{}) {
		t.Errorf("a VM that is gone: %v", err)
	}
}

func TestContainerViews(t *testing.T) {
	t.Parallel()
	v := start(t, large()).VCenter("vc")
	c := login(t, v)
	manager := view.NewManager(c.Client)
	dc, cluster := v.dcs[0].dc.Self, *v.dcs[0].hosts[0].Parent
	cases := map[string]struct {
		root      types.ManagedObjectReference
		kinds     []string
		recursive bool
		want      int
	}{
		"AllVMs":          {c.ServiceContent.RootFolder, []string{"VirtualMachine"}, true, 4},
		"VMsOfCluster":    {cluster, []string{"VirtualMachine"}, true, 3},
		"PoolsAreVApps":   {cluster, []string{"ResourcePool"}, true, 4},
		"VAppsAlone":      {cluster, []string{"VirtualApp"}, true, 1},
		"ClustersAreBoth": {dc, []string{"ComputeResource"}, true, 2},
		"Direct":          {dc, nil, false, 4},
		"Everything":      {dc, []string{"ManagedEntity"}, true, 23},
	}
	for name, tc := range cases {
		made, err := manager.CreateContainerView(t.Context(), tc.root, tc.kinds, tc.recursive)
		if err != nil {
			t.Errorf("%s: %v", name, err)

			continue
		}
		var content mo.ContainerView
		if err := property.DefaultCollector(c.Client).RetrieveOne(t.Context(), made.Reference(), []string{"view"}, &content); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(content.View) != tc.want {
			t.Errorf("%s: %d objects, want %d: %v", name, len(content.View), tc.want, content.View)
		}
		if err := made.Destroy(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := manager.CreateContainerView(t.Context(), dc, []string{"Nothing"}, true); !isFault(err, &types.InvalidArgument{}) {
		t.Errorf("unknown type: %v", err)
	}
	if _, err := manager.CreateContainerView(t.Context(), v.VM("node").Reference(), nil, true); !isFault(err, &types.InvalidArgument{}) {
		t.Errorf("a VM is no container: %v", err)
	}
	gone := types.ManagedObjectReference{Type: "Folder", Value: "group-gone"}
	if _, err := manager.CreateContainerView(t.Context(), gone, nil, true); !isFault(err, &types.ManagedObjectNotFound{}) {
		t.Errorf("unknown container: %v", err)
	}
	if n := v.Sessions()[0].Views; n != 0 {
		t.Errorf("%d views left", n)
	}
}

func TestFilterOverOneObject(t *testing.T) {
	t.Parallel()
	v := start(t, small()).VCenter("vc")
	c := login(t, v)
	collector := property.DefaultCollector(c.Client)
	spec := types.CreateFilter{Spec: types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{Obj: v.VM("one").Reference()}},
		PropSet:   []types.PropertySpec{{Type: "VirtualMachine", All: new(true)}},
	}}
	filter, err := collector.CreateFilter(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	w := &watch{client: c, collector: collector, filter: filter}
	all := w.pageIn(t)
	if len(all) != 1 {
		t.Fatalf("objects: %v", all)
	}
	var vm mo.VirtualMachine
	if err := collector.RetrieveOne(t.Context(), v.VM("one").Reference(), nil, &vm); err != nil {
		t.Fatal(err)
	}
	values := make(map[string]types.AnyType)
	for _, change := range all[0].ChangeSet {
		values[change.Name] = change.Val
	}
	want := map[string]types.AnyType{"guest": *vm.Guest, "name": "one", "network": types.ArrayOfManagedObjectReference{ManagedObjectReference: vm.Network}}
	for name, value := range want {
		if diff := cmp.Diff(value, values[name]); diff != "" {
			t.Errorf("%s as read by itself and in the feed (-want +got):\n%s", name, diff)
		}
	}
	if err := v.VM("two").PowerOff(); err != nil { // not watched
		t.Fatal(err)
	}
	set, err := w.poll(t.Context(), 0)
	if set != nil || err != nil {
		t.Errorf("another VM changed: %v, %v", set, err)
	}
	spec.Spec.PropSet[0] = types.PropertySpec{Type: "VirtualMachine", PathSet: []string{"nothing"}}
	if _, err := collector.CreateFilter(t.Context(), spec); !isFault(err, &types.InvalidProperty{}) {
		t.Errorf("an unknown property: %v", err)
	}
}

func TestListView(t *testing.T) {
	t.Parallel()
	v := start(t, small()).VCenter("vc")
	c := login(t, v)
	one, two := v.VM("one").Reference(), v.VM("two").Reference()
	list, err := view.NewManager(c.Client).CreateListView(t.Context(), []types.ManagedObjectReference{one})
	if err != nil {
		t.Fatal(err)
	}
	filter := viewFilter(list.Reference(), types.PropertySpec{Type: "VirtualMachine", PathSet: []string{"name"}})
	filter.Spec.ObjectSet[0].SelectSet = []types.BaseSelectionSpec{&types.TraversalSpec{Type: "ListView", Path: "view"}}
	collector := property.DefaultCollector(c.Client)
	if _, err := collector.CreateFilter(t.Context(), filter); err != nil {
		t.Fatal(err)
	}
	w := &watch{client: c, collector: collector}
	if all := w.pageIn(t); len(all) != 1 || all[0].Obj != one {
		t.Fatalf("at first: %v", all)
	}
	if _, err := list.Add(t.Context(), []types.ManagedObjectReference{two}); err != nil {
		t.Fatal(err)
	}
	if updates, _, err := w.next(t.Context()); err != nil || len(updates) != 1 || updates[0].Obj != two {
		t.Errorf("after adding: %v, %v", updates, err)
	}
	if _, err := list.Remove(t.Context(), []types.ManagedObjectReference{one}); err != nil {
		t.Fatal(err)
	}
	if updates, _, err := w.next(t.Context()); err != nil || len(updates) != 1 || updates[0].Kind != types.ObjectUpdateKindLeave {
		t.Errorf("after removing: %v, %v", updates, err)
	}
	if n := v.Sessions()[0].Views; n != 1 {
		t.Errorf("%d views, want 1", n)
	}
}

// TestTraversal proves that filters and reads may walk the inventory by
// themselves, here from the root folder down to the VMs.
func TestTraversal(t *testing.T) {
	t.Parallel()
	v := start(t, large()).VCenter("vc")
	c := login(t, v)
	down := []types.BaseSelectionSpec{
		&types.TraversalSpec{
			SelectionSpec: types.SelectionSpec{Name: "folder"}, Type: "Folder", Path: "childEntity",
			SelectSet: []types.BaseSelectionSpec{&types.SelectionSpec{Name: "folder"}, &types.SelectionSpec{Name: "datacenter"}},
		},
		&types.TraversalSpec{
			SelectionSpec: types.SelectionSpec{Name: "datacenter"}, Type: "Datacenter", Path: "vmFolder",
			SelectSet: []types.BaseSelectionSpec{&types.SelectionSpec{Name: "folder"}},
		},
	}
	filter := types.CreateFilter{Spec: types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{Obj: c.ServiceContent.RootFolder, SelectSet: down}},
		PropSet:   []types.PropertySpec{{Type: "VirtualMachine", PathSet: []string{"name"}}},
	}}
	collector := property.DefaultCollector(c.Client)
	if _, err := collector.CreateFilter(t.Context(), filter); err != nil {
		t.Fatal(err)
	}
	w := &watch{client: c, collector: collector}
	if all := w.pageIn(t); len(all) != 3 { // the fourth is in a vApp, not in a folder
		t.Errorf("in the feed: %v", all)
	}
	var vms []mo.VirtualMachine
	req := types.RetrieveProperties{SpecSet: []types.PropertyFilterSpec{filter.Spec}}
	if err := mo.RetrievePropertiesForRequest(t.Context(), c, withThis(req, collector), &vms); err != nil || len(vms) != 3 {
		t.Errorf("in a read: %v, %v", vms, err)
	}
}

func withThis(req types.RetrieveProperties, c *property.Collector) types.RetrieveProperties {
	req.This = c.Reference()

	return req
}
