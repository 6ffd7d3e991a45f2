package vsphere

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/nodeindex"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nodes"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// know passes the Nodes of the cluster to the source.
func (b fixture) know(nodes ...*v1.Node) {
	b.t.Helper()
	known, index := newNodes(b.t)
	for _, node := range nodes {
		if err := known.Add(node); err != nil {
			b.t.Fatal(err)
		}
	}
	b.source.SetNodes(index)
}

// newNodes returns the store of an informer of Nodes that has none, and the index of
// the provider on it.
func newNodes(t testing.TB) (cache.Indexer, *nodeindex.Index) {
	t.Helper()
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{}, &v1.Node{}, 0, cache.Indexers{})
	index, err := nodes.IndexNodes(informer)
	if err != nil {
		t.Fatal(err)
	}

	return informer.GetIndexer(), index
}

// initialize returns an uninitialized Node as the framework leaves it, not ready.
func (b fixture) initialize(node *v1.Node) *v1.Node {
	b.t.Helper()
	metadata := b.describe(node)
	node = node.DeepCopy()
	node.Spec.Taints = nil
	node.Spec.ProviderID = metadata.ProviderID
	maps.Copy(node.Labels, metadata.AdditionalLabels)

	return node
}

// newPlaces is vCenter a with one VM and vCenter b with two.
func newPlaces(t *testing.T) fixture {
	t.Helper()
	vm := func(name, ip string) sim.VMSpec { return sim.VMSpec{Name: name, NICs: []sim.NIC{{IPs: []string{ip}}}} }
	vcenter := func(name string, vms ...sim.VMSpec) sim.VCenterSpec {
		return sim.VCenterSpec{Name: name, Datacenters: []sim.DatacenterSpec{{Name: "dc", VMs: vms}}}
	}

	return newFixture(t, "", vcenter("a", vm("node-a", "10.0.0.1")), vcenter("b", vm("node-b", "10.0.0.2"), vm("node-c", "10.0.0.3")))
}

// TestRestartKeepsNodesOfAVCenterWithoutTheirVMs: a new process reads from the labels
// of the Nodes in which vCenter their VMs were.
func TestRestartKeepsNodesOfAVCenterWithoutTheirVMs(t *testing.T) {
	t.Parallel()
	const other = "11111111-2222-4333-8444-555555555555"
	cases := map[string]struct {
		reason  string
		replace func(b fixture)
		section string // of the cloud-config that is removed
		event   string
		after   bool // whether the Node exists once the VM of the other is back
	}{
		"Restored": {"from a backup without the VMs", func(fixture) {}, "", "NoInstanceFound", false},
		"AnotherVCenter": {
			"the address leads to another one", func(b fixture) { b.fleet.VCenter("b").SetInstanceUUID(other) }, "", "UnknownVCenter", true,
		},
		"NotConfigured": {"the section was removed", func(fixture) {}, "b", "UnknownVCenter", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newPlaces(t)
			var nodes []*v1.Node
			for _, name := range []string{"node-a", "node-b", "node-c"} {
				nodes = append(nodes, b.initialize(kubetest.Node(name, kubetest.Tainted(), kubetest.NotReady(), old)))
			}
			vc, lost, found, returns := b.fleet.VCenter("b"), nodes[1], nodes[2], b.fleet.VM("node-c")
			vc.Down()
			if err := vc.Restore(b.fleet.VM("node-b"), returns); err != nil {
				t.Fatal(err)
			}
			tc.replace(b)
			if err := vc.Up(); err != nil {
				t.Fatal(err)
			}
			if tc.section != "" {
				b.text, _, _ = strings.Cut(b.text, section(vc.Name(), vc))
			}
			b = b.restart()
			b.know(nodes...)
			events := record.NewFakeRecorder(1000)
			b.instances.SetRecorder(events)
			b.wantExists(nodes[0], true) // evidence
			b.awaitMissing(lost)
			b.wantKept(lost)
			b.wantEvent(events, tc.event)
			if err := returns.Register(); err != nil {
				t.Fatal(err)
			}
			if tc.section == "" {
				b.describe(found)
			}
			if tc.after {
				b.wantKept(lost)
			}
			b.wantExists(lost, tc.after)
		})
	}
}

// wantEvent waits for a warning.
func (b fixture) wantEvent(events *record.FakeRecorder, reason string) {
	b.t.Helper()
	deadline := time.After(5 * time.Minute)
	for {
		select {
		case event := <-events.Events:
			if strings.HasPrefix(event, "Warning "+reason) {
				return
			}
			b.t.Logf("%s", event)
		case <-deadline:
			b.t.Fatalf("no Event %s", reason)
		}
	}
}

// TestRestartDeletesNodesOfDeletedVMs: the labels keep no Node of a vCenter that has
// the VM of another one, and none of a Node that has no label.
func TestRestartDeletesNodesOfDeletedVMs(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason    string
		destroyed []string
		labeled   bool
	}{
		"Deleted":   {"the vCenter has the VM of node-c", []string{"node-b"}, true},
		"Unlabeled": {"it is not known which vCenter had the VMs", []string{"node-b", "node-c"}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newPlaces(t)
			var nodes []*v1.Node
			for _, name := range []string{"node-a", "node-b", "node-c"} {
				node := b.initialize(kubetest.Node(name, kubetest.Tainted(), kubetest.NotReady(), old))
				if !tc.labeled {
					delete(node.Labels, labelVCenter)
				}
				nodes = append(nodes, node)
			}
			for _, name := range tc.destroyed {
				if err := b.fleet.VM(name).Destroy(); err != nil {
					t.Fatal(err)
				}
			}
			b = b.restart()
			b.know(nodes...)
			for i, node := range nodes {
				if i == 0 || len(tc.destroyed) == 1 && i == 2 {
					b.wantExists(node, true)
				}
			}
			b.wantExists(nodes[1], false)
		})
	}
}

// TestOneVCenterInTwoSectionsIsProvenByEither: the section that has no VM of a Node
// keeps no Node of the other one.
func TestOneVCenterInTwoSectionsIsProvenByEither(t *testing.T) {
	t.Parallel()
	vm := func(name, ip string) sim.VMSpec { return sim.VMSpec{Name: name, NICs: []sim.NIC{{IPs: []string{ip}}}} }
	b := newFixture(t, "", sim.VCenterSpec{Name: "vc", Datacenters: []sim.DatacenterSpec{
		{Name: "dc", VMs: []sim.VMSpec{vm("node-1", "10.0.0.1"), vm("node-2", "10.0.0.2")}}, {Name: "empty"},
	}})
	vc := b.fleet.VCenter("vc")
	b.text = fmt.Sprintf("[Global]\nuser = %q\npassword = %q\n", vc.User(), vc.Password()) +
		section("one", vc) + "datacenters = dc\n" + section("two", vc) + "datacenters = empty\n"
	first := b.initialize(kubetest.Node("node-1", kubetest.Tainted(), kubetest.NotReady(), old))
	second := b.initialize(kubetest.Node("node-2", kubetest.Tainted(), kubetest.NotReady(), old))
	if err := b.fleet.VM("node-1").Destroy(); err != nil {
		t.Fatal(err)
	}
	b = b.restart()
	b.know(first, second)
	b.wantExists(second, true)
	b.wantExists(first, false)
}

// TestInitializedNodesAreLabeled (VS-NODE-11): Nodes of earlier versions get the
// label of their vCenter, and Nodes whose VM was migrated that of the other one.
// A write that fails is made again.
func TestInitializedNodesAreLabeled(t *testing.T) {
	t.Parallel()
	b := newPlaces(t)
	vcenters, err := b.current()
	for ; err != nil; vcenters, err = b.current() {
		time.Sleep(time.Millisecond)
	}
	node := kubetest.Node("node-a", kubetest.ProviderID(id(b.fleet.VM("node-a"))), old)
	client := kubetest.NewClientset(node)
	refusals := 2
	client.PrependReactor("patch", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		refusals--

		return refusals >= 0, nil, apierrors.NewInternalError(errors.New("broken"))
	})
	b.cloud = connectWith(t, b.text, client)
	wantLabel := func(vc int) {
		t.Helper()
		b.eventually("the Node names its vCenter", func() error {
			now, err := client.CoreV1().Nodes().Get(t.Context(), node.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if _, err := b.instances.InstanceMetadata(t.Context(), now); err != nil {
				return err
			}
			want := vcenters[vc].Inventory.InstanceUUID()
			if got := now.Labels[labelVCenter]; got != want || want == "" {
				return fmt.Errorf("label is %q, want %q", got, want)
			}

			return nil
		})
	}
	wantLabel(0)
	writes := func() (n int) {
		for _, action := range client.Actions() {
			if action.Matches("patch", "nodes") {
				n++
			}
		}

		return n
	}
	labeled := writes()
	wantLabel(0)
	if n := writes(); n > labeled {
		t.Errorf("%d writes of a label that is there", n-labeled)
	}
	if _, err := b.fleet.VM("node-a").MigrateTo(b.fleet.VCenter("b"), "dc"); err != nil {
		t.Fatal(err)
	}
	wantLabel(1)
	if got := client.Actions(); refusals >= 0 || len(got) == 0 {
		t.Errorf("no write was rejected: %v", got)
	}
}
