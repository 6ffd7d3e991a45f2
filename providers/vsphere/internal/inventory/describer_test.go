package inventory

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	clocktesting "k8s.io/utils/clock/testing"

	cloudsim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// shuffled returns the VMs of a vCenter in any order, as Nodes are updated.
func shuffled(v *cloudsim.VCenter) []*cloudsim.VM {
	vms := v.VMs()
	rand.Shuffle(len(vms), func(a, b int) { vms[a], vms[b] = vms[b], vms[a] })

	return vms
}

// The details of the VMs of all Nodes cost a call for each thousand of them, at the
// start, after two smaller ones, and for each update.
func TestDetailsOfManyVMsCostACallForEachThousand(t *testing.T) {
	t.Parallel()
	now := clocktesting.NewFakePassiveClock(time.Now())
	v, i := fleet(t, 2000, Config{Clock: now})
	for round, want := range []int{4, 2, 2} {
		for _, vm := range shuffled(v) {
			details, err := i.Details(t.Context(), one(t, i, byID(vm.UUID())))
			if err != nil || details.NumCPU != 2 {
				t.Fatalf("round %d, Details(%s) = %+v, %v", round, vm.Name(), details, err)
			}
		}
		if diff := cmp.Diff(map[string]int{"RetrieveProperties": want}, calls(v)); diff != "" {
			t.Errorf("calls of round %d (-want +got):\n%s", round, diff)
		}
		v.Reset()
		now.SetTime(now.Now().Add(5 * time.Minute))
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
		if got := calls(v)["RetrieveProperties"]; got > 6 {
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
		if got, want := client.calls.Load(), int64(time.Since(begun)/(13200*time.Millisecond)); got < want {
			t.Errorf("%d calls, want %d", got, want)
		}
	})
}

// hangingClient makes calls that never return.
type hangingClient struct{ calls atomic.Int64 }

func (c *hangingClient) SOAP(ctx context.Context, _ func(context.Context, *vim25.Client) error) error {
	c.calls.Add(1)
	<-ctx.Done()

	return ctx.Err()
}

func (c *hangingClient) REST(ctx context.Context, _ func(context.Context, *rest.Client) error) error {
	<-ctx.Done()

	return ctx.Err()
}
