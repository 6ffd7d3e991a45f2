package inventory

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	cloudsim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// fleet is a vCenter with n VMs, and an inventory of it that wants the details of
// all of them.
func fleet(t *testing.T, n int, cfg Config) (*cloudsim.VCenter, *Inventory) {
	t.Helper()
	v := simulate(t, cloudsim.VCenterSpec{Datacenters: []cloudsim.DatacenterSpec{{Name: "dc", VMs: cloudsim.Fleet("vm", n)}}})
	cfg.Wanted = func() []Query {
		var all []Query
		for _, vm := range v.VMs() {
			all = append(all, byID(vm.UUID()))
		}

		return all
	}

	return v, watch(t, v, cfg)
}

// A change of an address is in the details once their TTL is over, and a change
// that the feed reports of the VM invalidates them at once.
func TestDetailsAreFresh(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		ttl    time.Duration
		change func(vm *cloudsim.VM) error
	}{
		"another address of the guest": {time.Nanosecond, func(vm *cloudsim.VM) error {
			return vm.SetNICs(cloudsim.NIC{IPs: []string{"10.0.0.1", "10.0.0.9"}})
		}},
		"another main address": {time.Hour, func(vm *cloudsim.VM) error {
			return vm.SetNICs(cloudsim.NIC{IPs: []string{"10.0.0.9"}})
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, i := fleet(t, 2, Config{DetailsTTL: tc.ttl})
			vm := v.VMs()[0]
			ok(t, vm.SetNICs(cloudsim.NIC{IPs: []string{"10.0.0.1"}}))
			has := func(ip string) string {
				details, err := i.Details(t.Context(), one(t, i, byID(vm.UUID())))
				if err != nil {
					return err.Error()
				}
				if got := strings.Join(details.NICs[0].IPs, " "); !strings.HasSuffix(got, ip) {
					return "addresses are " + got + ", want " + ip
				}

				return ""
			}
			eventually(t, func() string { return has("10.0.0.1") })
			ok(t, tc.change(vm))
			eventually(t, func() string { return has("10.0.0.9") })
		})
	}
}

// VMs that are deleted while the details of many are read fail alone, also all of a host.
func TestDetailsOfDeletedVMs(t *testing.T) {
	t.Parallel()
	const deleted = 20
	v, i := fleet(t, deleted+1, Config{})
	found := lists.Map(v.VMs(), func(vm *cloudsim.VM) *VM { return one(t, i, byID(vm.UUID())) })
	i.cfg.Wanted = func() []Query { return nil }
	for _, vm := range v.VMs()[:deleted] {
		ok(t, vm.Destroy())
	}
	var all sync.WaitGroup
	for _, gone := range found[:deleted] {
		all.Go(func() {
			if _, err := i.Details(t.Context(), gone); !refers(err, "already been deleted") || !errors.Is(err, apierr.ErrUnavailable) {
				t.Errorf("Details of a deleted VM: %v", err)
			}
		})
	}
	all.Go(func() {
		if _, err := i.Details(t.Context(), found[deleted]); err != nil {
			t.Errorf("Details of the other VM: %v", err)
		}
	})
	all.Wait()
}

// What cannot be read is not taken for something that is not set: labels are written
// once. Metadata that the account may not read is left out instead.
func TestUnreadableDetails(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason      string
		fault       types.BaseMethodFault
		path        string
		err         string
		unreadable  bool // whether the metadata is left out
		wholeObject bool
	}{
		"hardware":            {reason: "the instance type", fault: &types.SystemError{}, path: "summary.config.numCpu", err: "read property summary.config.numCpu: "},
		"interfaces":          {reason: "the addresses", fault: &types.NoPermission{}, path: "guest.net", err: "read property guest.net: "},
		"UUID":                {reason: "the identity", fault: &types.SystemError{}, path: "summary.config.uuid", err: "read property summary.config.uuid: "},
		"metadata":            {reason: "the order of addresses", fault: &types.SystemError{}, path: extraConfig(metadataKey), err: "read property config.extraConfig"},
		"denied metadata":     {reason: "a permission that Nodes do without", fault: &types.NoPermission{}, path: extraConfig(metadataKey), unreadable: true},
		"the VM":              {reason: "everything", fault: &types.NoPermission{}, wholeObject: true, err: "read property "},
		"nothing that counts": {reason: "another property", fault: &types.SystemError{}, path: "config.annotation"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, i := fleet(t, 2, Config{})
			paths := []string{tc.path}
			if tc.wholeObject {
				paths = nil
			}
			vm, other := one(t, i, byID(v.VMs()[0].UUID())), one(t, i, byID(v.VMs()[1].UUID()))
			v.SetUnreadable(vm.Ref, tc.fault, paths...)
			details, err := i.Details(t.Context(), vm)
			if tc.err == "" && err != nil || tc.err != "" && !refers(err, tc.err) {
				t.Errorf("%s: error %v, want %q", tc.reason, err, tc.err)
			}
			if err == nil && (details.Metadata.Err != nil) != tc.unreadable {
				t.Errorf("%s: the metadata has error %v", tc.reason, details.Metadata.Err)
			}
			if _, err := i.Details(t.Context(), other); err != nil {
				t.Errorf("%s: error of another VM: %v", tc.reason, err)
			}
		})
	}
}

// Details without a UUID can be those of another VM.
func TestDetailsWithoutUUID(t *testing.T) {
	t.Parallel()
	v, i := fleet(t, 1, Config{})
	vm := one(t, i, byID(v.VMs()[0].UUID()))
	ok(t, v.VMs()[0].HideConfig(true))
	if details, err := i.Details(t.Context(), vm); !errors.Is(err, errNoUUID) {
		t.Errorf("Details = %+v, %v, want an error", details, err)
	}
}

// A managed object reference can be another VM after vCenter was restored: its
// addresses belong to no Node.
func TestDetailsOfAnotherVM(t *testing.T) {
	t.Parallel()
	v, i := fleet(t, 2, Config{})
	vm := *one(t, i, byID(v.VMs()[0].UUID()))
	vm.Ref = one(t, i, byID(v.VMs()[1].UUID())).Ref
	if details, err := i.Details(t.Context(), &vm); err == nil || !refers(err, "its UUID is") {
		t.Errorf("Details = %+v, %v, want an error", details, err)
	}
}

// A vCenter that does not take the paths of guestinfo is read without them.
func TestDoesWithoutMetadata(t *testing.T) {
	t.Parallel()
	v, i := fleet(t, 1, Config{})
	v.Inject("RetrieveProperties", simserver.First(1), cloudsim.Fault(&types.InvalidProperty{Name: extraConfig(metadataKey)}))
	if _, err := i.Details(t.Context(), one(t, i, byID(v.VMs()[0].UUID()))); err != nil {
		t.Error(err)
	}
	for _, path := range i.detailPaths() {
		if strings.HasPrefix(path, "config.") {
			t.Errorf("still reads %s", path)
		}
	}
}

// Metadata that is too long is not kept.
func TestLongMetadataIsDropped(t *testing.T) {
	t.Parallel()
	var lines []string
	log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{Verbosity: 2})
	ctx := klog.NewContext(t.Context(), log)
	for size, want := range map[int]int{maxMetadata: maxMetadata, maxMetadata + 1: 0} {
		details, err := describe(ctx, types.ObjectContent{Obj: machine("vm-1"), PropSet: []types.DynamicProperty{{
			Name: extraConfig(metadataKey), Val: types.OptionValue{Key: metadataKey, Value: strings.Repeat("a", size)},
		}}})
		ok(t, err)
		if got := len(details.Metadata.Text); got != want {
			t.Errorf("%d bytes of %d are kept, want %d", got, size, want)
		}
	}
	if len(lines) != 1 || !strings.Contains(lines[0], `"ref"="vm-1"`) || !strings.Contains(lines[0], `"bytes"=65537`) {
		t.Errorf("logged %q, want one line about vm-1", lines)
	}
}
