package inventory

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/front"
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

// The details of the VMs of all Nodes cost one call, whether they are asked for at
// once or one after the other.
func TestDetailsOfManyVMsCostOneCall(t *testing.T) {
	t.Parallel()
	v, i := fleet(t, 200, Config{DetailsTTL: time.Hour})
	var all sync.WaitGroup
	for n, vm := range v.VMs() {
		read := func() {
			details, err := i.Details(t.Context(), one(t, i, byID(vm.UUID())))
			if err != nil || details.NumCPU != 2 {
				t.Errorf("Details(%s) = %+v, %v", vm.Name(), details, err)
			}
		}
		if n%2 == 0 {
			all.Go(read)
		} else {
			read()
		}
	}
	all.Wait()
	if diff := cmp.Diff(map[string]int{"RetrievePropertiesEx": 1}, calls(v)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// A change of an address is in the details once their TTL is over, and a change
// that the feed reports of the VM makes them useless at once.
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

// A VM that is deleted while the details of many are read fails alone.
func TestDetailsOfDeletedVM(t *testing.T) {
	t.Parallel()
	v, i := fleet(t, 3, Config{})
	gone, stays := one(t, i, byID(v.VMs()[0].UUID())), one(t, i, byID(v.VMs()[1].UUID()))
	i.cfg.Wanted = func() []Query { return nil }
	ok(t, v.VMs()[0].Destroy())
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := i.Details(t.Context(), gone); !refers(err, "already been deleted") || !errors.Is(err, apierr.ErrUnavailable) {
			t.Errorf("Details of the deleted VM: %v", err)
		}
	})
	all.Go(func() {
		if _, err := i.Details(t.Context(), stays); err != nil {
			t.Errorf("Details of the other VM: %v", err)
		}
	})
	all.Wait()
}

// A failure to read details is an error for everybody for a while, so that many
// Nodes do not wait for a vCenter that does not respond one after the other.
func TestFailedDetailsAreShared(t *testing.T) {
	t.Parallel()
	v, i := fleet(t, 5, Config{DetailsErrorTTL: time.Hour})
	v.Break("RetrievePropertiesEx", front.Always(), cloudsim.Fault(&types.NoPermission{}))
	for _, vm := range v.VMs() {
		if _, err := i.Details(t.Context(), one(t, i, byID(vm.UUID()))); !refers(err, "NoPermission") {
			t.Errorf("Details(%s): %v, want NoPermission", vm.Name(), err)
		}
	}
	if diff := cmp.Diff(map[string]int{"RetrievePropertiesEx": 1}, calls(v)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
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
	v.Break("RetrievePropertiesEx", front.First(1), cloudsim.Fault(&types.InvalidProperty{Name: extraConfig(metadataKey)}))
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
		details := describe(ctx, types.ObjectContent{Obj: machine("vm-1"), PropSet: []types.DynamicProperty{{
			Name: extraConfig(metadataKey), Val: types.OptionValue{Key: metadataKey, Value: strings.Repeat("a", size)},
		}}})
		if got := len(details.Metadata); got != want {
			t.Errorf("%d bytes of %d are kept, want %d", got, size, want)
		}
	}
	if len(lines) != 1 || !strings.Contains(lines[0], `"ref"="vm-1"`) || !strings.Contains(lines[0], `"bytes"=65537`) {
		t.Errorf("logged %q, want one line about vm-1", lines)
	}
}
