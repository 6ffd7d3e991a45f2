package inventory

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	cloudsim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// shuffled returns the VMs of a vCenter in any order, as Nodes are updated.
func shuffled(v *cloudsim.VCenter) []*cloudsim.VM {
	vms := v.VMs()
	rand.Shuffle(len(vms), func(a, b int) { vms[a], vms[b] = vms[b], vms[a] })

	return vms
}

// The details of the VMs of all Nodes cost a call for each hundred of them, at the
// start and for each update.
func TestDetailsOfManyVMsCostACallForEachHundred(t *testing.T) {
	t.Parallel()
	now := clocktesting.NewFakePassiveClock(time.Now())
	v, i := fleet(t, 300, Config{Clock: now})
	for round := range 3 {
		for _, vm := range shuffled(v) {
			details, err := i.Details(t.Context(), one(t, i, byID(vm.UUID())))
			if err != nil || details.NumCPU != 2 {
				t.Fatalf("round %d, Details(%s) = %+v, %v", round, vm.Name(), details, err)
			}
		}
		if diff := cmp.Diff(map[string]int{"RetrievePropertiesEx": 3}, calls(v)); diff != "" {
			t.Errorf("calls of round %d (-want +got):\n%s", round, diff)
		}
		v.Reset()
		now.SetTime(now.Now().Add(5 * time.Minute))
	}
}

// Nodes that wait for each other's calls, as after an outage, take no more of them.
func TestDetailsAtOnce(t *testing.T) {
	t.Parallel()
	v, i := fleet(t, 200, Config{DetailsTTL: time.Hour})
	errs := make(chan error)
	for _, vm := range v.VMs() {
		found := one(t, i, byID(vm.UUID()))
		go func() {
			_, err := i.Details(t.Context(), found)
			errs <- err
		}()
	}
	for range v.VMs() {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if got := calls(v)["RetrievePropertiesEx"]; got > 4 {
		t.Errorf("%d calls, want 4 at most", got)
	}
}

// An account that has a role on its datacenter alone cannot read the second page of
// anything.
func TestDetailsWithoutRoleOnRootFolder(t *testing.T) {
	t.Parallel()
	v := simulate(t, cloudsim.VCenterSpec{Datacenters: []cloudsim.DatacenterSpec{
		{Name: "dc", VMs: cloudsim.Fleet("vm", 150)}, {Name: "other"},
	}})
	ok(t, v.SetHidden("/", true))
	ok(t, v.SetHidden("/other", true))
	var wanted []Query
	for _, vm := range v.VMs() {
		wanted = append(wanted, byID(vm.UUID()))
	}
	i := watch(t, v, Config{Datacenters: []string{"dc"}, Wanted: func() []Query { return wanted }})
	for _, q := range wanted {
		if _, err := i.Details(t.Context(), one(t, i, q)); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(map[string]int{"RetrievePropertiesEx": 2}, calls(v)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// A failure is an error for all VMs of the call for a while, so that many Nodes do
// not wait one after the other for a vCenter that does not respond. It is not an
// error for others.
func TestFailedDetailsAreSharedWithinACall(t *testing.T) {
	t.Parallel()
	v, i := fleet(t, 150, Config{DetailsErrorTTL: time.Hour})
	v.Inject("RetrievePropertiesEx", simserver.First(1), cloudsim.Fault(&types.NoPermission{}))
	failed := 0
	for _, vm := range shuffled(v) {
		_, err := i.Details(t.Context(), one(t, i, byID(vm.UUID())))
		switch {
		case refers(err, "NoPermission"):
			failed++
		case err != nil:
			t.Errorf("Details(%s): %v", vm.Name(), err)
		}
	}
	if failed != 100 {
		t.Errorf("%d VMs failed, want 100", failed)
	}
	if diff := cmp.Diff(map[string]int{"RetrievePropertiesEx": 2}, calls(v)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// slowly runs a test of a vCenter with n VMs in simulated time. The test gets an
// inventory that reads the details of all of them.
func slowly(t *testing.T, n int, test func(t *testing.T, v *cloudsim.VCenter, i *Inventory)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := simulate(t, cloudsim.VCenterSpec{
			InMemory: true, Datacenters: []cloudsim.DatacenterSpec{{Name: "dc", VMs: cloudsim.Fleet("vm", n)}},
		})
		i, _ := run(t, newClientVia(t, v, v.Dial), Config{Wanted: func() []Query {
			var all []Query
			for _, vm := range v.VMs() {
				all = append(all, byID(vm.UUID()))
			}

			return all
		}})
		waitSynced(t, i)
		v.Reset()
		test(t, v, i)
	})
}

// attempt describes a VM with the patience of an attempt to describe a Node.
func attempt(t *testing.T, i *Inventory, vm *VM) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
	defer cancel()
	_, err := i.Details(ctx, vm)

	return err
}

// A Node that joins does not have the VMs of all others read again: its vCenter may
// be too slow for that.
func TestVMJoinsSlowVCenter(t *testing.T) {
	slowly(t, 50, func(t *testing.T, v *cloudsim.VCenter, i *Inventory) {
		for _, vm := range v.VMs() {
			ok(t, attempt(t, i, one(t, i, byID(vm.UUID()))))
		}
		v.SetReadTime(time.Second)
		joining, err := v.AddVM("dc", cloudsim.VMSpec{Name: "joining"})
		ok(t, err)
		time.Sleep(time.Minute)
		if err := attempt(t, i, one(t, i, byID(joining.UUID()))); err != nil {
			t.Error(err)
		}
	})
}

// Reads that take too long get smaller, until all VMs are read.
func TestSlowReadsGetSmaller(t *testing.T) {
	slowly(t, 100, func(t *testing.T, v *cloudsim.VCenter, i *Inventory) {
		v.SetReadTime(200 * time.Millisecond) // 20 s for all of them
		begun, left := time.Now(), v.VMs()
		for len(left) > 0 && time.Since(begun) < 2*time.Minute {
			if err := attempt(t, i, one(t, i, byID(left[0].UUID()))); err != nil {
				time.Sleep(5 * time.Second)

				continue
			}
			left = left[1:]
		}
		if len(left) > 0 {
			t.Errorf("%d VMs are not described after two minutes", len(left))
		}
		v.SetReadTime(0)
		time.Sleep(5 * time.Minute)
		v.Reset()
		for range 2 {
			for _, vm := range shuffled(v) {
				ok(t, attempt(t, i, one(t, i, byID(vm.UUID()))))
			}
			time.Sleep(5 * time.Minute)
		}
		if got := calls(v)["RetrievePropertiesEx"]; got > 6 {
			t.Errorf("%d calls for two updates once the vCenter is fast again, want 6 at most", got)
		}
	})
}

// A caller that leaves does not make an error for others.
func TestCallerOfDetailsLeaves(t *testing.T) {
	slowly(t, 2, func(t *testing.T, v *cloudsim.VCenter, i *Inventory) {
		vm := one(t, i, byID(v.VMs()[0].UUID()))
		v.SetReadTime(2 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := i.Details(ctx, vm); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the caller that leaves: %v", err)
		}
		v.SetReadTime(0)
		if err := attempt(t, i, vm); err != nil {
			t.Errorf("the next caller: %v", err)
		}
	})
}

// A vCenter that hangs is an error of its own to every attempt, and the next attempt
// makes a call of its own soon.
func TestHangingDetailsEndBeforeTheAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := &hangingClient{}
		i := New(client, Config{})
		begun := time.Now()
		for time.Since(begun) < 10*time.Minute {
			ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
			_, err := i.Details(ctx, &VM{Ref: machine("vm-1")})
			if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("after %v: %v, and the attempt: %v", time.Since(begun), err, ctx.Err())
			}
			cancel()
			time.Sleep(6 * time.Second)
		}
		if got, want := client.soap.Load(), int64(time.Since(begun)/(13200*time.Millisecond)); got < want {
			t.Errorf("%d calls, want %d", got, want)
		}
	})
}
