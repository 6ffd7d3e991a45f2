package aws

import (
	"context"
	"net/http"
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
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/front"
)

// brisk are times with which work that is interrupted goes on at once.
var brisk = cloudTuning{
	instances: quick.instances,
	source:    tuning{Window: time.Millisecond, Timeout: 5 * time.Second},
	client:    client.Tuning{Timeout: 10 * time.Second, MaxBackoff: time.Millisecond, ThrottleDelay: time.Millisecond},
	balancing: loadBalancerTuning{Wait: change.Wait{Interval: time.Millisecond, Limit: 50 * time.Millisecond}},
}

// resigned are times with which nobody waits long for a cloud that hangs.
var resigned = cloudTuning{
	instances: brisk.instances,
	source:    brisk.source,
	client:    client.Tuning{Timeout: 300 * time.Millisecond, MaxBackoff: time.Millisecond, ThrottleDelay: time.Millisecond},
	balancing: brisk.balancing,
}

// longest is how long a call takes that AWS leaves without an answer: others for
// the same Service come first, of three attempts each.
const longest = 6 * time.Second

// workshop is a VPC that two clusters share, with all machines in both of them.
type workshop struct {
	*lab

	settings []string // lines of [Global]
	tuning   cloudTuning
	group    string // the security group of the nodes
	table    string // the route table of the nodes
	// empty is what there is before providers make anything, planted what was
	// added to it.
	empty, planted []string

	mu     sync.Mutex
	own    map[string]int // calls that the test itself made
	nodes  []*v1.Node
	stores []cache.Store // of the Nodes that providers see
}

// newWorkshop makes the VPC. Nodes are in a private subnet, and there are two
// more of each kind for load balancers.
func newWorkshop(t testing.TB, settings ...string) *workshop {
	t.Helper()
	// The suite makes hundreds of calls at once, with a client that does not wait.
	r := newRegion(t, sim.Options{DisableThrottling: true})
	r.seed.VPC = r.AddVPC(sim.VPCSpec{CIDR: "10.9.0.0/16"})
	subnet := func(zone, name, cidr string, role string) string {
		tags := ofBoth("shared")
		tags["Name"] = name
		if role != "" {
			tags["kubernetes.io/role/"+role] = "1"
		}
		return r.AddSubnet(sim.SubnetSpec{VPC: r.seed.VPC, Zone: zone, CIDR: cidr, Tags: tags})
	}
	machines := subnet(labZone, "machines", "10.9.0.0/18", "")
	private := []string{machines, subnet(labZone, "private-a", "10.9.64.0/20", "internal-elb"), subnet("us-west-2b", "private-b", "10.9.80.0/20", "internal-elb")}
	public := []string{subnet(labZone, "public-a", "10.9.96.0/20", "elb"), subnet("us-west-2b", "public-b", "10.9.112.0/20", "elb")}
	r.AddRouteTable(sim.RouteTableSpec{VPC: r.seed.VPC, Subnets: public, Routes: []sim.RouteSpec{{Destination: "0.0.0.0/0", Gateway: "igw-0a"}}})
	w := &workshop{lab: &lab{region: r, subnet: machines}, settings: settings, tuning: brisk, own: map[string]int{}}
	if strings.Contains(t.Name(), conformance.Hanging.String()) {
		w.tuning = resigned
	}
	w.table = r.AddRouteTable(sim.RouteTableSpec{
		VPC: r.seed.VPC, Subnets: private, Tags: ofBoth("owned"),
		Routes: []sim.RouteSpec{{Destination: "0.0.0.0/0", Gateway: "nat-0a"}},
	})
	w.group = r.AddSecurityGroup(sim.SecurityGroupSpec{VPC: r.seed.VPC, Name: "nodes", Description: "nodes", Tags: ofBoth("owned")})
	r.AddRule(w.group, sim.Rule{Protocol: "-1", Source: w.group, Description: "nodes among themselves"})
	w.empty = w.inventory()
	return w
}

// The clusters of the suite.
const east, eastToo = "east", "east-2"

// ofBoth are the tags of a thing that belongs to both clusters.
func ofBoth(value string) map[string]string {
	return map[string]string{sim.ClusterTag(east): value, sim.ClusterTag(eastToo): value}
}

// kubeAPI is where the providers of all cases write their Events.
var kubeAPI = sync.OnceValue(func() kubernetes.Interface { return kubetest.NewClientset() })

type kubeBuilder struct{ builder }

func (kubeBuilder) Client(string) (kubernetes.Interface, error) { return kubeAPI(), nil }

// Connect makes the provider of the first cluster.
func (w *workshop) Connect(t testing.TB) cloudprovider.Interface { return w.ConnectAs(t, east) }

// ConnectAs makes the provider of a cluster as the binary does.
func (w *workshop) ConnectAs(t testing.TB, clusterID string) cloudprovider.Interface {
	t.Helper()
	text := strings.Replace(w.file(w.settings...), "KubernetesClusterID = "+demo, "KubernetesClusterID = "+clusterID, 1)
	for _, service := range []string{"Elastic Load Balancing", "Elastic Load Balancing v2"} {
		text += "[ServiceOverride \"" + service + "\"]\nService = " + service + "\nRegion = " + w.Region() +
			"\nURL = " + w.URL() + "\nSigningRegion = " + w.Region() + "\n"
	}
	file, err := config.Parse("cloud.conf", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	cfg, _, problems := decode(file)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	c, err := newCloudFrom(t.Context(), cfg, w.tuning)
	if err != nil {
		t.Fatal(err)
	}
	w.introduce(t, c)
	stop := make(chan struct{})
	c.Initialize(kubeBuilder{}, stop)
	w.t.Cleanup(func() {
		close(stop)
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// introduce lets a provider know the Nodes.
func (w *workshop) introduce(t testing.TB, c *cloud) {
	t.Helper()
	store := serveNodes(t, c)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stores = append(w.stores, store)
	w.fill(t, store)
}

func (w *workshop) fill(t testing.TB, store cache.Store) {
	t.Helper()
	objects := make([]any, len(w.nodes))
	for i, node := range w.nodes {
		objects[i] = node.DeepCopy()
	}
	if err := store.Replace(objects, ""); err != nil {
		t.Fatal(err)
	}
}

// SetNodes implements conformance.RouteCloud.
func (w *workshop) SetNodes(t testing.TB, nodes []*v1.Node) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nodes = nodes
	for _, store := range w.stores {
		w.fill(t, store)
	}
}

// Create makes an instance of both clusters.
func (w *workshop) Create(_ testing.TB, m conformance.Machine) instance.Ref {
	tags := ofBoth("owned")
	tags["Name"] = m.Name
	id := w.AddInstance(sim.InstanceSpec{
		PrivateDNSName: m.Name, Tags: tags,
		InterfaceSpec: sim.InterfaceSpec{Subnet: w.subnet, Groups: []string{w.group}, PrivateIPs: m.IPs, IPv6s: m.IPv6},
	})
	return instance.Ref{ProviderID: inventory.FormatProviderID(labZone, id), SystemUUID: "ec2-" + id, NodeName: m.Name}
}

// Disturb implements conformance.MutableCloud.
func (w *workshop) Disturb(_ testing.TB, d conformance.Disturbance) {
	effects := map[conformance.Fault]front.Effect{
		conformance.Throttled: sim.Throttled(),
		conformance.Failed:    sim.Error(http.StatusInternalServerError, "InternalError", "An internal error has occurred"),
		conformance.Dropped:   front.Drop(),
		conformance.Lost:      front.DropAnswer(),
	}
	when := front.From(d.First)
	if d.Only {
		when = front.Nth(d.First)
	}
	w.Gate().Break(front.Any, when, effects[d.Fault])
}

// Calls leaves out those of the test itself.
func (w *workshop) Calls() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lab.Calls() - total(w.own)
}

// Writes implements conformance.MutableCloud.
func (w *workshop) Writes() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	sum := total(w.Cloud.Writes())
	for op, n := range w.own {
		if sim.Mutating(op) {
			sum -= n
		}
	}
	return sum
}

// byHand makes calls as a user would, which count for nobody.
func (w *workshop) byHand(call func()) {
	made := w.calls(call)
	w.mu.Lock()
	defer w.mu.Unlock()
	for op, n := range made {
		w.own[op] += n
	}
}

// inventory is a line for everything that providers could have made or changed.
func (w *workshop) inventory() []string {
	things := strings.Split(strings.TrimSpace(w.Dump()), "\n")
	for _, line := range w.Leaks() {
		// What Dump has, it has with all details.
		if kind, _, _ := strings.Cut(line, " "); kind == "tag" || kind == "lost" {
			things = append(things, line)
		}
	}
	for _, route := range w.Routes(w.table) {
		things = append(things, "route "+strings.TrimSuffix(route, " blackhole"))
	}
	slices.Sort(things)
	return things
}

// Leftovers implements conformance.MutableCloud.
func (w *workshop) Leftovers() []string {
	return without(without(w.inventory(), w.empty), w.planted)
}

// without gives the lines that are left, taken away as often as they are there.
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

// plant notes what plants as no leftovers. The function that it gives lists all
// lines about such things.
func (w *workshop) plant(plants func(), about func(line string) bool) (describe func() []string) {
	before := w.inventory()
	plants()
	w.planted = append(w.planted, without(w.inventory(), before)...)
	return func() []string {
		return slices.DeleteFunc(w.inventory(), func(line string) bool { return !about(line) })
	}
}
