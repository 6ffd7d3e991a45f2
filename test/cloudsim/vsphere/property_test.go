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
