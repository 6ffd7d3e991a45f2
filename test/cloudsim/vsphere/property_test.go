package vsphere

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/types"
)

func TestRetrieveProperties(t *testing.T) {
	t.Parallel()
	v := start(t, small()).VCenter("vc")
	c, vm := login(t, v), v.VM("one")
	if err := vm.SetExtraConfig(map[string]string{"guestinfo.metadata": "e30=", "guestinfo.metadata.encoding": "base64"}); err != nil {
		t.Fatal(err)
	}
	collector := property.DefaultCollector(c.Client)
	ref := vm.Reference()
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
	if err := vm.HideConfig(true); err != nil {
		t.Fatal(err)
	}
	if got, err := get("config", "config.uuid", "summary.config.uuid", "config.extraConfig"); err != nil || len(got) != 0 {
		t.Errorf("a hidden configuration: %v, %v", got, err)
	}
	_, err = object.NewVirtualMachine(c.Client, ref).PowerOff(t.Context())
	if !isFault(err, &types.InvalidState{}) {
		t.Errorf("work on a VM without a configuration: %v", err)
	}
	if err := vm.HideConfig(false); err != nil {
		t.Fatal(err)
	}
	if got, err := get("summary.config.uuid"); err != nil || len(got) != 1 {
		t.Errorf("a configuration that is back: %v, %v", got, err)
	}
	if err := vm.Destroy(); err != nil {
		t.Fatal(err)
	}
	if _, err := get("name"); !isFault(err, &types.ManagedObjectNotFound{}) {
		t.Errorf("a VM that is gone: %v", err)
	}
}
