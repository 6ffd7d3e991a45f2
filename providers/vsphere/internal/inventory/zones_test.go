package inventory

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	cloudsim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// zoned is a datacenter with one VM in everything a VM can be in. The tags of
// each object are given by its name.
func zoned(t map[string]cloudsim.Tags) cloudsim.VCenterSpec {
	return cloudsim.VCenterSpec{Datacenters: []cloudsim.DatacenterSpec{{
		Name: "dc", Folder: "emea", Tags: t["dc"],
		Clusters: []cloudsim.ClusterSpec{{
			Name: "cluster", Tags: t["cluster"],
			Hosts: []cloudsim.HostSpec{{Name: "esx", Tags: t["esx"]}},
			Pools: []cloudsim.PoolSpec{{Name: "pool", Tags: t["pool"]}},
		}},
		Folders: []cloudsim.FolderSpec{{Path: "k8s", Tags: t["k8s"]}, {Path: "k8s/prod", Tags: t["prod"]}},
		VMs:     []cloudsim.VMSpec{{Name: "web", Pool: "cluster/pool", Folder: "k8s/prod", Tags: t["web"]}},
	}}}
}

func zone(name string) cloudsim.Tags   { return cloudsim.Tags{"k8s-zone": {name}} }
func region(name string) cloudsim.Tags { return cloudsim.Tags{"k8s-region": {name}} }

func both(z, r string) cloudsim.Tags {
	return cloudsim.Tags{"k8s-zone": {z}, "k8s-region": {r}}
}

// VS-ZONE-1, VS-ZONE-2, VS-ZONE-3: which tags make zone and region.
func TestZones(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason   string
		tags     map[string]cloudsim.Tags
		category [2]string
		want     [2]string
		err      string
	}{
		"none configured": {
			reason: "active only when a category is set",
			tags:   map[string]cloudsim.Tags{"dc": both("z", "r")},
		},
		"one object has both": {
			reason: "the object's own tags are included", category: [2]string{"k8s-zone", "k8s-region"},
			tags: map[string]cloudsim.Tags{"esx": both("z", "r")},
			want: [2]string{"z", "r"},
		},
		"each on another ancestor": {
			reason: "the chain is walked up", category: [2]string{"k8s-zone", "k8s-region"},
			tags: map[string]cloudsim.Tags{"cluster": zone("z"), "dc": region("r")},
			want: [2]string{"z", "r"},
		},
		"near tag wins": {
			reason: "per category, whatever the other one is about", category: [2]string{"k8s-zone", "k8s-region"},
			tags: map[string]cloudsim.Tags{"esx": zone("near"), "cluster": zone("far"), "dc": both("farther", "r")},
			want: [2]string{"near", "r"},
		},
		"host before pool before folder": {
			reason: "chains are tried in order", category: [2]string{"k8s-zone", "k8s-region"},
			tags: map[string]cloudsim.Tags{"dc": zone("z"), "pool": both("pool", "pool"), "web": both("vm", "vm")},
			want: [2]string{"z", "pool"},
		},
		"completed across chains": {
			reason: "a category may be completed on a later chain", category: [2]string{"k8s-zone", "k8s-region"},
			tags: map[string]cloudsim.Tags{"pool": zone("z"), "k8s": region("r")},
			want: [2]string{"z", "r"},
		},
		"nearest folder": {
			reason: "VM, then its folders", category: [2]string{"k8s-zone", "k8s-region"},
			tags: map[string]cloudsim.Tags{"prod": zone("prod"), "k8s": both("k8s", "k8s")},
			want: [2]string{"prod", "k8s"},
		},
		"on the VM": {
			reason: "the VM's own tags are included", category: [2]string{"k8s-zone", "k8s-region"},
			tags: map[string]cloudsim.Tags{"web": both("z", "r"), "prod": both("-", "-")},
			want: [2]string{"z", "r"},
		},
		"on the root folder": {
			reason: "up to the root folder", category: [2]string{"k8s-zone", ""},
			tags: map[string]cloudsim.Tags{"/": zone("z")},
			want: [2]string{"z", ""},
		},
		"zone alone": {
			reason: "one category alone is supported", category: [2]string{"k8s-zone", ""},
			tags: map[string]cloudsim.Tags{"cluster": both("z", "r")},
			want: [2]string{"z", ""},
		},
		"region alone": {
			reason: "one category alone is supported", category: [2]string{"", "k8s-region"},
			tags: map[string]cloudsim.Tags{"cluster": both("z", "r")},
			want: [2]string{"", "r"},
		},
		"one category for both": {
			reason: "nothing forbids it", category: [2]string{"k8s-zone", "k8s-zone"},
			tags: map[string]cloudsim.Tags{"cluster": zone("z")},
			want: [2]string{"z", "z"},
		},
		"other case": {
			reason: "category names are case-sensitive", category: [2]string{"K8S-Zone", "k8s-region"},
			tags: map[string]cloudsim.Tags{"cluster": both("z", "r")},
			err:  "vSphere zone category K8S-Zone does not match any tags for mo",
		},
		"no region": {
			reason: "all chains incomplete is an error", category: [2]string{"k8s-zone", "k8s-region"},
			tags: map[string]cloudsim.Tags{"cluster": zone("z")},
			err:  "vSphere region category k8s-region does not match any tags for mo",
		},
		"several on one object": {
			reason: "the choice must not change from call to call", category: [2]string{"k8s-zone", ""},
			tags: map[string]cloudsim.Tags{"cluster": {"k8s-zone": {"c", "a", "b"}}},
			want: [2]string{"a", ""},
		},
		"value verbatim": {
			reason: "the tag name as it is", category: [2]string{"k8s-zone", ""},
			tags: map[string]cloudsim.Tags{"cluster": zone("Zone A/1 ")},
			want: [2]string{"Zone A/1 ", ""},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := simulate(t, zoned(tc.tags))
			for category, names := range tc.tags["/"] {
				ok(t, v.AttachTag("/", category, names[0]))
			}
			i := watch(t, v, Config{ZoneCategory: tc.category[0], RegionCategory: tc.category[1]})
			zone, region, err := i.Zones(t.Context(), one(t, i, byName("web")))
			if diff := cmp.Diff(tc.want, [2]string{zone, region}); diff != "" {
				t.Errorf("%s: zone and region (-want +got):\n%s", tc.reason, diff)
			}
			if (err != nil) != (tc.err != "") || tc.err != "" && (!refers(err, tc.err) || !errors.Is(err, ErrNoTag)) {
				t.Errorf("%s: error %v, want %q", tc.reason, err, tc.err)
			}
		})
	}
}

// chained is a vCenter with VMs in a pool, in a vApp and on a host without a cluster.
func chained() cloudsim.VCenterSpec {
	return cloudsim.VCenterSpec{Datacenters: []cloudsim.DatacenterSpec{{
		Name: "dc", Folder: "emea",
		Clusters: []cloudsim.ClusterSpec{{
			Name: "cluster", Hosts: []cloudsim.HostSpec{{Name: "esx-1"}, {Name: "esx-2"}},
			Pools: []cloudsim.PoolSpec{{Name: "pool", Pools: []cloudsim.PoolSpec{{Name: "inner"}}}},
			VApps: []cloudsim.PoolSpec{{Name: "vapp"}},
		}},
		Hosts: []cloudsim.HostSpec{{Name: "alone"}},
		VMs: []cloudsim.VMSpec{
			{Name: "pooled", Pool: "cluster/pool/inner", Folder: "k8s/prod", Host: "esx-1"},
			{Name: "in-vapp", Pool: "cluster/vapp", Host: "esx-2"},
			{Name: "plain", Host: "alone"},
		},
	}}}
}

// ways are the ways up from the VMs of chained, by the names of what is on them.
func ways() map[string]struct {
	reason string
	want   []string
} {
	const up = " cluster host dc emea root"

	return map[string]struct {
		reason string
		want   []string
	}{
		"pooled": {"host, pool, folder", []string{
			"esx-1" + up, "inner pool Resources" + up, "VM prod k8s vm dc emea root",
		}},
		"in-vapp": {"the path leads through the vApp", []string{
			"esx-2" + up, "vapp Resources" + up, "VM vapp vm dc emea root",
		}},
		"plain": {"a host outside clusters is a compute resource of its own", []string{
			"alone alone host dc emea root", "Resources alone host dc emea root", "VM vm dc emea root",
		}},
	}
}

// VS-ZONE-2: the three ways up.
func TestChains(t *testing.T) {
	t.Parallel()
	v := simulate(t, chained())
	i := watch(t, v, Config{})
	for name, tc := range ways() {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, chainNames(i, one(t, i, byName(name)))); diff != "" {
				t.Errorf("%s: chains (-want +got):\n%s", tc.reason, diff)
			}
		})
	}

	vm := v.VM("pooled")
	ok(t, vm.Migrate("alone"))
	ok(t, vm.MoveTo("late"))
	want := []string{"alone alone host dc emea root", "Resources alone host dc emea root", "VM late vm dc emea root"}
	eventually(t, func() string {
		return cmp.Diff(want, chainNames(i, one(t, i, byName("pooled"))))
	})
}

func chainNames(i *Inventory, vm *VM) []string {
	chains := i.Chains(vm)
	i.store.mu.RLock()
	defer i.store.mu.RUnlock()

	var out []string
	for _, chain := range chains {
		var names []string
		for _, r := range chain.Refs {
			switch p, ok := i.store.live.tree.ancestors[r]; {
			case ok && p.known:
				names = append(names, p.name)
			case r.Type == typeVM:
				names = append(names, "VM")
			default:
				names = append(names, "root")
			}
		}
		if !chain.Complete {
			names = append(names, "...")
		}
		out = append(out, strings.Join(names, " "))
	}

	return out
}

// VS-ZONE-2, VS-ZONE-3: what is not known is left out, and a missing pool is no
// error. A vApp in a vApp has no folder of its own.
func TestChainsOfIncompleteTrees(t *testing.T) {
	t.Parallel()
	vm := &VM{Ref: machine("vm-1"), Parent: folder("group-v9")}
	i := stored(nil, twoDatacenters())
	want := []Chain{{Refs: []Ref{machine("vm-1"), folder("group-v9")}}}
	if diff := cmp.Diff(want, i.Chains(vm)); diff != "" {
		t.Errorf("chains (-want +got):\n%s", diff)
	}
	nested := stored(nil, append(twoDatacenters(),
		enter("VirtualApp", "inner", "parent", folder("pool"), "parentVApp", Ref{Type: "VirtualApp", Value: "outer"}),
		enter("VirtualApp", "outer", "parent", folder("pool"), "parentFolder", north),
	))
	nested.store.setRoot(folder("group-d1"))
	inside := &VM{Ref: machine("vm-1"), ParentVApp: Ref{Type: "VirtualApp", Value: "inner"}}
	outer, dc := Ref{Type: "VirtualApp", Value: "outer"}, Ref{Type: typeDatacenter, Value: "datacenter-1"}
	want = []Chain{{Refs: []Ref{machine("vm-1"), inside.ParentVApp, outer, north, dc, folder("group-d1")}, Complete: true}}
	if diff := cmp.Diff(want, nested.Chains(inside)); diff != "" {
		t.Errorf("chains in nested vApps (-want +got):\n%s", diff)
	}
	circle := stored(nil, [][]types.ObjectUpdate{
		{enter("Folder", "a", "parent", folder("b")), enter("Folder", "b", "parent", folder("a"))},
	}...)
	vm.Parent = folder("a")
	if got := len(circle.Chains(vm)[0].Refs); got != maxDepth+1 {
		t.Errorf("a chain that is a circle has %d objects, want %d", got, maxDepth+1)
	}
}

// A label is written once and never corrected. So a tag on a farther object does
// not count while a nearer one can be on an object that cannot be read.
func TestUnreadableObjectNeverMakesAFartherZone(t *testing.T) {
	t.Parallel()
	const host, cluster = "/emea/dc/host/cluster/esx", "/emea/dc/host/cluster"
	cases := map[string]struct {
		reason string
		tags   map[string]cloudsim.Tags
		hidden []string
		want   string
		err    string
	}{
		"tag on the cluster and on the datacenter": {
			reason: "the tag of the cluster would count", hidden: []string{host, cluster + "/Resources/pool"},
			tags: map[string]cloudsim.Tags{"cluster": zone("near"), "dc": zone("far")},
			err:  "vSphere zone category k8s-zone: HostSystem host-",
		},
		"no tag anywhere else": {
			reason: "the user must not look for a tag that is there", hidden: []string{host, cluster + "/Resources/pool"},
			tags: map[string]cloudsim.Tags{"cluster": zone("near")},
			err:  "check the permissions",
		},
		"tag on the pool": {
			reason: "the host comes before the pool", hidden: []string{cluster},
			tags: map[string]cloudsim.Tags{"pool": zone("far")},
			err:  "ClusterComputeResource",
		},
		"tag below what is hidden": {
			reason: "nothing above the host can be nearer", hidden: []string{cluster},
			tags: map[string]cloudsim.Tags{"esx": zone("near"), "dc": zone("far")},
			want: "near",
		},
		"later chain is incomplete": {
			reason: "it is not looked at", hidden: []string{cluster + "/Resources/pool", "/emea/dc/vm/k8s"},
			tags: map[string]cloudsim.Tags{"cluster": zone("near")},
			want: "near",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := simulate(t, zoned(tc.tags))
			for _, path := range tc.hidden {
				ok(t, v.SetHidden(path, true))
			}
			check := func(i *Inventory, vm *VM) {
				zone, _, err := i.Zones(t.Context(), vm)
				if zone != tc.want || (err != nil) != (tc.err != "") || errors.Is(err, ErrNoTag) || tc.err != "" && !refers(err, tc.err) {
					t.Errorf("%s: Zones() = %q, %v, want %q, %q; chains %q", tc.reason, zone, err, tc.want, tc.err, chainNames(i, vm))
				}
			}
			i := watch(t, v, Config{ZoneCategory: "k8s-zone"})
			check(i, one(t, i, byName("web")))
			arriving, _ := arrive(t, v, Config{ZoneCategory: "k8s-zone"})
			check(arriving, searched(t, arriving, v.VM("web")))
		})
	}
}

// VS-ZONE-3: without a resource pool the search goes on.
func TestZonesWithoutPool(t *testing.T) {
	t.Parallel()
	v := simulate(t, zoned(map[string]cloudsim.Tags{"pool": zone("pool"), "k8s": zone("folder")}))
	i := watch(t, v, Config{ZoneCategory: "k8s-zone"})
	vm := *one(t, i, byName("web"))
	vm.Pool = Ref{}
	if zone, _, err := i.Zones(t.Context(), &vm); zone != "folder" || err != nil {
		t.Errorf("Zones() = %q, %v, want folder", zone, err)
	}
}

// VS-ZONE-5: a tag that comes or goes is noticed when what is known is old, at
// the cost of one call; a new one that was looked for in vain costs a new list of
// tags.
func TestZonesGrowOld(t *testing.T) {
	t.Parallel()
	v := simulate(t, zoned(map[string]cloudsim.Tags{"cluster": zone("a")}))
	i := watch(t, v, Config{ZoneCategory: "k8s-zone", TagTTL: 50 * time.Millisecond})
	vm := one(t, i, byName("web"))
	expect := func(want string, wantErr error) {
		t.Helper()
		eventually(t, func() string {
			zone, _, err := i.Zones(t.Context(), vm)
			if zone != want || !errors.Is(err, wantErr) {
				return fmt.Sprintf("zone %q, %v, want %q, %v", zone, err, want, wantErr)
			}

			return ""
		})
	}
	expect("a", nil)
	v.Reset()
	ok(t, v.AttachTag("/emea/dc/host/cluster/esx", "k8s-zone", "a"))
	ok(t, v.DetachTag("/emea/dc/host/cluster", "k8s-zone", "a"))
	expect("a", nil)
	if got := calls(v); got["ListCategories"]+got["GetTag"]+got["ListTagsForCategory"] != 0 {
		t.Errorf("names were read again: %v", got)
	}

	ok(t, v.DetachTag("/emea/dc/host/cluster/esx", "k8s-zone", "a"))
	expect("", ErrNoTag)
	ok(t, v.AttachTag("/emea/dc", "k8s-zone", "late")) // not in the list that is known
	expect("late", nil)
}

// A tag that is not there is looked for once per TTL, not for every VM.
func TestMissingTagIsCached(t *testing.T) {
	t.Parallel()
	v := simulate(t, zoned(map[string]cloudsim.Tags{"cluster": zone("a")}))
	i := watch(t, v, Config{ZoneCategory: "k8s-zone", RegionCategory: "k8s-region"})
	vm := one(t, i, byName("web"))
	for range 20 {
		if _, _, err := i.Zones(t.Context(), vm); !errors.Is(err, ErrNoTag) {
			t.Fatalf("Zones() = %v, want no tag", err)
		}
	}
	want := map[string]int{"ListCategories": 1, "GetCategory": 1, "ListTagsForCategory": 1, "ListAttachedObjectsOnTags": 1, "GetTag": 1}
	if diff := cmp.Diff(want, calls(v)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// VS-ZONE-4: when the tag service fails that is an error of its own, also when
// another category is really missing.
func TestTagServiceFailureIsNotAMissingTag(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"ListCategories", "GetCategory", "ListTagsForCategory", "ListAttachedObjectsOnTags", "GetTag", "tags"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			v := simulate(t, zoned(map[string]cloudsim.Tags{"cluster": zone("a")}))
			i := watch(t, v, Config{ZoneCategory: "k8s-zone", RegionCategory: "k8s-region", TagErrorTTL: time.Nanosecond, TagRetryDelay: time.Millisecond})
			vm := one(t, i, byName("web"))
			broken := v.Inject(op, simserver.Always(), simserver.Status(http.StatusServiceUnavailable))
			if _, _, err := i.Zones(t.Context(), vm); err == nil || errors.Is(err, ErrNoTag) || !refers(err, "503") {
				t.Errorf("Zones() = %v, want the failure", err)
			}
			broken.Remove()
			if _, _, err := i.Zones(t.Context(), vm); !errors.Is(err, ErrNoTag) {
				t.Errorf("Zones() = %v, want no tag: a failure must not be cached for long", err)
			}
		})
	}
}

// VS-SESSION-5: when the tag service hangs, one query waits for all that come
// soon after.
func TestHangingTagServiceIsCached(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"ListCategories", "GetCategory", "ListTagsForCategory", "ListAttachedObjectsOnTags", "GetTag"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			v := simulate(t, zoned(map[string]cloudsim.Tags{"cluster": zone("a")}))
			i := watch(t, v, Config{ZoneCategory: "k8s-zone", CallTimeout: 4 * time.Second, TagErrorTTL: time.Hour})
			vm := one(t, i, byName("web"))
			hold := simserver.NewHold()
			defer hold.Release()
			v.Inject(op, simserver.Always(), hold.Before)
			if _, _, err := i.Zones(t.Context(), vm); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrNoTag) {
				t.Errorf("Zones() = %v, want the deadline", err)
			}
			before := calls(v)
			for range 10 {
				if _, _, err := i.Zones(t.Context(), vm); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Zones() = %v, want the deadline", err)
				}
			}
			if diff := cmp.Diff(before, calls(v)); diff != "" {
				t.Errorf("queried again (-before +after):\n%s", diff)
			}
		})
	}
}
