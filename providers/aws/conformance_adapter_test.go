package aws

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/nodes"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/explore"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws/faulttest"
)

// fast are settings with which an interrupted operation is retried at once.
var fast = cloudTuning{
	instances: quick.instances,
	source:    nodes.Tuning{Window: time.Millisecond, ListWait: time.Minute, Timeout: 5 * time.Second},
	client:    client.Tuning{Timeout: 10 * time.Second, MaxBackoff: time.Millisecond, ThrottleDelay: time.Millisecond},
	balancing: loadBalancerTuning{Wait: change.Wait{Interval: time.Millisecond, Limit: 50 * time.Millisecond}},
}

// shortTimeouts are settings with short timeouts, for a cloud that hangs.
var shortTimeouts = cloudTuning{
	instances: fast.instances,
	source:    fast.source,
	client:    client.Tuning{Timeout: 300 * time.Millisecond, MaxBackoff: time.Millisecond, ThrottleDelay: time.Millisecond},
	balancing: fast.balancing,
}

// longest is how long a call takes without a response of AWS: others for the same
// Service come first, of three attempts each.
const longest = 6 * time.Second

// mutableAdapter is the test cloud of the suites whose providers change the
// cloud: a VPC that two clusters share, with all machines in both of them.
type mutableAdapter struct {
	*nodesAdapter

	settings []string // lines of [Global]
	tuning   cloudTuning
	group    string // the security group of the nodes
	table    string // the route table of the nodes
	// empty is what exists before providers create anything, seeded what the
	// decoys add.
	empty, seeded []string

	mu     sync.Mutex
	own    map[string]int // calls that the test itself made
	nodes  []*v1.Node
	stores []cache.Store // of the Nodes that providers see
}

// newMutableAdapter creates the VPC. Nodes are in a private subnet, and there
// are two more of each kind for load balancers.
func newMutableAdapter(t testing.TB, settings ...string) *mutableAdapter {
	t.Helper()
	// The suite makes hundreds of calls at once, with a client that does not wait.
	r := newRegion(t, sim.Options{InMemory: true, DisableThrottling: true})
	r.seed.VPC = r.AddVPC(sim.VPCSpec{CIDR: "10.9.0.0/16"})
	subnet := func(zone, name, cidr string, role string) string {
		tags := ofBoth("shared")
		tags["Name"] = name
		if role != "" {
			tags["kubernetes.io/role/"+role] = "1"
		}

		return r.AddSubnet(sim.SubnetSpec{VPC: r.seed.VPC, Zone: zone, CIDR: cidr, Tags: tags})
	}
	machines := subnet(testZone, "machines", "10.9.0.0/18", "")
	private := []string{machines, subnet(testZone, "private-a", "10.9.64.0/20", "internal-elb"), subnet("us-west-2b", "private-b", "10.9.80.0/20", "internal-elb")}
	public := []string{subnet(testZone, "public-a", "10.9.96.0/20", "elb"), subnet("us-west-2b", "public-b", "10.9.112.0/20", "elb")}
	r.AddRouteTable(sim.RouteTableSpec{VPC: r.seed.VPC, Subnets: public, Routes: []sim.RouteSpec{{Destination: "0.0.0.0/0", Gateway: "igw-0a"}}})
	a := &mutableAdapter{nodesAdapter: &nodesAdapter{region: r, subnet: machines}, settings: settings, tuning: fast, own: map[string]int{}}
	if strings.Contains(t.Name(), conformance.Hanging.String()) {
		a.tuning = shortTimeouts
	}
	a.tuning.client.Dial = r.Server().Dial
	a.table = r.AddRouteTable(sim.RouteTableSpec{
		VPC: r.seed.VPC, Subnets: private, Tags: ofBoth("owned"),
		Routes: []sim.RouteSpec{{Destination: "0.0.0.0/0", Gateway: "nat-0a"}},
	})
	a.group = r.AddSecurityGroup(sim.SecurityGroupSpec{VPC: r.seed.VPC, Name: "nodes", Description: "nodes", Tags: ofBoth("owned")})
	r.AddRule(a.group, sim.Rule{Protocol: "-1", Source: a.group, Description: "nodes among themselves"})
	a.empty = a.inventory()

	return a
}

// The clusters of the suite.
const east, eastToo = "east", "east-2"

// ofBoth are the tags of a resource that belongs to both clusters.
func ofBoth(value string) map[string]string {
	return map[string]string{sim.ClusterTag(east): value, sim.ClusterTag(eastToo): value}
}

// kubeAPI is where the providers of all cases write their Events.
var kubeAPI = sync.OnceValue(func() kubernetes.Interface { return kubetest.NewClientset() })

type kubeBuilder struct{ builder }

func (kubeBuilder) Client(string) (kubernetes.Interface, error) { return kubeAPI(), nil }

// Connect makes the provider of the first cluster.
func (a *mutableAdapter) Connect(t testing.TB) cloudprovider.Interface { return a.ConnectAs(t, east) }

// ConnectAs makes the provider of a cluster as the binary does.
func (a *mutableAdapter) ConnectAs(t testing.TB, clusterID string) cloudprovider.Interface {
	t.Helper()
	text := strings.Replace(a.file(a.settings...), "KubernetesClusterID = "+demo, "KubernetesClusterID = "+clusterID, 1)
	for _, service := range []string{"Elastic Load Balancing", "Elastic Load Balancing v2"} {
		text += "[ServiceOverride \"" + service + "\"]\nService = " + service + "\nRegion = " + a.Region() +
			"\nURL = " + a.URL() + "\nSigningRegion = " + a.Region() + "\n"
	}
	file, err := config.Parse("cloud.conf", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	cfg, problems := decode(file)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	c, err := newCloudFrom(t.Context(), cfg, a.tuning)
	if err != nil {
		t.Fatal(err)
	}
	a.addNodes(t, c)
	stop := make(chan struct{})
	c.Initialize(kubeBuilder{}, stop)
	a.t.Cleanup(func() {
		close(stop)
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})

	return c
}

// addNodes shows the Nodes to a provider.
func (a *mutableAdapter) addNodes(t testing.TB, c *cloud) {
	t.Helper()
	store := serveNodes(t, c)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stores = append(a.stores, store)
	a.fill(t, store)
}

func (a *mutableAdapter) fill(t testing.TB, store cache.Store) {
	t.Helper()
	objects := make([]any, len(a.nodes))
	for i, node := range a.nodes {
		objects[i] = node.DeepCopy()
	}
	if err := store.Replace(objects, ""); err != nil {
		t.Fatal(err)
	}
}

// SetNodes implements conformance.RouteCloud.
func (a *mutableAdapter) SetNodes(t testing.TB, nodes []*v1.Node) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.nodes = nodes
	for _, store := range a.stores {
		a.fill(t, store)
	}
}

// Create makes an instance of both clusters.
func (a *mutableAdapter) Create(_ testing.TB, m conformance.Machine) instance.Ref {
	tags := ofBoth("owned")
	tags["Name"] = m.Name
	id := a.AddInstance(sim.InstanceSpec{
		PrivateDNSName: m.Name, Tags: tags,
		InterfaceSpec: sim.InterfaceSpec{Subnet: a.subnet, Groups: []string{a.group}, PrivateIPs: m.IPs, IPv6s: m.IPv6},
	})

	return instance.Ref{ProviderID: inventory.FormatProviderID(testZone, id), SystemUUID: "ec2-" + id, NodeName: m.Name}
}

// InjectFault implements conformance.MutableCloud.
func (a *mutableAdapter) InjectFault(t testing.TB, i explore.Injection) (hits func() int) {
	return faulttest.New(a.Cloud).InjectFault(t, i)
}

// Calls leaves out those of the test itself.
func (a *mutableAdapter) Calls() int {
	a.mu.Lock()
	defer a.mu.Unlock()

	return a.nodesAdapter.Calls() - total(a.own)
}

// Writes implements conformance.MutableCloud.
func (a *mutableAdapter) Writes() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	sum := total(a.Cloud.Writes())
	for op, n := range a.own {
		if sim.Mutating(op) {
			sum -= n
		}
	}

	return sum
}

// asUser makes calls of a user, which do not count as calls of the provider.
func (a *mutableAdapter) asUser(call func()) {
	made := a.calls(call)
	a.mu.Lock()
	defer a.mu.Unlock()
	for op, n := range made {
		a.own[op] += n
	}
}

// inventory has a line for each resource that providers could have created or
// changed.
func (a *mutableAdapter) inventory() []string {
	lines := strings.Split(strings.TrimSpace(a.Dump()), "\n")
	for _, line := range a.Leaks() {
		// What Dump has, it has with all details.
		if kind, _, _ := strings.Cut(line, " "); kind == "tag" || kind == "lost" {
			lines = append(lines, line)
		}
	}
	for _, route := range a.Routes(a.table) {
		lines = append(lines, "route "+strings.TrimSuffix(route, " blackhole"))
	}
	slices.Sort(lines)

	return lines
}

// Leftovers implements conformance.MutableCloud.
func (a *mutableAdapter) Resources() []string {
	return without(without(a.inventory(), a.empty), a.seeded)
}

// without returns the lines without others, each as often as it occurs there.
func without(lines, taken []string) []string {
	counts := map[string]int{}
	for _, line := range taken {
		counts[line]++
	}
	var left []string
	for _, line := range lines {
		if counts[line]--; counts[line] < 0 {
			left = append(left, line)
		}
	}

	return left
}

// seedDecoys excludes what a function creates from the resources. The result
// lists all lines about decoys.
func (a *mutableAdapter) seedDecoys(seed func(), about func(line string) bool) (describe func() []string) {
	before := a.inventory()
	seed()
	a.seeded = append(a.seeded, without(a.inventory(), before)...)

	return func() []string {
		return slices.DeleteFunc(a.inventory(), func(line string) bool { return !about(line) })
	}
}
