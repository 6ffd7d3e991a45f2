package vsphere

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// TestOneVCenterInTwoSections: by name and by address, as files of other controllers
// have it.
func TestOneVCenterInTwoSections(t *testing.T) {
	t.Parallel()
	fleet := newFixture(t, "", pair("vc")).fleet
	for name, datacenters := range map[string][2]string{
		"Whole":      {"", ""},
		"Datacenter": {"datacenters = other-dc\n", "datacenters = dc\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vc := fleet.VCenter("vc")
			b := fixture{t: t, fleet: fleet, cloud: connect(t, fmt.Sprintf("[Global]\nuser = %q\npassword = %q\n", vc.User(), vc.Password())+
				section("by-address", vc)+datacenters[0]+section("by-name", vc)+datacenters[1])}
			var out bytes.Buffer
			ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&out))))
			node := nodeOf(fleet.VM("node-1"))
			b.awaitInventories()
			b.eventually("the VM is found once", func() error {
				exists, err := b.instances.InstanceExists(ctx, node)
				if err == nil && !exists {
					err = errors.New("it does not exist")
				}

				return err
			})
			b.describe(node)
			if _, err := b.instances.InstanceExists(ctx, node); err != nil {
				t.Error(err)
			}
			want := 1
			if name == "Datacenter" {
				want = 0 // no VM is found twice
			}
			if n := strings.Count(out.String(), `section="by-address" otherSection="by-name"`); n != want {
				t.Errorf("%d warnings, want %d:\n%s", n, want, out.String())
			}
		})
	}
}

// TestCopiesOfAVM (VS-NODE-4): Fault Tolerance, replicas and restored copies
// share the UUID of a Node's VM. Known means that the controller saw the VM
// before the copy was made; restarted, that it did not.
func TestCopiesOfAVM(t *testing.T) {
	t.Parallel()
	type world struct{ vm, other *sim.VM }
	const yes, no, unclear = "true", "false", "error"
	both := func(world) error { return nil }
	cases := map[string]struct {
		reason             string
		make               func(vm *sim.VM) (*sim.VM, error)
		happen             func(w world) error
		exists, shutdown   string // known
		exists2, shutdown2 string // restarted
	}{
		"FaultTolerance":         {"the secondary is none", (*sim.VM).AddSecondary, both, yes, no, yes, no},
		"FaultToleranceFailover": {"the secondary took over", (*sim.VM).AddSecondary, func(w world) error { return w.vm.FailOver(w.other) }, yes, no, yes, no},
		"CopyStartedForATest": {
			"both report the host name, one has the address of the Node", func(vm *sim.VM) (*sim.VM, error) {
				other, err := clone(vm)

				return other, errors.Join(err, other.SetNICs(sim.NIC{IPs: []string{"10.7.7.7"}}))
			}, both, yes, no, yes, no,
		},
		"CopyOff": {"only one reports a host name", clone, func(w world) error { return w.other.PowerOff() }, yes, no, yes, no},
		"CopyOffKeepsItsName": {
			"both report the host name, and one runs", clone,
			func(w world) error { return errors.Join(w.other.KeepHostname(), w.other.PowerOff()) }, yes, no, yes, no,
		},
		"BothOff": {
			"whichever it is, it is off", clone,
			func(w world) error { return errors.Join(w.other.PowerOff(), w.vm.PowerOff()) }, yes, yes, yes, yes,
		},
		"BothOffKeepNames": {
			"whichever it is, it is off", clone, func(w world) error {
				return errors.Join(w.other.KeepHostname(), w.vm.KeepHostname(), w.other.PowerOff(), w.vm.PowerOff())
			}, yes, yes, yes, yes,
		},
		"VMDeletedCopyLeft": {
			"the copy is not the machine of the Node; after a restart it could be",
			clone, func(w world) error { return errors.Join(w.other.PowerOff(), w.vm.Destroy()) }, no, no, yes, yes,
		},
		"VMDeletedCopyRuns": {"the copy was put in its place", clone, func(w world) error { return w.vm.Destroy() }, yes, no, yes, no},
		"TemplateLeft": {
			"a template never runs", clone, func(w world) error {
				return errors.Join(w.other.PowerOff(), w.other.SetTemplate(true), w.vm.Destroy())
			}, no, no, no, no,
		},
		"StrangersClone": {
			"two of the copies run, and neither is known by its address", func(vm *sim.VM) (*sim.VM, error) {
				other, err := clone(vm)

				return other, errors.Join(err, vm.SetNICs(sim.NIC{IPs: []string{"10.7.7.7"}}), other.SetNICs(sim.NIC{IPs: []string{"10.7.7.8"}}))
			}, both, yes, no, unclear, unclear,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, "", pair("vc"))
			node := nodeOf(b.fleet.VM("node-1"))
			b.knowAddress(node, "10.0.0.1")
			b.wantExists(node, true)
			b.wantExists(nodeOf(b.fleet.VM("node-2")), true)
			b.eventually("it is known that the VM runs", func() error {
				_, err := b.instances.InstanceShutdown(t.Context(), node)

				return err
			})
			vm := b.fleet.VM("node-1")
			other, err := tc.make(vm)
			if err != nil {
				t.Fatal(err)
			}
			b.awaitKnown(other)
			if err := tc.happen(world{vm, other}); err != nil {
				t.Fatal(err)
			}
			b.wantResult(tc.reason+" (known)", node, tc.exists, tc.shutdown)
			after := b.restart()
			after.knowAddress(node, "10.0.0.1")
			after.eventually("evidence", func() error {
				_, err := after.instances.InstanceExists(t.Context(), nodeOf(after.fleet.VM("node-2")))

				return err
			})
			after.wantResult(tc.reason+" (restarted)", node, tc.exists2, tc.shutdown2)
		})
	}
}

func clone(vm *sim.VM) (*sim.VM, error) { return vm.Clone("copy") }

// knowAddress passes a Node with an address to the source.
func (b fixture) knowAddress(node *v1.Node, ip string) {
	b.t.Helper()
	node = node.DeepCopy()
	node.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: ip}}
	b.know(node)
}

// awaitKnown waits until the inventory has a VM, and Lookups have seen it.
func (b fixture) awaitKnown(vm *sim.VM) {
	b.t.Helper()
	vcenters, err := b.current()
	if err != nil {
		b.t.Fatal(err)
	}
	before := vcenters[0].Inventory.Status().VMs
	b.eventually("the copy is known", func() error {
		if n := vcenters[0].Inventory.Status().VMs; n < 3 {
			return fmt.Errorf("%d VMs, %d before, want %s as well", n, before, vm.Name())
		}

		return nil
	})
	b.source.Lookup(b.t.Context(), instance.Ref{ProviderID: id(vm), NodeName: "node-1"})
}

// wantResult waits for the results for a Node.
func (b fixture) wantResult(reason string, node *v1.Node, exists, shutdown string) {
	b.t.Helper()
	text := func(value bool, err error) string {
		if err != nil {
			return "error"
		}

		return fmt.Sprint(value)
	}
	b.eventually(reason, func() error {
		e, errExists := b.instances.InstanceExists(b.t.Context(), node)
		s, errShutdown := b.instances.InstanceShutdown(b.t.Context(), node)
		if text(e, errExists) != exists || text(s, errShutdown) != shutdown {
			return fmt.Errorf("exists %t, %w; shutdown %t, %w; want %s and %s", e, errExists, s, errShutdown, exists, shutdown)
		}

		return nil
	})
}

// TestNodeIsNotInitializedByAGuess: of several VMs that are off, any proves that
// the Node is shut down, but not what the Node is.
func TestNodeIsNotInitializedByAGuess(t *testing.T) {
	t.Parallel()
	b := newFixture(t, "", one(sim.VMSpec{Name: "node-1", Power: sim.Off}))
	vm := b.fleet.VM("node-1")
	if _, err := vm.Clone("copy"); err != nil {
		t.Fatal(err)
	}
	err := b.wantError(kubetest.Node("node-1", kubetest.Tainted(), kubetest.ProviderID(id(vm))), "2 VMs fit")
	if got := instance.ReasonOf(err); got != instance.ReasonAmbiguousInstance {
		t.Errorf("reason %q, want %q", got, instance.ReasonAmbiguousInstance)
	}
}
