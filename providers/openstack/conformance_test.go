package openstack

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/nodes"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// TestConformance runs the suite for Nodes, with pages of far fewer rows than there are
// machines.
func TestConformance(t *testing.T) {
	t.Parallel()
	const uuid = "0f1e2d3c-4b5a-4987-8123-456789abcdef"
	nodes.Run(t, nodes.Adapter{
		Provider:  ProviderName,
		NewCloud:  newNodesAdapter,
		Malformed: []string{"openstack://", "openstack:///", "openstack:///worker-1", "openstack://" + uuid, "openstack:////" + uuid, "openstack://RegionOne/" + uuid + "/x", uuid},
		Spellings: func(id string) []string {
			server := strings.TrimPrefix(id, "openstack:///")

			return []string{"openstack://RegionOne/" + server, "/" + server, "RegionOne/" + server, "openstack:///" + strings.ToUpper(server)}
		},
		Elsewhere: func(id string) []string {
			return []string{"openstack://RegionTwo/" + strings.TrimPrefix(id, "openstack:///")}
		},
		Without: nodes.Capabilities{SystemUUID: true, Suspend: true}, // a server in status SUSPENDED is not shut down
		// 3 to 5 pages of servers and as many of ports, the login and version documents;
		// those of new machines may be read alone.
		Budget:       nodes.Budget{Initialize: 30, Steady: 10, Lifecycle: 5},
		Timeout:      quick().instances.Timeout,
		MaxStaleness: 4 * time.Second,
		Patience:     time.Minute,
	})
}

// nodesAdapter is the test cloud of the conformance suite. Its machines are deleted
// without a trace, as the suite requires: a policy denies the actions of servers. What a
// recorded deletion proves is for other tests.
type nodesAdapter struct {
	*openstacktest.Cloud

	kubernetes kubernetes.Interface
	created    int
	// nodes are the Nodes by the provider IDs of their servers, deleted is the server
	// that was deleted last.
	nodes   map[string]string
	deleted string
}

var (
	_ conformance.Cloud          = (*nodesAdapter)(nil)
	_ conformance.SessionCounter = (*nodesAdapter)(nil)
)

func newNodesAdapter(t testing.TB) conformance.Cloud {
	a := &nodesAdapter{Cloud: openstacktest.Start(t, openstack.Options{PageSize: 30}), kubernetes: kubetest.NewClientset(), nodes: map[string]string{}}
	a.SetDenied("nova.ListServerActions")
	a.Create(t, conformance.Machine{Name: "control-plane", IPs: []string{"10.255.0.10"}}) // it proves the project

	return a
}

func (a *nodesAdapter) Connect(t testing.TB) cloudprovider.Interface {
	return connectTo(t, a.kubernetes, noEnvironment(), a.CloudConfig(openstack.UserCCM, "[Metadata]\nrequest-timeout = 2s\n"), quick())
}

// Create adds a server, and its Node to the cluster.
func (a *nodesAdapter) Create(t testing.TB, m conformance.Machine) instance.Ref {
	t.Helper()
	a.created++
	id := a.AddServer(openstack.ServerSpec{
		Name: m.Name, Zone: fmt.Sprintf("az-%d", a.created%3), Networks: []openstack.ServerNetwork{{Name: network, IPs: m.IPs}},
	})
	ref := instance.Ref{ProviderID: "openstack:///" + id, SystemUUID: id, NodeName: m.Name}
	node := kubetest.Node(fmt.Sprintf("%s-%d", m.Name, a.created), kubetest.ProviderID(ref.ProviderID), old)
	if _, err := a.kubernetes.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	a.nodes[ref.ProviderID] = node.Name

	return ref
}

// Delete removes a server without a trace, and the Node of the one before it, as the
// controller does: with the Nodes of many missing servers nothing would be certain.
func (a *nodesAdapter) Delete(t testing.TB, ref instance.Ref) {
	t.Helper()
	if node, found := a.nodes[a.deleted]; found {
		if err := a.kubernetes.CoreV1().Nodes().Delete(t.Context(), node, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	a.deleted = ref.ProviderID
	a.RemoveServer(strings.TrimPrefix(ref.ProviderID, "openstack:///"))
}

func (a *nodesAdapter) Sessions() int { return len(sessions(a.Cloud)) }

func (a *nodesAdapter) SetPower(t testing.TB, ref instance.Ref, power conformance.Power) {
	t.Helper()
	status := map[conformance.Power]string{conformance.On: "ACTIVE", conformance.Off: "SHUTOFF", conformance.Suspended: "SUSPENDED"}
	a.SetServerStatus(strings.TrimPrefix(ref.ProviderID, "openstack:///"), status[power])
}

func (a *nodesAdapter) InjectFailure(t testing.TB, failure conformance.Failure) {
	t.Helper()
	switch failure {
	case conformance.Unreachable:
		a.Server().Down()
	case conformance.Hanging:
		a.Server().Hang()
	case conformance.Refusing:
		a.Interceptor().Inject("keystone.CreateToken", simserver.Always(), openstack.Unauthorized())
		a.RevokeTokens()
	case conformance.Throttling:
		a.Interceptor().Inject(simserver.Any, simserver.Always(), openstack.Throttled(""))
	case conformance.ProxyNotFound, conformance.ProxyOK, conformance.ProxyBadGateway:
		a.Interceptor().Inject(simserver.Any, simserver.Always(), simserver.Page(failure.Page()))
	}
}

func (a *nodesAdapter) ClearFaults(t testing.TB) {
	t.Helper()
	a.Interceptor().Clear()
	if err := a.Server().Up(); err != nil {
		t.Fatal(err)
	}
}
