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
	adapter := nodesSuite(newNodesAdapter)
	// 3 to 5 pages of servers and as many of ports, the login and version documents; those
	// of new machines may be read alone.
	adapter.Budget = nodes.Budget{Initialize: 30, Steady: 10, Lifecycle: 5}
	adapter.Timeout = hasty().instances.Timeout
	adapter.MaxStaleness = 4 * time.Second
	adapter.NoticeTime = time.Minute
	adapter.InMemory = true
	nodes.Run(t, adapter)
}

// nodesSuite is what every test cloud declares to the suite.
func nodesSuite(newCloud func(testing.TB) conformance.Cloud) nodes.Adapter {
	const uuid = "0f1e2d3c-4b5a-4987-8123-456789abcdef"

	return nodes.Adapter{
		Provider:  ProviderName,
		NewCloud:  newCloud,
		Malformed: []string{"openstack://", "openstack:///", "openstack:///worker-1", "openstack://" + uuid, "openstack:////" + uuid, "openstack://RegionOne/" + uuid + "/x", uuid},
		Spellings: func(id string) []string {
			server := strings.TrimPrefix(id, "openstack:///")

			return []string{"openstack://RegionOne/" + server, "/" + server, "RegionOne/" + server, "openstack:///" + strings.ToUpper(server)}
		},
		Elsewhere: func(id string) []string {
			return []string{"openstack://RegionTwo/" + strings.TrimPrefix(id, "openstack:///")}
		},
		Without: nodes.Capabilities{SystemUUID: true, Suspend: true}, // a server in status SUSPENDED is not shut down
	}
}

// nodesAdapter is the test cloud of the conformance suite. Its machines are deleted
// without a trace, as the suite requires: a policy denies the actions of servers. What a
// recorded deletion proves is for other tests.
type nodesAdapter struct {
	*openstacktest.Cloud
	*serverNodes
}

var (
	_ conformance.Cloud          = (*nodesAdapter)(nil)
	_ conformance.SessionCounter = (*nodesAdapter)(nil)
)

func newNodesAdapter(t testing.TB) conformance.Cloud {
	a := &nodesAdapter{openstacktest.Start(t, openstack.Options{PageSize: 30, InMemory: true}), newServerNodes()}
	a.SetDenied("nova.ListServerActions")
	a.Create(t, conformance.Machine{Name: "control-plane", IPs: []string{"10.255.0.10"}}) // it proves the project

	return a
}

func (a *nodesAdapter) Connect(t testing.TB) cloudprovider.Interface {
	times := hasty()
	times.client.Dial = a.ClientOptions().Dial

	return connectTo(t, a.kubernetes, noEnvironment(), a.CloudConfig(openstack.UserCCM, "[Metadata]\nrequest-timeout = 2s\n"), times)
}

// Create adds a server, and its Node to the cluster.
func (a *nodesAdapter) Create(t testing.TB, m conformance.Machine) instance.Ref {
	t.Helper()
	id := a.AddServer(openstack.ServerSpec{
		Name: m.Name, Zone: fmt.Sprintf("az-%d", a.count%3), Networks: []openstack.ServerNetwork{{Name: network, IPs: m.IPs}},
	})

	return a.join(t, id, m.Name)
}

// Delete removes a server without a trace.
func (a *nodesAdapter) Delete(t testing.TB, ref instance.Ref) {
	t.Helper()
	a.leave(t, ref)
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
	must(t, a.Server().Up())
}

// serverNodes are the Nodes of the servers of a test cloud.
type serverNodes struct {
	kubernetes kubernetes.Interface
	// names are the names of the Nodes by the provider IDs of their servers, count is how
	// many there were, and deleted is the server that was deleted last.
	names   map[string]string
	count   int
	deleted string
}

func newServerNodes() *serverNodes {
	return &serverNodes{kubernetes: kubetest.NewClientset(), names: map[string]string{}}
}

// join adds the Node of a server.
func (n *serverNodes) join(t testing.TB, server, name string) instance.Ref {
	t.Helper()
	n.count++
	ref := instance.Ref{ProviderID: "openstack:///" + server, SystemUUID: server, NodeName: name}
	node := kubetest.Node(fmt.Sprintf("%s-%d", name, n.count), kubetest.ProviderID(ref.ProviderID), old)
	if _, err := n.kubernetes.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	n.names[ref.ProviderID] = node.Name

	return ref
}

// leave deletes the Node of the server that was deleted before this one, as the controller
// does: with the Nodes of many missing servers nothing would be certain.
func (n *serverNodes) leave(t testing.TB, ref instance.Ref) {
	t.Helper()
	if node, found := n.names[n.deleted]; found {
		must(t, n.kubernetes.CoreV1().Nodes().Delete(t.Context(), node, metav1.DeleteOptions{}))
	}
	n.deleted = ref.ProviderID
}
