package inventory

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"
	"pgregory.net/rapid"

	cloudsim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// twoDatacenters is an inventory as the feed reports it, ready to be changed:
//
//	/north          datacenter-1   group-v1   vm-1 …
//	/emea/south     datacenter-2   group-v2
func twoDatacenters() []types.ObjectUpdate {
	return []types.ObjectUpdate{
		enter("Folder", "group-d2", "name", "emea", "parent", Ref{Type: "Folder", Value: "group-d1"}),
		enter(typeDatacenter, "datacenter-1", "name", "north", "parent", Ref{Type: "Folder", Value: "group-d1"}),
		enter(typeDatacenter, "datacenter-2", "name", "south", "parent", Ref{Type: "Folder", Value: "group-d2"}),
		enter("Folder", "group-v1", "name", "vm", "parent", Ref{Type: typeDatacenter, Value: "datacenter-1"}),
		enter("Folder", "group-v2", "name", "vm", "parent", Ref{Type: typeDatacenter, Value: "datacenter-2"}),
	}
}

var (
	north = folder("group-v1")
	south = folder("group-v2")
)

func folder(id string) Ref { return Ref{Type: "Folder", Value: id} }

func machine(id string) Ref { return Ref{Type: typeVM, Value: id} }

// enter and modify report properties, given as names and values.
func enter(kind, id string, properties ...any) types.ObjectUpdate {
	u := types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: Ref{Type: kind, Value: id}}
	for p := range slices.Chunk(properties, 2) {
		u.ChangeSet = append(u.ChangeSet, types.PropertyChange{Op: types.PropertyChangeOpAssign, Name: p[0].(string), Val: p[1]})
	}

	return u
}

func modify(kind, id string, properties ...any) types.ObjectUpdate {
	u := enter(kind, id, properties...)
	u.Kind = types.ObjectUpdateKindModify

	return u
}

func leave(kind, id string) types.ObjectUpdate {
	return types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: Ref{Type: kind, Value: id}}
}

// vm reports a VM in a folder.
func vm(id string, in Ref, properties ...any) types.ObjectUpdate {
	return enter(typeVM, id, append([]any{"name", id, "parent", in}, properties...)...)
}

// stored is a connected inventory of those updates: the first set is read from
// scratch, the others are changes.
func stored(datacenters []string, sets ...[]types.ObjectUpdate) *Inventory {
	i := New(nil, Config{Name: "vc", Datacenters: datacenters})
	i.store.queried.note(byID(uuid, swapped, "u1", "u2", "u3"), time.Now()) // those of Nodes
	for n, set := range sets {
		if n == 0 {
			resync(i, set)
		} else {
			change(i, set...)
		}
	}
	i.health.markCurrent(time.Now())

	return i
}

func resync(i *Inventory, updates ...[]types.ObjectUpdate) {
	i.store.beginReading(false)
	i.store.apply(slices.Concat(updates...), time.Now())
	i.store.endReading()
}

// change applies one response of the change feed.
func change(i *Inventory, updates ...types.ObjectUpdate) {
	i.store.apply(updates, time.Now())
	i.store.endUpdate()
}

const uuid, swapped = "423740e7-c66e-05e3-9d0b-9e1205b24d43", "e7403742-6ec6-e305-9d0b-9e1205b24d43"

func withUUID(id string, in Ref, u string) types.ObjectUpdate {
	return vm(id, in, "summary.config.uuid", u)
}

// TestFind goes through VS-NODE-2, VS-NODE-5, VS-NODE-7 and VS-NODE-10.
func TestFind(t *testing.T) {
	t.Parallel()
	inaccessible := func(id string, in Ref) types.ObjectUpdate {
		return vm(id, in, "runtime.connectionState", types.VirtualMachineConnectionStateInaccessible)
	}
	host := func(id, name string) types.ObjectUpdate {
		return vm(id, north, "summary.config.uuid", id, "guest.hostName", name, "guest.ipAddress", "10.0.0."+strings.TrimPrefix(id, "vm-"))
	}
	cases := map[string]struct {
		reason      string
		datacenters []string
		read        []types.ObjectUpdate
		changes     [][]types.ObjectUpdate
		query       Query
		want        string // names
		err         string
	}{
		"by UUID": {
			reason: "VS-ID-2: in any case, with spaces",
			read:   []types.ObjectUpdate{withUUID("vm-1", north, strings.ToUpper(uuid))},
			query:  byID("  " + strings.ToUpper(uuid) + " "), want: "vm-1",
		},
		"first UUID wins": {
			reason: "the order of the forms is one of preference",
			read:   []types.ObjectUpdate{withUUID("vm-1", north, uuid), withUUID("vm-2", north, swapped)},
			query:  byID(swapped, uuid), want: "vm-2",
		},
		"second UUID": {
			reason: "a miss is retried with the other form",
			read:   []types.ObjectUpdate{withUUID("vm-1", north, uuid)},
			query:  byID(swapped, uuid), want: "vm-1",
		},
		"clones": {
			reason: "VS-NODE-4: all are returned",
			read:   []types.ObjectUpdate{withUUID("vm-2", north, uuid), withUUID("vm-1", south, uuid)},
			query:  byID(uuid), want: "vm-1 vm-2",
		},
		"UUID before name": {
			reason: "the name can be that of another VM by now",
			read:   []types.ObjectUpdate{host("vm-1", "web"), host("vm-2", "db")},
			query:  Query{UUIDs: []string{"vm-1"}, Names: []string{"db"}}, want: "vm-1",
		},
		"by host name": {
			reason: "VS-NODE-2: in any case",
			read:   []types.ObjectUpdate{host("vm-1", "Web.Example.com"), host("vm-2", "web")},
			query:  byName("WEB.example.com"), want: "vm-1",
		},
		"exact name first": {
			reason: "the short form comes last, whatever the order of names",
			read:   []types.ObjectUpdate{host("vm-1", "web.example.com"), host("vm-2", "db")},
			query:  byName("web", "db"), want: "vm-2",
		},
		"short name of the guest's": {
			reason: "VS-NODE-2: with or without a domain",
			read:   []types.ObjectUpdate{host("vm-1", "web.example.com")},
			query:  byName("web"), want: "vm-1",
		},
		"short name of the guest": {
			reason: "VS-NODE-2: with or without a domain, the other way round",
			read:   []types.ObjectUpdate{host("vm-1", "web")},
			query:  byName("web.example.com"), want: "vm-1",
		},
		"other domain": {
			reason: "two full names that differ are two machines",
			read:   []types.ObjectUpdate{host("vm-1", "web.example.com")},
			query:  byName("web.example.org"),
		},
		"by address": {
			reason: "VS-NODE-2: an IP address after the host name",
			read:   []types.ObjectUpdate{host("vm-1", "web"), host("vm-2", "db")},
			query:  byName("10.0.0.2"), want: "vm-2",
		},
		"address is no host name": {
			reason: "the first number of an address is not the short name of a machine",
			read:   []types.ObjectUpdate{host("vm-1", "10")},
			query:  byName("10.0.0.9"),
		},
		"host name is an address": {
			reason: "the same, the other way round",
			read:   []types.ObjectUpdate{host("vm-1", "10.0.0.9")},
			query:  byName("10"),
		},
		"address of another name": {
			reason: "a machine with an address for a name can only be that one",
			read:   []types.ObjectUpdate{vm("10.0.0.9", north, "summary.config.uuid", uuid)},
			query:  byName("10.0.0.1"),
		},
		"by IPv6 address": {
			reason: "an address has many spellings",
			read:   []types.ObjectUpdate{vm("vm-1", north, "guest.hostName", "web", "guest.ipAddress", "FD00:0::1", "summary.config.uuid", uuid)},
			query:  byName("fd00::1"), want: "vm-1",
		},
		"other datacenter": {
			reason: "VS-NODE-5: only configured datacenters count", datacenters: []string{"north"},
			read:  []types.ObjectUpdate{withUUID("vm-1", south, uuid)},
			query: byID(uuid),
		},
		"other datacenter by name": {
			reason: "VS-NODE-5: only configured datacenters count", datacenters: []string{"south"},
			read:  []types.ObjectUpdate{host("vm-1", "web")},
			query: byName("web", "10.0.0.1"),
		},
		"missing datacenter": {
			reason: "VS-NODE-5: a missing datacenter makes a miss an error", datacenters: []string{"north", "west"},
			query: byID(uuid), err: "datacenter west does not exist",
		},
		"missing datacenter, found in another": {
			reason: "VS-NODE-6: an error only if not found in another one", datacenters: []string{"north", "west"},
			read:  []types.ObjectUpdate{withUUID("vm-1", north, uuid)},
			query: byID(uuid), want: "vm-1",
		},
		"no datacenter at all": {
			reason: "VS-ACCESS-1: without permissions everything looks absent",
			read:   []types.ObjectUpdate{leave(typeDatacenter, "datacenter-1"), leave(typeDatacenter, "datacenter-2")},
			query:  byID(uuid), err: "no datacenter can be read",
		},
		"folder cannot be read": {
			reason: "VS-NODE-5: whether it counts is unknown", datacenters: []string{"north"},
			read:  []types.ObjectUpdate{withUUID("vm-1", folder("group-v9"), uuid)},
			query: byID(uuid), err: `VM "vm-1" (vm-1) has UUID ` + uuid + " but its datacenter cannot be read",
		},
		"folder cannot be read, all count": {
			reason: "without configured datacenters it does not matter",
			read:   []types.ObjectUpdate{withUUID("vm-1", folder("group-v9"), uuid)},
			query:  byID(uuid), want: "vm-1",
		},
		"keeps its UUID": {
			reason:  "VS-NODE-7: an inaccessible VM exists",
			read:    []types.ObjectUpdate{withUUID("vm-1", north, uuid)},
			changes: [][]types.ObjectUpdate{{modify(typeVM, "vm-1", "summary.config.uuid", nil)}},
			query:   byID(uuid), want: "vm-1",
		},
		"enters again without its UUID": {
			reason:  "VS-NODE-7: what came back inaccessible exists",
			read:    []types.ObjectUpdate{withUUID("vm-1", north, uuid)},
			changes: [][]types.ObjectUpdate{{inaccessible("vm-1", north)}},
			query:   byID(uuid), want: "vm-1",
		},
		"UUID that was never read": {
			reason: "VS-NODE-7: it can be any VM",
			read:   []types.ObjectUpdate{inaccessible("vm-1", north), withUUID("vm-2", north, swapped)},
			query:  byID(uuid), err: `VM "vm-1" (vm-1) does not report its UUID: it is inaccessible`,
		},
		"UUID that was never read, out of scope": {
			reason: "one that does not count cannot be the one", datacenters: []string{"south"},
			read:  []types.ObjectUpdate{inaccessible("vm-1", north)},
			query: byID(uuid),
		},
		"UUID that was never read, other VM": {
			reason:  "it was there together with the one that was deleted, so it is another one",
			read:    []types.ObjectUpdate{inaccessible("vm-1", north), withUUID("vm-2", north, uuid)},
			changes: [][]types.ObjectUpdate{{leave(typeVM, "vm-2")}},
			query:   byID(uuid),
		},
		"UUID that was never read, created again": {
			reason:  "it came when the other one went: it may have been registered anew",
			read:    []types.ObjectUpdate{withUUID("vm-2", north, uuid)},
			changes: [][]types.ObjectUpdate{{inaccessible("vm-1", north), leave(typeVM, "vm-2")}},
			query:   byID(uuid), err: "does not report its UUID",
		},
		"moved out": {
			reason: "VS-NODE-5: found only by its last reference", datacenters: []string{"north"},
			read:    []types.ObjectUpdate{withUUID("vm-1", north, uuid)},
			changes: [][]types.ObjectUpdate{{modify(typeVM, "vm-1", "parent", south)}},
			query:   byID(uuid), want: "vm-1",
		},
		"moved out, successor": {
			reason: "the one that counts now is the one", datacenters: []string{"north"},
			read:    []types.ObjectUpdate{withUUID("vm-1", north, uuid)},
			changes: [][]types.ObjectUpdate{{modify(typeVM, "vm-1", "parent", south), withUUID("vm-2", north, uuid)}},
			query:   byID(uuid), want: "vm-2",
		},
		"moved in": {
			reason: "VS-NODE-5: datacenter membership follows the tree", datacenters: []string{"north"},
			read:    []types.ObjectUpdate{withUUID("vm-1", south, uuid)},
			changes: [][]types.ObjectUpdate{{modify("Folder", "group-v2", "parent", Ref{Type: typeDatacenter, Value: "datacenter-1"})}},
			query:   byID(uuid), want: "vm-1",
		},
		"datacenter renamed": {
			reason: "the name is what was configured", datacenters: []string{"west"},
			read:    []types.ObjectUpdate{withUUID("vm-1", south, uuid)},
			changes: [][]types.ObjectUpdate{{modify(typeDatacenter, "datacenter-2", "name", "west")}},
			query:   byID(uuid), want: "vm-1",
		},
		"name of two datacenters": {
			reason: "names are unique within a folder only: both count", datacenters: []string{"north"},
			read:    []types.ObjectUpdate{withUUID("vm-1", south, uuid)},
			changes: [][]types.ObjectUpdate{{modify(typeDatacenter, "datacenter-2", "name", "north")}},
			query:   byID(uuid), want: "vm-1",
		},
		"no host name": {
			reason: "VS-NODE-7: a VM without a host name may be the one",
			read:   []types.ObjectUpdate{vm("web", north, "summary.config.uuid", uuid)},
			query:  byName("web.example.com"), err: "its guest reports no host name",
		},
		"UUID property cannot be read": {
			reason: "VS-ACCESS-1: a missing permission is no absence",
			read: []types.ObjectUpdate{{
				Kind: types.ObjectUpdateKindEnter, Obj: machine("vm-1"),
				MissingSet: []types.MissingProperty{{Path: "summary.config.uuid", Fault: types.LocalizedMethodFault{Fault: &types.NoPermission{}}}},
				ChangeSet:  enter("", "", "parent", north).ChangeSet,
			}},
			query: byID(uuid), err: "does not report its UUID: it is unknown",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := stored(tc.datacenters, append([][]types.ObjectUpdate{append(twoDatacenters(), tc.read...)}, tc.changes...)...)
			found, err := i.Find(tc.query)
			var got []string
			for _, vm := range found {
				got = append(got, vm.Ref.Value)
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("%s: found (-want +got):\n%s", tc.reason, diff)
			}
			if (err != nil) != (tc.err != "") || tc.err != "" && !refers(err, tc.err) {
				t.Errorf("%s: error %v, want %q", tc.reason, err, tc.err)
			}
		})
	}
}

// VS-NODE-10: after everything was read anew, a VM without a UUID keeps the one
// it had, and one that is not there any more has a tombstone.
func TestReadingAnewKeepsWhatWasKnown(t *testing.T) {
	t.Parallel()
	i := stored(nil, append(twoDatacenters(), withUUID("vm-1", north, uuid), withUUID("vm-2", north, swapped)))
	resync(i, twoDatacenters(), []types.ObjectUpdate{vm("vm-1", north)})

	if got := one(t, i, byID(uuid)); got.Ref.Value != "vm-1" || got.UUID != uuid {
		t.Errorf("found %+v, want vm-1 with its UUID", got)
	}
	if vms, err := i.Find(byID(swapped)); len(vms) != 0 || err != nil {
		t.Errorf("Find = %s, %v, want none", names(vms), err)
	}
	if diff := cmp.Diff([]Ref{machine("vm-2")}, i.store.known(byID(swapped))); diff != "" {
		t.Errorf("tombstones (-want +got):\n%s", diff)
	}
}

// A UUID that was assigned to another VM still finds the first one.
func TestChangedUUIDHasATombstone(t *testing.T) {
	t.Parallel()
	i := stored(nil, append(twoDatacenters(), withUUID("vm-1", north, uuid)), []types.ObjectUpdate{
		modify(typeVM, "vm-1", "summary.config.uuid", swapped),
	})
	for _, u := range []string{uuid, swapped} {
		if diff := cmp.Diff([]Ref{machine("vm-1")}, i.store.known(byID(u))); diff != "" {
			t.Errorf("known by %s (-want +got):\n%s", u, diff)
		}
	}
}

// What is returned does not change when the inventory does.
func TestFoundVMsAreImmutable(t *testing.T) {
	t.Parallel()
	i := stored(nil, append(twoDatacenters(), withUUID("vm-1", north, uuid)))
	found := one(t, i, byID(uuid))
	before := *found
	change(i,
		modify(typeVM, "vm-1", "name", "other", "parent", south),
		modify(typeDatacenter, "datacenter-1", "name", "west"),
		leave("Folder", "group-v1"),
	)
	if diff := cmp.Diff(before, *found); diff != "" {
		t.Errorf("the VM changed (-before +after):\n%s", diff)
	}
}

// VS-CONFIG-11: a datacenter is given by name, inventory path or ID, also inside
// of folders.
func TestDatacentersAreFoundByAnyForm(t *testing.T) {
	t.Parallel()
	v := simulate(t, cloudsim.VCenterSpec{Datacenters: []cloudsim.DatacenterSpec{
		{Name: "north", VMs: vms("n")},
		{Name: "south", Folder: "emea/prod", VMs: vms("s")},
		{Name: "east", Folder: "apac", VMs: vms("e")},
	}})
	all := watch(t, v, Config{})
	id := one(t, all, byName("s")).Datacenter.Value

	cases := map[string]struct {
		datacenters []string
		want        string
		err         string
	}{
		"all":                 {nil, "n s e", ""},
		"name":                {[]string{"north"}, "n", ""},
		"name in a folder":    {[]string{"south"}, "s", ""},
		"path":                {[]string{"/emea/prod/south"}, "s", ""},
		"path without slash":  {[]string{"emea/prod/south/"}, "s", ""},
		"path of the root":    {[]string{"/north"}, "n", ""},
		"typed ID":            {[]string{"Datacenter:" + id}, "s", ""},
		"ID":                  {[]string{id}, "s", ""},
		"several":             {[]string{"north", "/apac/east"}, "n e", ""},
		"missing":             {[]string{"north", "west", "/emea/south"}, "n", "datacenter west, /emea/south does not exist"},
		"other ID":            {[]string{"Datacenter:datacenter-999"}, "", "does not exist"},
		"names are in a case": {[]string{"North"}, "", "datacenter North does not exist"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := watch(t, v, Config{Datacenters: tc.datacenters})
			var found []string
			if got := i.Status().Incomplete; (got != nil) != (tc.err != "") {
				t.Errorf("Status().Incomplete = %v, want %q", got, tc.err)
			}
			for _, name := range []string{"n", "s", "e"} {
				vms, err := i.Find(byName(name))
				if len(vms) > 0 {
					found = append(found, name)
				} else if (err != nil) != (tc.err != "") || tc.err != "" && !refers(err, tc.err) {
					t.Errorf("Find(%s): %v, want %q", name, err, tc.err)
				}
			}
			if got := strings.Join(found, " "); got != tc.want {
				t.Errorf("found %q, want %q", got, tc.want)
			}
		})
	}
}

// The number of tombstones is bounded, and an entry that comes again is not
// counted twice.
func TestTombstonesAreBounded(t *testing.T) {
	t.Parallel()
	m := newTombstones(3)
	for at, uuid := range []string{"a", "b", "a", "c", "d"} {
		m.add(uuid, tombstone{ref: machine(uuid), at: uint64(at)})
	}
	m.add("d", tombstone{ref: machine("d2"), at: 9})
	m.add("", tombstone{ref: machine("x"), at: 10})
	want := map[string][]tombstone{
		"c": {{ref: machine("c"), at: 3}},
		"d": {{ref: machine("d"), at: 4}, {ref: machine("d2"), at: 9}},
	}
	if diff := cmp.Diff(want, m.byUUID, cmp.AllowUnexported(tombstone{})); diff != "" {
		t.Errorf("tombstones (-want +got):\n%s", diff)
	}
}

// Whatever happens in whatever order, the indexes agree with the VMs, and
// what was known of a UUID is never lost.
func TestIndexesAgreeWithTheVMs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		i := stored([]string{"north"}, twoDatacenters())
		id := rapid.Map(rapid.IntRange(1, 4), func(n int) string { return fmt.Sprintf("vm-%d", n) })
		known := map[string]map[string]bool{} // UUIDs that each living VM had while it counted
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			u := randomUpdate(t, id)
			if rapid.IntRange(0, 9).Draw(t, "resync") == 0 {
				resync(i, twoDatacenters(), []types.ObjectUpdate{u})
			} else {
				change(i, u)
			}
			checkIndexes(t, i.store.live)
			for value, rec := range i.store.live.vms {
				if rec.inScope && rec.uuid != "" {
					if known[value] == nil {
						known[value] = map[string]bool{}
					}
					known[value][rec.uuid] = true
				}
			}
		}
		for vm, uuids := range known {
			for uuid := range uuids {
				if !slices.Contains(i.store.known(byID(uuid)), machine(vm)) {
					fits, err := i.Find(byID(uuid))
					if !slices.ContainsFunc(fits, func(vm *VM) bool { return i.store.live.vms[vm.Ref.Value].inScope }) {
						t.Fatalf("%s once had UUID %s, nothing finds it any more: %s, %v", vm, uuid, names(fits), err)
					}
				}
			}
		}
	})
}

func randomUpdate(t *rapid.T, id *rapid.Generator[string]) types.ObjectUpdate {
	vm := id.Draw(t, "vm")
	if rapid.IntRange(0, 4).Draw(t, "leaves") == 0 {
		return leave(typeVM, vm)
	}
	values := map[string]any{
		"parent":              rapid.SampledFrom([]Ref{north, south, folder("group-v9")}).Draw(t, "parent"),
		"summary.config.uuid": rapid.SampledFrom([]any{nil, "u1", "U2", "u3"}).Draw(t, "uuid"),
		"guest.hostName":      rapid.SampledFrom([]any{nil, "web", "web.example.com", "DB"}).Draw(t, "host"),
		"guest.ipAddress":     rapid.SampledFrom([]any{nil, "10.0.0.1", "fd00::1", "no address"}).Draw(t, "ip"),
	}
	var properties []any
	for _, name := range slices.Sorted(maps.Keys(values)) {
		properties = append(properties, name, values[name])
	}
	if rapid.Bool().Draw(t, "modifies") {
		return modify(typeVM, vm, properties...)
	}

	return enter(typeVM, vm, properties...)
}

// checkIndexes compares what the state keeps beside the VMs with what follows from
// them.
func checkIndexes(t *rapid.T, s *state) {
	want := newState(nil)
	var ancestors int
	for _, rec := range s.vms {
		want.eachKey(rec, func(x index, key string) { x.add(key, rec) })
		if rec.uuid == "" {
			want.unnamed[rec] = true
		}
		if rec.since == 0 || rec.inScope && !rec.wasInScope || rec.inScope && rec.datacenter.ref.Value != "datacenter-1" {
			t.Fatalf("%s: %+v in %s", rec.value, rec, rec.datacenter.reference().Value)
		}
		if rec.datacenter != datacenterOf(&rec.reported) {
			t.Fatalf("%s has datacenter %v, want %v", rec.value, rec.datacenter.reference(), datacenterOf(&rec.reported).reference())
		}
		for _, p := range rec.ancestors() {
			if p != nil {
				ancestors++
			}
			if p != nil && s.tree.ancestors[p.ref] != p {
				t.Fatalf("%s refers to %s, which is dropped", rec.value, p.ref.Value)
			}
		}
	}
	for what, x := range map[string][2]index{
		"UUIDs": {want.byUUID, s.byUUID}, "host names": {want.byShort, s.byShort}, "addresses": {want.byIP, s.byIP},
	} {
		if diff := cmp.Diff(values(x[0]), values(x[1])); diff != "" {
			t.Fatalf("index of %s (-want +got):\n%s", what, diff)
		}
	}
	if !maps.Equal(want.unnamed, s.unnamed) {
		t.Fatalf("unnamed VMs are %v, want %v", s.unnamed, want.unnamed)
	}
	for r, p := range s.tree.ancestors {
		ancestors -= len(p.vms)
		if !p.known && len(p.vms) == 0 && len(p.below) == 0 {
			t.Fatalf("%s is kept for nothing", r.Value)
		}
	}
	if ancestors != 0 {
		t.Fatalf("VMs and places disagree in %d references", ancestors)
	}
}

// values lists the VMs of an index in a fixed order.
func values(x index) map[string][]string {
	out := map[string][]string{}
	for key, records := range x {
		for _, rec := range records {
			out[key] = append(out[key], rec.value)
		}
		slices.Sort(out[key])
	}

	return out
}
