package vsphere

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/front"
)

func TestSearch(t *testing.T) {
	t.Parallel()
	spec := large()
	spec.VCenters[0].Datacenters[1].VMs = []VMSpec{{
		Name: "copy", Hostname: "node.example", UUID: "56492e42-22ad-3911-6d72-59cc8f26bc90", NICs: []NIC{{IPs: []string{"10.0.0.1"}}},
	}}
	v := start(t, spec).VCenter("vc")
	index := object.NewSearchIndex(login(t, v).Client)
	dcA, dcB := object.NewDatacenter(nil, v.dcs[0].dc.Self), object.NewDatacenter(nil, v.dcs[1].dc.Self)
	ctx := t.Context()
	const uuid = "56492e42-22ad-3911-6d72-59cc8f26bc90"
	cases := map[string]struct {
		reason string
		find   func() (object.Reference, error)
		want   string
	}{
		"UUIDInDatacenter": {"the datacenter limits the search", func() (object.Reference, error) { return index.FindByUuid(ctx, dcB, uuid, true, nil) }, "copy"},
		"UUIDOfAnyCase":    {"UUIDs have no case", func() (object.Reference, error) { return index.FindByUuid(ctx, dcA, strings.ToUpper(uuid), true, nil) }, "node"},
		"UUIDAnywhere":     {"the first one made", func() (object.Reference, error) { return index.FindByUuid(ctx, nil, uuid, true, nil) }, "node"},
		"UUIDUnknown": {"nothing", func() (object.Reference, error) {
			return index.FindByUuid(ctx, nil, "00000000-0000-0000-0000-000000000000", true, nil)
		}, ""},
		"InstanceUUID":  {"not the BIOS UUID", func() (object.Reference, error) { return index.FindByUuid(ctx, nil, uuid, true, new(true)) }, ""},
		"Hosts":         {"none are found", func() (object.Reference, error) { return index.FindByUuid(ctx, nil, uuid, false, nil) }, ""},
		"DNSName":       {"of the datacenter", func() (object.Reference, error) { return index.FindByDnsName(ctx, dcB, "node.example", true) }, "copy"},
		"DNSNameOfCase": {"host names match exactly", func() (object.Reference, error) { return index.FindByDnsName(ctx, dcB, "Node.example", true) }, ""},
		"IP":            {"the VM's own address", func() (object.Reference, error) { return index.FindByIp(ctx, dcA, "10.0.0.1", true) }, "node"},
		"IPOfSecondNIC": {"other addresses are not indexed", func() (object.Reference, error) { return index.FindByIp(ctx, dcA, "172.17.0.1", true) }, ""},
		"Off":           {"a guest that is off has no name", func() (object.Reference, error) { return index.FindByDnsName(ctx, nil, "in-vapp", true) }, ""},
	}
	for name, tc := range cases {
		ref, err := tc.find()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if (ref == nil) != (tc.want == "") || ref != nil && ref.Reference() != v.VM(tc.want).Reference() {
			t.Errorf("%s, %s: found %v, want %q", name, tc.reason, ref, tc.want)
		}
	}
	all, err := index.FindAllByDnsName(ctx, nil, "node.example", true)
	if err != nil || len(all) != 2 {
		t.Errorf("all of that name: %v, %v", all, err)
	}
	if all, err := index.FindAllByUuid(ctx, nil, uuid, true, nil); err != nil || len(all) != 2 {
		t.Errorf("all of that UUID: %v, %v", all, err)
	}
	if all, err := index.FindAllByIp(ctx, dcA, "10.0.0.1", true); err != nil || len(all) != 1 {
		t.Errorf("all of that address in one datacenter: %v, %v", all, err)
	}
	if err := v.VM("node").HideConfig(true); err != nil {
		t.Fatal(err)
	}
	if ref, err := index.FindByUuid(ctx, dcA, uuid, true, nil); ref != nil || err != nil {
		t.Errorf("a VM without a configuration: %v, %v", ref, err)
	}
}

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

func TestCallsAreCountedByName(t *testing.T) {
	t.Parallel()
	v := start(t, large()).VCenter("vc")
	c := login(t, v)
	r := loginREST(t, v, c)
	manager := tags.NewManager(r)
	ref := v.VM("node").Reference()
	v.Reset()
	for _, call := range []func() error{
		func() error { _, err := manager.ListCategories(t.Context()); return err },
		func() error { _, err := manager.ListTags(t.Context()); return err },
		func() error { _, err := manager.GetAttachedTags(t.Context(), ref); return err },
		func() error {
			_, err := manager.ListAttachedTagsOnObjects(t.Context(), []mo.Reference{ref})
			return err
		},
		func() error { _, err := manager.ListTagsForCategory(t.Context(), v.tags.category("zone")); return err },
		func() error {
			_, err := manager.CreateTag(t.Context(), &tags.Tag{Name: "new", CategoryID: v.tags.category("zone")})
			return err
		},
		func() error { return manager.AttachTag(t.Context(), "new", ref) },
		func() error { return manager.DetachTag(t.Context(), "new", ref) },
		func() error { _, err := r.Session(t.Context()); return err },
		func() error { return r.Logout(t.Context()) },
		func() error { return c.Logout(t.Context()) },
	} {
		if err := call(); err != nil {
			t.Fatal(err)
		}
	}
	calls := v.Calls()
	delete(calls, "GetTag") // as many as there are tags: the client looks names up
	want := map[string]int{
		"ListCategories": 1, "ListTags": 3, "ListAttachedTags": 1, "ListAttachedTagsOnObjects": 1, "ListTagsForCategory": 1,
		"CreateTag": 1, "AttachTag": 1, "DetachTag": 1, "RESTSession": 1, "RESTLogout": 1, "Logout": 1,
	}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestUnknownPathsAreRefused(t *testing.T) {
	t.Parallel()
	v := start(t, small()).VCenter("vc")
	client := soap.NewClient(v.URL(), true)
	t.Cleanup(client.CloseIdleConnections)
	for _, path := range []string{"/rest/com/vmware/content/library", "/api", "/folder/x", "/rest/com/vmware/cis/tagging/other", "/about"} {
		u := v.URL()
		u.Path = path
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u.String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound || v.Count("GET "+path) != 1 {
			t.Errorf("%s: %s, calls %v", path, resp.Status, v.Calls())
		}
	}
}

// TestClientsMayChangeVMs covers what people do by hand in a demo.
func TestClientsMayChangeVMs(t *testing.T) {
	t.Parallel()
	v := start(t, large()).VCenter("vc")
	c := login(t, v)
	vm := object.NewVirtualMachine(c.Client, v.VM("node").Reference())
	ctx := t.Context()
	run := func(made *object.Task, err error) error {
		if err != nil {
			return err
		}
		return made.Wait(ctx)
	}
	host := v.dcs[0].hosts[0].Self
	steps := []struct {
		name string
		do   func() error
		want func(mo.VirtualMachine) bool
	}{
		{"power off", func() error { return run(vm.PowerOff(ctx)) }, func(m mo.VirtualMachine) bool { return len(m.Guest.Net) == 0 }},
		{"power on", func() error { return run(vm.PowerOn(ctx)) }, func(m mo.VirtualMachine) bool { return len(m.Guest.Net) == 3 }},
		{"suspend", func() error { return run(vm.Suspend(ctx)) }, func(m mo.VirtualMachine) bool { return m.Runtime.PowerState == "suspended" }},
		{"resume", func() error { return run(vm.PowerOn(ctx)) }, func(m mo.VirtualMachine) bool { return m.Runtime.PowerState == "poweredOn" }},
		{"reset", func() error { return run(vm.Reset(ctx)) }, func(m mo.VirtualMachine) bool { return m.Runtime.PowerState == "poweredOn" }},
		{"rename", func() error { return run(vm.Rename(ctx, "other")) }, func(m mo.VirtualMachine) bool { return m.Name == "other" }},
		{
			"migrate",
			func() error {
				return run(vm.Relocate(ctx, types.VirtualMachineRelocateSpec{Host: &host}, types.VirtualMachineMovePriorityDefaultPriority))
			},
			func(m mo.VirtualMachine) bool { return *m.Runtime.Host == host },
		},
		{
			"set metadata",
			func() error {
				return run(vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{
					&types.OptionValue{Key: "guestinfo.metadata", Value: "bmV3"},
				}}))
			},
			func(m mo.VirtualMachine) bool {
				return slices.ContainsFunc(m.Config.ExtraConfig, func(o types.BaseOptionValue) bool { return o.GetOptionValue().Value == "bmV3" })
			},
		},
		{"shut down", func() error { return vm.ShutdownGuest(ctx) }, func(m mo.VirtualMachine) bool { return m.Runtime.PowerState == "poweredOff" }},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got := retrieve(t, c, vm.Reference(), "name", "guest", "runtime", "config"); !step.want(got) {
			t.Errorf("after %s: %+v", step.name, got.Runtime)
		}
	}
	folder := object.NewFolder(c.Client, v.dcs[0].dc.VmFolder)
	made, err := vm.Clone(ctx, folder, "clone", types.VirtualMachineCloneSpec{})
	if err := run(made, err); err != nil || v.VM("clone").UUID() == v.VM("other").UUID() {
		t.Errorf("clone: %v", err)
	}
	if err := run(vm.Destroy(ctx)); err != nil || v.find("other") != nil {
		t.Errorf("destroy: %v", err)
	}
}

func TestClientsAreRefused(t *testing.T) {
	t.Parallel()
	v := start(t, large()).VCenter("vc")
	c := login(t, v)
	ctx := t.Context()
	vm := object.NewVirtualMachine(c.Client, v.VM("node").Reference())
	run := func(made *object.Task, err error) error {
		if err != nil {
			return err
		}
		err = made.Wait(ctx)
		if _, ok := err.(task.Error); err != nil && !ok { //nolint:errorlint // the task's own error
			t.Errorf("task: %v", err)
		}
		return err
	}
	cases := map[string]struct {
		reason string
		err    error
		want   types.BaseMethodFault
	}{
		"PowerOnTwice": {"it is on", run(vm.PowerOn(ctx)), &types.InvalidPowerState{}},
		"DestroyOn":    {"it is on", run(vm.Destroy(ctx)), &types.InvalidPowerState{}},
		"UnregisterOn": {"it is on", vm.Unregister(ctx), &types.InvalidPowerState{}},
		"ShutdownWithoutTools": {
			"nobody in the guest listens",
			object.NewVirtualMachine(c.Client, v.VM("no-tools").Reference()).ShutdownGuest(ctx), &types.ToolsUnavailable{},
		},
		"MigrateNowhere": {
			"no such host",
			run(vm.Relocate(ctx, types.VirtualMachineRelocateSpec{Host: &types.ManagedObjectReference{Type: "HostSystem", Value: "host-none"}}, "")),
			&types.InvalidArgument{},
		},
		"CloneTwice": {
			"the name is taken",
			run(vm.Clone(ctx, object.NewFolder(c.Client, v.dcs[0].dc.VmFolder), "node", types.VirtualMachineCloneSpec{})), &types.DuplicateName{},
		},
		"CreateVM": {
			"there is no datastore behind it",
			func() error {
				_, err := object.NewFolder(c.Client, v.dcs[0].dc.VmFolder).CreateVM(ctx, types.VirtualMachineConfigSpec{Name: "x"},
					object.NewResourcePool(c.Client, v.dcs[0].pools["cluster"].entity.Entity().Self), nil)
				return err
			}(), &types.NotSupported{},
		},
	}
	for name, tc := range cases {
		if !isFault(tc.err, tc.want) {
			t.Errorf("%s, %s: %v, want %T", name, tc.reason, tc.err, tc.want)
		}
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		effect front.Effect
		want   func(error) bool
	}{
		"NoPermission":     {Fault(&types.NoPermission{PrivilegeId: "System.View"}), func(err error) bool { return isFault(err, &types.NoPermission{}) }},
		"InvalidLogin":     {Fault(&types.InvalidLogin{}), func(err error) bool { return isFault(err, &types.InvalidLogin{}) }},
		"NotAuthenticated": {Fault(&types.NotAuthenticated{}), func(err error) bool { return isFault(err, &types.NotAuthenticated{}) }},
		"RuntimeFault":     {Fault(&types.RuntimeFault{}), func(err error) bool { return isFault(err, &types.RuntimeFault{}) }},
		"HTTP503":          {front.Status(http.StatusServiceUnavailable), func(err error) bool { return strings.Contains(err.Error(), "503") }},
		"Drop":             {front.Drop(), func(err error) bool { return strings.Contains(err.Error(), "EOF") }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := start(t, small()).VCenter("vc")
			index := object.NewSearchIndex(login(t, v).Client)
			rule := v.Break("FindByIp", front.Nth(2), tc.effect)
			for i := 1; i <= 3; i++ {
				ref, err := index.FindByIp(t.Context(), nil, "10.0.0.1", true)
				switch {
				case i == 2 && (err == nil || !tc.want(err)):
					t.Errorf("the broken call: %v, %v", ref, err)
				case i != 2 && (err != nil || ref == nil):
					t.Errorf("call %d: %v, %v", i, ref, err)
				}
			}
			if rule.Hits() != 1 || v.Count("FindByIp") != 3 {
				t.Errorf("hits %d, calls %v", rule.Hits(), v.Calls())
			}
		})
	}
}

func TestTagServiceBreaks(t *testing.T) {
	t.Parallel()
	v := start(t, large()).VCenter("vc")
	c := login(t, v)
	manager := tags.NewManager(loginREST(t, v, c))
	rule := v.Break(GroupTags, front.Always(), front.Status(http.StatusInternalServerError))
	if _, err := manager.ListTags(t.Context()); err == nil {
		t.Error("the tag service answered")
	}
	if currentSession(t, c) == nil {
		t.Error("SOAP broke as well")
	}
	rule.Remove()
	if _, err := manager.ListTags(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestOutage(t *testing.T) {
	t.Parallel()
	v := start(t, small()).VCenter("vc")
	c := login(t, v)
	w := startWatch(t, c)
	w.pageIn(t)
	done := make(chan error)
	go func() {
		_, _, err := w.next(t.Context())
		done <- err
	}()
	eventually(t, v.isPolling)
	v.Down()
	if err := <-done; err == nil {
		t.Error("the long poll was answered")
	}
	if _, err := tryLogin(t.Context(), v, v.Password()); err == nil {
		t.Error("logged in while down")
	}
	if err := v.VM("one").PowerOff(); err != nil {
		t.Fatal(err)
	}
	if err := v.Up(); err != nil {
		t.Fatal(err)
	}
	if updates, _, err := w.next(t.Context()); err != nil || len(updates) != 1 {
		t.Errorf("the session and what it missed are still there: %v, %v", updates, err)
	}
	go func() {
		_, _, err := w.next(t.Context())
		done <- err
	}()
	eventually(t, v.isPolling)
	v.Hang()
	if err := v.VM("one").PowerOn(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return !v.isPolling() })
	select {
	case err := <-done:
		t.Errorf("the long poll got through: %v", err)
	default:
	}
	if err := v.Up(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("the answer that hung: %v", err)
	}
}
