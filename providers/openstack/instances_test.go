package openstack

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

func internal(ip string) v1.NodeAddress { return v1.NodeAddress{Type: v1.NodeInternalIP, Address: ip} }

func external(ip string) v1.NodeAddress { return v1.NodeAddress{Type: v1.NodeExternalIP, Address: ip} }

// TestMetadata (OS-NODE-9, OS-NODE-10, OS-NODE-11) shows what Nodes get of their servers.
func TestMetadata(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason string
		spec   openstack.ServerSpec
		config string
		want   cloudprovider.InstanceMetadata
	}{
		"Plain": {
			"a port, a zone, a flavor and the configured region",
			openstack.ServerSpec{Zone: "az-1", Networks: []openstack.ServerNetwork{{Name: "a", IPs: []string{"10.1.0.5"}}}},
			"",
			cloudprovider.InstanceMetadata{
				InstanceType: "m1.small", Zone: "az-1", Region: "RegionOne", NodeAddresses: []v1.NodeAddress{internal("10.1.0.5")},
			},
		},
		"FloatingIP": {
			"the floating IP is external, wherever it is",
			openstack.ServerSpec{Zone: "az 1/_", Flavor: "m1.large", Networks: []openstack.ServerNetwork{
				{Name: "b", IPs: []string{"10.2.0.5"}, FloatingIP: "203.0.113.9"}, {Name: "a", IPs: []string{"10.1.0.5", "fd00::5"}},
			}},
			"",
			cloudprovider.InstanceMetadata{
				InstanceType: "m1.large", Zone: "az-1", Region: "RegionOne",
				NodeAddresses: []v1.NodeAddress{internal("10.2.0.5"), internal("10.1.0.5"), internal("fd00::5"), external("203.0.113.9")},
			},
		},
		"Networks": {
			"public, internal and other networks, and the order of the cloud-config",
			openstack.ServerSpec{
				AccessIPv4: "192.0.2.7", Metadata: map[string]string{"hostname": "host.example.com", "other": "x"},
				Networks: []openstack.ServerNetwork{
					{Name: "storage", IPs: []string{"10.3.0.5"}},
					{Name: "public", IPs: []string{"198.51.100.5"}},
					{Name: "private", IPs: []string{"10.1.0.9"}},
					{Name: "private2", IPs: []string{"10.4.0.9"}},
				},
			},
			"[Networking]\npublic-network-name = public\ninternal-network-name = private\ninternal-network-name = private2\naddress-sort-order = 10.4.0.0/16\n",
			cloudprovider.InstanceMetadata{
				InstanceType: "m1.small", Zone: "nova", Region: "RegionOne", NodeAddresses: []v1.NodeAddress{
					internal("10.4.0.9"), internal("10.1.0.9"), external("192.0.2.7"),
					{Type: v1.NodeHostName, Address: "host.example.com"},
					external("198.51.100.5"),
				},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 0, openstack.Options{})
			node := f.add("node-1", tc.spec)
			c := f.connect(t, tc.config, quick())
			got, err := c.instances.InstanceMetadata(bounded(t), uninitialized(node))
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			tc.want.ProviderID = node.Spec.ProviderID
			if diff := cmp.Diff(&tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestTrunk (OS-NODE-12) shows the addresses of subports, which only Neutron has, and what the
// names of their networks cost.
func TestTrunk(t *testing.T) {
	t.Parallel()
	openstacktest.CountsCalls(t)

	cases := map[string]struct {
		reason string
		nodes  int
		late   bool
		calls  map[string]int
	}{
		"Few":    {"its ports and their subports each time", 1, false, map[string]int{"neutron.ListPorts": 4, "neutron.ListNetworks": 1}},
		"Listed": {"one list of ports, one of networks", 25, false, map[string]int{"neutron.ListPorts": 1, "neutron.ListNetworks": 1}},
		"Late": {"the ports of a new server are read alone", 25, true, map[string]int{
			"neutron.ListPorts": 3, "neutron.ListNetworks": 1,
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, tc.nodes, openstack.Options{})
			c := f.connect(t, "[Networking]\npublic-network-name = vlan\n", production())
			if tc.late {
				if _, err := c.instances.InstanceMetadata(bounded(t), f.nodes[0]); err != nil {
					t.Fatal(err)
				}
			}
			node := f.add("node-2", openstack.ServerSpec{Networks: []openstack.ServerNetwork{}})
			cluster := f.AddNetwork(openstack.NetworkSpec{Name: "trunked"})
			f.AddSubnet(openstack.SubnetSpec{Network: cluster, CIDR: "10.7.0.0/24"})
			vlan := f.AddNetwork(openstack.NetworkSpec{Name: "vlan"})
			f.AddSubnet(openstack.SubnetSpec{Network: vlan, CIDR: "10.8.0.0/24"})
			parent := f.AddPort(openstack.PortSpec{Network: cluster, IPs: []string{"10.7.0.5"}, Server: idOf(node)})
			sub := f.AddPort(openstack.PortSpec{Network: vlan, IPs: []string{"10.8.0.5"}})
			f.AddTrunk("trunk", parent, openstack.Subport{Port: sub, Segment: 100})
			var got *cloudprovider.InstanceMetadata
			for range 2 { // the second time is from what was listed
				var err error
				if got, err = c.instances.InstanceMetadata(bounded(t), node); err != nil {
					t.Fatal(err)
				}
				if tc.late {
					break
				}
			}
			if diff := cmp.Diff([]v1.NodeAddress{internal("10.7.0.5"), external("10.8.0.5")}, got.NodeAddresses); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			for op, want := range tc.calls {
				if n := f.Interceptor().Count(op); n != want {
					t.Errorf("%s: %d calls of %s, want %d", tc.reason, n, op, want)
				}
			}
		})
	}
}

// TestPortsOfOthers (OS-NODE-11): ports that an operator made for servers count like those of
// the project, in the order of Neutron. They cost one request for 50 Nodes.
func TestPortsOfOthers(t *testing.T) {
	t.Parallel()
	openstacktest.CountsCalls(t)

	cases := map[string]struct {
		reason  string
		visible bool
		want    []string // of the first Node
		calls   int
	}{
		"Visible": {"the project owns their network", true, []string{"10.7.0.1", "10.6.0.1"}, 2},
		"Hidden":  {"the addresses are those of Nova then", false, []string{"10.6.0.1", "10.7.0.1"}, 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 1, openstack.Options{})
			f.SetPortsOfOthers(tc.visible)
			first := f.AddNetwork(openstack.NetworkSpec{Name: "first"})
			f.AddSubnet(openstack.SubnetSpec{Network: first, CIDR: "10.6.0.0/24"})
			second := f.AddNetwork(openstack.NetworkSpec{Name: "second"})
			f.AddSubnet(openstack.SubnetSpec{Network: second, CIDR: "10.7.0.0/24"})
			var nodes []*v1.Node
			for n := 1; n <= 50; n++ {
				node := f.add(fmt.Sprintf("other-%d", n), openstack.ServerSpec{Networks: []openstack.ServerNetwork{}})
				uuid := func(k int) string { return fmt.Sprintf("%08d-0000-4000-8000-%012d", k, n) }
				f.AddPort(openstack.PortSpec{
					ID: uuid(1), Network: second, IPs: []string{fmt.Sprintf("10.7.0.%d", n)}, Server: idOf(node), Project: openstack.ProjectOther,
				})
				f.AddPort(openstack.PortSpec{ID: uuid(2), Network: first, IPs: []string{fmt.Sprintf("10.6.0.%d", n)}, Server: idOf(node)})
				nodes = append(nodes, node)
			}
			c := f.connect(t, "", production())
			for i, node := range nodes {
				got, err := c.instances.InstanceMetadata(bounded(t), node)
				if err != nil {
					t.Fatal(err)
				}
				var want []v1.NodeAddress
				for _, ip := range tc.want {
					want = append(want, internal(strings.TrimSuffix(ip, "1")+strconv.Itoa(i+1)))
				}
				if diff := cmp.Diff(want, got.NodeAddresses); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
				}
			}
			if n := f.Interceptor().Count("neutron.ListPorts"); n != tc.calls {
				t.Errorf("%s: %d lists of ports, want %d", tc.reason, n, tc.calls)
			}
		})
	}
}

// TestIncompleteMetadata (OS-NODE-13): a Node gets all or nothing.
func TestIncompleteMetadata(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason      string
		spec        openstack.ServerSpec
		change      func(f *fleet, node *v1.Node)
		code        string
		event       instance.Reason
		initialized bool // also for a Node that is
	}{
		"Building": {
			"its zone and addresses come later",
			openstack.ServerSpec{Status: "BUILD"},
			func(*fleet, *v1.Node) {},
			apierr.CodeUnavailable, "", true,
		},
		"NoAddress": {
			"it was never started",
			openstack.ServerSpec{Status: "ERROR", Networks: []openstack.ServerNetwork{}},
			func(*fleet, *v1.Node) {},
			apierr.CodeError, instance.ReasonNoAddress, true,
		},
		"OnlyHostname": {
			"a name is no address",
			openstack.ServerSpec{Networks: []openstack.ServerNetwork{}, Metadata: map[string]string{"hostname": "h"}},
			func(*fleet, *v1.Node) {}, apierr.CodeError, instance.ReasonNoAddress, true,
		},
		"PortsFail": {
			"an address may be missing", openstack.ServerSpec{}, func(f *fleet, _ *v1.Node) {
				f.Interceptor().Inject("neutron.ListPorts", simserver.Always(), openstack.Error(500, "HTTPInternalServerError", "x"))
			}, apierr.CodeUnavailable, "", true,
		},
		"PortsDenied": {
			"an address may be missing",
			openstack.ServerSpec{},
			func(f *fleet, _ *v1.Node) { f.SetDenied("neutron.ListPorts") },
			apierr.CodeDenied, "", true,
		},
		"FlavorFails": {
			"the label is written once", openstack.ServerSpec{Flavor: "SCS-2V:8"}, func(f *fleet, _ *v1.Node) {
				f.Interceptor().Inject("nova.ShowServer", simserver.Always(), func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
					if r.Header.Get("OpenStack-API-Version") != "" {
						apply.ServeHTTP(w, r)

						return
					}
					openstack.Error(500, "", "x")(w, r, apply)
				})
			}, apierr.CodeUnavailable, "", false,
		},
		"DownCell": {
			"its row has neither addresses nor flavor",
			openstack.ServerSpec{},
			func(f *fleet, _ *v1.Node) { f.SetCell("", "cell1", openstack.CellDown) },
			apierr.CodeUnavailable, "", true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 0, openstack.Options{})
			node := f.add("node-1", tc.spec)
			tc.change(f, node)
			c := f.connect(t, "", quick())
			got, err := c.instances.InstanceMetadata(bounded(t), uninitialized(node))
			if got != nil || apierr.Code(err) != tc.code || instance.ReasonOf(err) != tc.event {
				t.Errorf("%s: %+v, %v (%s, %q)", tc.reason, got, err, apierr.Code(err), instance.ReasonOf(err))
			}
			if _, err = c.instances.InstanceMetadata(bounded(t), node); (err != nil) != tc.initialized {
				t.Errorf("%s, initialized: %v", tc.reason, err)
			}
		})
	}
}

// TestRegion (OS-ID-1, OS-ID-2, OS-ID-3, OS-NODE-10) shows what a region changes.
func TestRegion(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1, openstack.Options{Regions: []string{"RegionOne", "RegionTwo"}})
	env := noEnvironment()
	env.variables = map[string]string{variableRegional: "true"}
	c := connectIn(t, env, f.CloudConfig(openstack.UserCCM, ""), quick(), f.nodes...)
	node, id := f.nodes[0], idOf(f.nodes[0])

	fresh := uninitialized(node)
	fresh.Spec.ProviderID = ""
	got, err := c.instances.InstanceMetadata(bounded(t), fresh)
	if err != nil || got.ProviderID != "openstack://RegionOne/"+id || got.Region != "RegionOne" {
		t.Fatalf("by name: %+v, %v", got, err)
	}
	for _, spelled := range []string{"openstack:///" + id, "openstack://RegionOne/" + id, "/" + id, "RegionOne/" + id} {
		node := kubetest.Node("node-1", kubetest.ProviderID(spelled), old)
		if exists, err := c.instances.InstanceExists(bounded(t), node); !exists || err != nil {
			t.Errorf("%s: exists %t, %v", spelled, exists, err)
		}
	}
	before := f.requests()
	for _, spelled := range []string{"openstack://RegionTwo/" + id, "openstack:///worker-1", "openstack://" + id, "openstack:///" + id + "/x"} {
		node := kubetest.Node("node-1", kubetest.ProviderID(spelled), old)
		if exists, err := c.instances.InstanceExists(bounded(t), node); exists || err == nil {
			t.Errorf("%s: exists %t, %v", spelled, exists, err)
		}
	}
	if n := f.requests() - before; n != 0 {
		t.Errorf("%d requests for provider IDs that cannot be right", n)
	}
	other := kubetest.Node("node-1", kubetest.ProviderID("openstack://RegionTwo/"+id), old)
	if _, err := c.instances.InstanceExists(bounded(t), other); instance.ReasonOf(err) != instance.ReasonOtherRegion {
		t.Errorf("another region: %v, reason %q", err, instance.ReasonOf(err))
	}
}

// TestDeleted (OS-NODE-4, OS-NODE-7, OS-NODE-8): what the lifecycle controller gets.
func TestDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testDeleted)
}

func testDeleted(t *testing.T) {
	f := newFleet(t, 3, openstack.Options{InMemory: true})
	c := f.connect(t, "", quick())
	for _, status := range []string{"ERROR", "SHELVED_OFFLOADED", "SOFT_DELETED", "PAUSED", "SUSPENDED"} {
		f.SetServerStatus(idOf(f.nodes[1]), status)
		time.Sleep(quick().inventory.MaxAge + 100*time.Millisecond)
		exists, err := c.instances.InstanceExists(bounded(t), f.nodes[1])
		shutdown, err2 := c.instances.InstanceShutdown(bounded(t), f.nodes[1])
		if !exists || shutdown || err != nil || err2 != nil {
			t.Errorf("%s: exists %t, shut down %t, %v, %v", status, exists, shutdown, err, err2)
		}
	}
	f.DeleteServer(idOf(f.nodes[0]))
	young := f.nodes[0].DeepCopy()
	young.CreationTimestamp.Time = time.Now()
	eventually(t, "the Node of a deleted server, although it is new, is gone", func() bool {
		exists, err := c.instances.InstanceExists(bounded(t), young)

		return !exists && err == nil
	})
}

// TestOtherProject (OS-NODE-2, OS-NODE-5): with the credentials of another project all servers
// are missing and no Node is gone, and so it is for an operator in another one.
func TestOtherProject(t *testing.T) {
	t.Parallel()
	for _, user := range []string{openstack.UserOther, openstack.UserAdmin} {
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 3, openstack.Options{})
			c := connect(t, f.CloudConfig(user, ""), quick(), f.nodes...)
			for range 3 {
				for _, node := range f.nodes {
					if exists, err := c.instances.InstanceExists(bounded(t), node); !exists && err == nil {
						t.Errorf("node %s is gone", node.Name)
					}
					if got, err := c.instances.InstanceMetadata(bounded(t), uninitialized(node)); err == nil {
						t.Errorf("node %s: %+v", node.Name, got)
					}
				}
			}
		})
	}
}

// eventually waits until a condition is true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(openstacktest.Timeout); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if is() {
			return
		}
	}
	t.Fatalf("%s: never", what)
}

// TestWithoutEndpoints (OS-NODE-1): without the endpoint of a service the provider offers nodes,
// and its calls fail with the reason until there is one.
func TestWithoutEndpoints(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1, openstack.Options{Catalog: openstack.Catalog{Without: []string{"network"}}})
	c := f.connect(t, "", quick())
	instances, offered := c.InstancesV2()
	if !offered {
		t.Fatal("nodes are not offered")
	}
	if exists, err := instances.InstanceExists(bounded(t), f.nodes[0]); !exists || err != nil {
		t.Errorf("exists %t, %v", exists, err)
	}
	if got, err := instances.InstanceMetadata(bounded(t), f.nodes[0]); err == nil {
		t.Errorf("without Neutron: %+v", got)
	}
	if calls := f.Interceptor().Calls(); slices.Contains([]int{calls["neutron.ListPorts"]}, 1) {
		t.Errorf("calls %v", calls)
	}
}
