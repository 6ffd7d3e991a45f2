package vsphere

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// TestNodesAreDescribedTogether: Nodes that are initialized one after the other cost
// few calls, because what is read of one VM is read of those of all Nodes.
func TestNodesAreDescribedTogether(t *testing.T) {
	t.Parallel()
	vcenter := startVCenter(t, one(sim.Fleet("node", 60)...))
	var nodes []runtime.Object
	for n, vm := range vcenter.VMs() {
		options := []kubetest.NodeOption{kubetest.Tainted()}
		if n%2 == 0 {
			options = append(options, kubetest.ProviderID(id(vm)))
		}
		nodes = append(nodes, kubetest.Node(vm.Name(), options...))
	}
	nodes = append(nodes, kubetest.Node("other", kubetest.ProviderID("aws:///zone/i-1")))
	c := connect(t, configOf(vcenter))
	factory := informers.NewSharedInformerFactory(fake.NewClientset(nodes...), 0)
	c.SetInformers(factory)
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	b := fixture{cloud: c, t: t}
	b.awaitInventories() // some Nodes would be searched for before
	for _, vm := range vcenter.VMs() {
		b.describe(kubetest.Node(vm.Name(), kubetest.ProviderID(id(vm)), kubetest.Tainted()))
	}
	if got := vcenter.Count("RetrieveProperties"); got > 5 {
		t.Errorf("%d calls read what describes 60 Nodes, want a handful", got)
	}
}
