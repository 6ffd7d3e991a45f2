package vsphere

import (
	"errors"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// large has one of everything.
func large() Spec {
	return Spec{VCenters: []VCenterSpec{{
		Name: "vc",
		Tags: Tags{"unused": {"tag"}},
		Datacenters: []DatacenterSpec{
			{
				Name: "dc-a", Folder: "emea/prod", Tags: Tags{"region": {"eu"}},
				Clusters: []ClusterSpec{{
					Name: "cluster", Tags: Tags{"zone": {"eu-1"}},
					Hosts: []HostSpec{{Name: "host-1", Tags: Tags{"rack": {"r1"}}}, {Name: "host-2"}},
					Pools: []PoolSpec{{Name: "pool", Tags: Tags{"zone": {"pool"}}, Pools: []PoolSpec{{Name: "nested"}}}},
					VApps: []PoolSpec{{Name: "vapp", Tags: Tags{"zone": {"vapp"}}}},
				}},
				Hosts:   []HostSpec{{Name: "alone"}},
				Folders: []FolderSpec{{Path: "k8s", Tags: Tags{"zone": {"folder"}}}},
				VMs: []VMSpec{
					{
						Name: "node", Hostname: "node.example", UUID: "56492E42-22AD-3911-6D72-59CC8F26BC90",
						Guest: "rhel9_64Guest", CPUs: 8, MemoryMB: 512, Host: "host-2", Pool: "cluster/pool/nested", Folder: "k8s/prod",
						NICs: []NIC{
							{Network: "internal", IPs: []string{"fd00::1", "10.0.0.1"}, MAC: "00:50:56:00:00:01"},
							{IPs: []string{"172.17.0.1"}, DeviceConfigID: new(int32(-1))},
							{},
						},
						ExtraConfig: map[string]string{"guestinfo.metadata": "e30=", "guestinfo.metadata.encoding": "base64"},
						Tags:        Tags{"zone": {"one", "two"}},
					},
					{Name: "in-vapp", Pool: "cluster/vapp", Power: Off},
					{Name: "on-alone", Host: "alone", Power: Suspended, NICs: []NIC{{IPs: []string{"10.0.0.3"}}}},
					{Name: "no-tools", Pool: "cluster", NoTools: true, NICs: []NIC{{IPs: []string{"10.0.0.4"}}}},
				},
			},
			{Name: "dc-b"},
		},
	}}}
}

func TestInventoryPaths(t *testing.T) {
	t.Parallel()
	v := start(t, large()).VCenter("vc")
	finder := find.NewFinder(login(t, v).Client)
	for _, want := range []string{
		"/emea/prod/dc-a",
		"/dc-b",
		"/emea/prod/dc-a/host/cluster",
		"/emea/prod/dc-a/host/cluster/host-1",
		"/emea/prod/dc-a/host/alone/alone",
		"/emea/prod/dc-a/host/cluster/Resources/pool/nested",
		"/emea/prod/dc-a/host/cluster/Resources/vapp",
		"/emea/prod/dc-a/vm/k8s/prod/node",
		"/emea/prod/dc-a/vm/on-alone",
		"/emea/prod/dc-a/network/internal",
		"/emea/prod/dc-a/network/VM Network",
		"/emea/prod/dc-a/datastore/datastore1",
		"/dc-b/host/dc-b-cluster/dc-b-cluster-host-1",
	} {
		elements, err := finder.ManagedObjectList(t.Context(), want)
		if err != nil || len(elements) != 1 || elements[0].Path != want {
			t.Errorf("%s: found %v, %v", want, elements, err)
		}
	}
}

func retrieve(t *testing.T, c *govmomi.Client, ref types.ManagedObjectReference, paths ...string) mo.VirtualMachine {
	t.Helper()
	var vm mo.VirtualMachine
	if err := property.DefaultCollector(c.Client).RetrieveOne(t.Context(), ref, paths, &vm); err != nil {
		t.Fatal(err)
	}

	return vm
}

func TestVMProperties(t *testing.T) {
	t.Parallel()
	v := start(t, large()).VCenter("vc")
	c := login(t, v)
	vm := retrieve(t, c, v.VM("node").Reference(), "summary", "guest", "runtime", "config", "network")
	type facts struct {
		UUID, GuestID, Hostname, IP, Power, Connection string
		CPU, Memory                                    int32
		NICs                                           []types.GuestNicInfo
		ExtraConfig                                    map[string]any
		Devices, Networks                              int
	}
	got := facts{
		UUID: vm.Summary.Config.Uuid, GuestID: vm.Summary.Config.GuestId, Hostname: vm.Guest.HostName, IP: vm.Guest.IpAddress,
		Power: string(vm.Runtime.PowerState), Connection: string(vm.Runtime.ConnectionState),
		CPU: vm.Summary.Config.NumCpu, Memory: vm.Summary.Config.MemorySizeMB,
		ExtraConfig: make(map[string]any), Devices: len(vm.Config.Hardware.Device), Networks: len(vm.Network),
	}
	for _, nic := range vm.Guest.Net {
		nic.IpConfig = nil
		got.NICs = append(got.NICs, nic)
	}
	for _, option := range vm.Config.ExtraConfig {
		got.ExtraConfig[option.GetOptionValue().Key] = option.GetOptionValue().Value
	}
	want := facts{
		UUID: "56492e42-22ad-3911-6d72-59cc8f26bc90", GuestID: "rhel9_64Guest", Hostname: "node.example", IP: "10.0.0.1",
		Power: "poweredOn", Connection: "connected", CPU: 8, Memory: 512,
		NICs: []types.GuestNicInfo{
			{
				Network: "internal", IpAddress: []string{"fd00::1", "10.0.0.1"}, MacAddress: "00:50:56:00:00:01",
				Connected: true, DeviceConfigId: 4000,
			},
			{IpAddress: []string{"172.17.0.1"}, MacAddress: got.NICs[1].MacAddress, Connected: true, DeviceConfigId: -1},
			{Network: "VM Network", MacAddress: got.NICs[2].MacAddress, Connected: true, DeviceConfigId: 4002},
		},
		ExtraConfig: map[string]any{"guestinfo.metadata": "e30=", "guestinfo.metadata.encoding": "base64"},
		Devices:     2, Networks: 2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("VM (-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(got.NICs[1].MacAddress, "00:50:56:") || got.NICs[1].MacAddress == got.NICs[2].MacAddress {
		t.Errorf("derived MAC addresses %s and %s", got.NICs[1].MacAddress, got.NICs[2].MacAddress)
	}
}

func TestGuestReportsWhatItsStateAllows(t *testing.T) {
	t.Parallel()
	v := start(t, large()).VCenter("vc")
	c := login(t, v)
	cases := map[string]struct {
		reason   string
		hostname string
		nics     int
		power    types.VirtualMachinePowerState
	}{
		"in-vapp":  {"off: nothing", "", 0, types.VirtualMachinePowerStatePoweredOff},
		"on-alone": {"suspended: as before", "on-alone", 1, types.VirtualMachinePowerStateSuspended},
		"no-tools": {"nothing is reported", "", 0, types.VirtualMachinePowerStatePoweredOn},
	}
	for name, tc := range cases {
		vm := retrieve(t, c, v.VM(name).Reference(), "guest", "runtime", "summary.guest")
		if vm.Guest.HostName != tc.hostname || len(vm.Guest.Net) != tc.nics || vm.Runtime.PowerState != tc.power ||
			vm.Summary.Guest.HostName != tc.hostname {
			t.Errorf("%s, %s: host name %q, %d NICs, %s", name, tc.reason, vm.Guest.HostName, len(vm.Guest.Net), vm.Runtime.PowerState)
		}
	}
}

func TestAncestors(t *testing.T) {
	t.Parallel()
	v := start(t, large()).VCenter("vc")
	c := login(t, v)
	cases := map[string]struct {
		vm     string
		of     func(mo.VirtualMachine) *types.ManagedObjectReference
		want   string
		reason string
	}{
		"Folder":     {"node", func(vm mo.VirtualMachine) *types.ManagedObjectReference { return &vm.Self }, "Datacenters/emea/prod/dc-a/vm/k8s/prod/node", "the VM's folders"},
		"Host":       {"node", func(vm mo.VirtualMachine) *types.ManagedObjectReference { return vm.Runtime.Host }, "Datacenters/emea/prod/dc-a/host/cluster/host-2", "the host's cluster"},
		"Standalone": {"on-alone", func(vm mo.VirtualMachine) *types.ManagedObjectReference { return vm.Runtime.Host }, "Datacenters/emea/prod/dc-a/host/alone/alone", "no cluster"},
		"Pool":       {"node", func(vm mo.VirtualMachine) *types.ManagedObjectReference { return vm.ResourcePool }, "Datacenters/emea/prod/dc-a/host/cluster/Resources/pool/nested", "nested pools"},
		"VApp":       {"in-vapp", func(vm mo.VirtualMachine) *types.ManagedObjectReference { return vm.ParentVApp }, "Datacenters/emea/prod/dc-a/host/cluster/Resources/vapp", "parentVApp leads on"},
	}
	for name, tc := range cases {
		vm := retrieve(t, c, v.VM(tc.vm).Reference(), "runtime", "resourcePool", "parentVApp", "parent")
		ancestors, err := mo.Ancestors(t.Context(), c, c.ServiceContent.PropertyCollector, *tc.of(vm))
		if err != nil {
			t.Errorf("%s: %v", name, err)

			continue
		}
		var got string
		for _, a := range ancestors {
			got = path.Join(got, a.Name)
		}
		if got != tc.want {
			t.Errorf("%s, %s: %s, want %s", name, tc.reason, got, tc.want)
		}
		if inVApp := vm.ParentVApp != nil; inVApp != (vm.Parent == nil) {
			t.Errorf("%s: a VM has a folder or a vApp: %v, %v", name, vm.Parent, vm.ParentVApp)
		}
	}
}

// TestVCentersAreIndependent: the managed object references are the same in both,
// UUIDs are not, and nothing is shared.
func TestVCentersAreIndependent(t *testing.T) {
	t.Parallel()
	spec := small()
	spec.VCenters = append(spec.VCenters, small().VCenters[0])
	spec.VCenters[1].Name = "other"
	cloud := start(t, spec)
	a, b := cloud.VCenter("vc"), cloud.VCenter("other")
	clientA, clientB := login(t, a), login(t, b)
	if x, y := a.VM("one"), b.VM("one"); x.Reference() != y.Reference() || x.UUID() == y.UUID() {
		t.Errorf("%s %s and %s %s", x.Reference(), x.UUID(), y.Reference(), y.UUID())
	}
	if clientA.ServiceContent.About.InstanceUuid == clientB.ServiceContent.About.InstanceUuid {
		t.Error("both vCenters have the same instance UUID")
	}
	if err := a.VM("one").PowerOff(); err != nil {
		t.Fatal(err)
	}
	if err := a.AttachTag("/dc", "zone", "only-a"); err != nil {
		t.Fatal(err)
	}
	vm := retrieve(t, clientB, b.VM("one").Reference(), "runtime.powerState")
	if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
		t.Error("the other vCenter's VM was switched off")
	}
	if len(b.tags.tags) != 0 || len(b.Sessions()) != 1 || b.Count("Login") != 1 {
		t.Errorf("the other vCenter has %d tags, %d sessions, calls %v", len(b.tags.tags), len(b.Sessions()), b.Calls())
	}
	if cloud.VM("two").VCenter() != a {
		t.Error("a VM of that name is looked for in the first vCenter first")
	}
}

func TestSameSpecSameInventory(t *testing.T) {
	t.Parallel()
	uuids := func() map[string]string {
		got := make(map[string]string)
		for _, vm := range start(t, large()).VCenter("vc").VMs() {
			got[vm.Name()+" "+vm.Reference().Value] = vm.UUID()
		}

		return got
	}
	if diff := cmp.Diff(uuids(), uuids()); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
}

func TestHandles(t *testing.T) {
	t.Parallel()
	cloud := start(t, small())
	v := cloud.VCenter("vc")
	vm, two := v.VM("one"), v.VM("two")
	if err := errors.Join(two.Destroy(), vm.HideConfig(true)); err != nil {
		t.Fatal(err)
	}
	cases := map[string]func() error{
		"MigrateNowhere": func() error { return vm.Migrate("none") },
		"DetachUnknown":  func() error { return vm.DetachTag("none", "none") },
		"AddNowhere": func() error {
			_, err := v.AddVM("none", VMSpec{Name: "x"})

			return err
		},
		"AddInvalid": func() error {
			_, err := v.AddVM("dc", VMSpec{})

			return err
		},
		"AddWithoutHost": func() error {
			_, err := v.AddVM("dc", VMSpec{Name: "x", Host: "none"})

			return err
		},
		"AttachNowhere":     func() error { return v.AttachTag("/none", "zone", "x") },
		"RenameUnknown":     func() error { return v.RenameTag("zone", "none", "x") },
		"DestroyTwice":      two.Destroy,
		"ExtraConfigHidden": func() error { return vm.SetExtraConfig(map[string]string{"a": "b"}) },
	}
	for name, f := range cases {
		if err := f(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for name, f := range map[string]func(){
		"VM":              func() { cloud.VM("none") },
		"VCenter":         func() { cloud.VCenter("none") },
		"VM of a vCenter": func() { v.VM("none") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic for an unknown name", name)
				}
			}()
			f()
		}()
	}
}

func TestCloneKeepsUUID(t *testing.T) {
	t.Parallel()
	v := start(t, large()).VCenter("vc")
	vm := v.VM("node")
	if err := vm.HideConfig(true); err != nil {
		t.Fatal(err)
	}
	clone, err := vm.Clone("restored")
	if err != nil {
		t.Fatal(err)
	}
	c := login(t, v)
	got := retrieve(t, c, clone.Reference(), "config.uuid", "guest.hostName", "guest.net", "config.extraConfig", "config.instanceUuid")
	if got.Config.Uuid != vm.UUID() || got.Guest.HostName != "node.example" || len(got.Guest.Net) != 3 || len(got.Config.ExtraConfig) != 2 {
		t.Errorf("clone: %+v", got)
	}
	if clone.UUID() != vm.UUID() || clone.Name() != "restored" || clone.Reference() == vm.Reference() {
		t.Errorf("clone %s of %s", clone.Reference(), vm.Reference())
	}
}
