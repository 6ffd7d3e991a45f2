package floatingip_test

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/floatingip"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/networks"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The operations in the request log.
const (
	opList      = "neutron.ListFloatingIPs"
	opCreate    = "neutron.CreateFloatingIP"
	opUpdate    = "neutron.UpdateFloatingIP"
	opDelete    = "neutron.DeleteFloatingIP"
	opNetworks  = "neutron.ListNetworks"
	opPorts     = "neutron.ListPorts"
	description = "Floating IP for Kubernetes external service shop/web from cluster kube"
)

// missing is the ID of nothing.
const missing = "99999999-2222-4333-8444-555555555555"

// fixture is a cloud with a load balancer, and a Service for it.
type fixture struct {
	*openstacktest.Cloud

	api     *client.Client
	finder  *networks.Finder
	service *v1.Service
	shared  bool

	network, subnet, external, outside, lb string

	mu sync.Mutex
	// wrote are the load balancers whose reads are too old.
	wrote []string
}

// annotated is a list of annotations.
type annotated map[annotation.Name]string

// newFixture starts a cloud whose external network has the addresses .10 to .20, of which
// the router has the first.
func newFixture(t *testing.T, options openstack.Options, annotations annotated) *fixture {
	t.Helper()
	options.StaleReads = new(openstack.StaleReads) // calls are counted, and TestCrash has stale reads
	f := &fixture{Cloud: openstacktest.Start(t, options), service: kubetest.Service("shop", "web")}
	for name, value := range annotations {
		f.service.Annotations[string(name)] = value
	}
	f.network = f.AddNetwork(openstack.NetworkSpec{Name: "private"})
	f.subnet = f.AddSubnet(openstack.SubnetSpec{Network: f.network, CIDR: "10.0.0.0/24"})
	f.external = f.AddNetwork(openstack.NetworkSpec{Name: "public", External: true})
	f.outside = f.AddSubnet(openstack.SubnetSpec{Network: f.external, CIDR: "198.51.100.0/24", Pools: []string{"198.51.100.10-198.51.100.20"}})
	f.AddRouter(openstack.RouterSpec{Name: "router", External: f.external, Subnets: []string{f.subnet}})
	f.lb = f.addBalancer(f.subnet)
	o := f.ClientOptions()
	o.RetryTime = 1 // a fault is to be seen, not retried
	f.api = f.NewClient(t, f.ClientConfig(), credential.NewInFile(f.Credentials(openstack.UserCCM), nil), o)
	f.finder = networks.New(f.api.Network(), networks.Options{})

	return f
}

// addBalancer adds the load balancer of the Service.
func (f *fixture) addBalancer(subnet string) string {
	return f.AddLoadBalancer(openstack.LoadBalancerSpec{Name: "kube_service_kube_shop_web", Subnet: subnet, Listeners: []openstack.ListenerSpec{{Protocol: "TCP", Port: 80}}})
}

// request is that of the Service.
func (f *fixture) request(t *testing.T) *request.Request {
	t.Helper()
	r, _, err := request.ForEnsure(f.service, []*v1.Node{kubetest.Node("a", kubetest.Address(v1.NodeInternalIP, "10.0.0.201"))}, request.Settings{ClusterName: "kube"})
	must(t, err)

	return r
}

// result is what a sync did.
type result struct {
	plan     change.Plan
	warnings []service.Warning
	// checked is the error of the check, err that of the steps.
	checked, err error
	address      netip.Addr
}

// sync does what a sync of the Service does about its floating IP.
func (f *fixture) sync(t *testing.T) result {
	t.Helper()
	ctx := bounded(t)
	d := floatingip.Build(f.request(t), !f.shared)
	o := f.observe(t, d)
	r := result{checked: floatingip.Check(o, d)}
	if d.NeedsPlace(o) {
		d.Place, r.warnings, d.PlaceErr = f.finder.Place(ctx, d.Request.FloatingIP, nil)
	}
	steps, warnings := floatingip.Diff(o, d)
	env := f.env()
	r.plan, r.err = steps, steps.Apply(ctx, env, nil)
	r.warnings = slices.Concat(r.warnings, warnings, env.Warnings())
	r.address = floatingip.Address(o, &env.IDs)

	return r
}

func (f *fixture) env() *change.Env {
	return &change.Env{Octavia: f.api.LoadBalancer(), Network: f.api.Network(), Wrote: func(id string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.wrote = append(f.wrote, id)
	}}
}

func (f *fixture) observe(t *testing.T, d *floatingip.Desired) *floatingip.Observed {
	t.Helper()
	ctx := bounded(t)
	lb, err := f.api.LoadBalancer().GetLoadBalancer(ctx, f.lb)
	must(t, err)
	o, err := floatingip.Observe(ctx, f.api.Network(), lb, d)
	must(t, err)

	return o
}

// vip returns the address and the port of the load balancer.
func (f *fixture) vip() (address, port string) {
	lb := f.LoadBalancer(f.lb)

	return lb.VIPAddress, lb.VIPPort
}

// give adds a floating IP, on the VIP if it is to be associated.
func (f *fixture) give(associated bool, address, text string) string {
	spec := openstack.FloatingIPSpec{Network: f.external, Address: address, Description: text}
	if associated {
		_, spec.Port = f.vip()
	}

	return f.AddFloatingIP(spec)
}

// calls returns the calls of Neutron since the last time that change or list floating IPs,
// or list ports.
func (f *fixture) calls() map[string]int {
	found := map[string]int{}
	for op, n := range f.Interceptor().Calls() {
		if strings.HasSuffix(op, "FloatingIP") || strings.HasSuffix(op, "FloatingIPs") || op == opPorts {
			found[strings.TrimPrefix(op, "neutron.")] = n
		}
	}

	return found
}

// wantCalls checks how many calls there were in all.
func (f *fixture) wantCalls(t *testing.T, reason string, want map[string]int) {
	t.Helper()
	short := map[string]int{}
	for op, n := range want {
		short[strings.TrimPrefix(op, "neutron.")] = n
	}
	if diff := cmp.Diff(short, f.calls()); diff != "" {
		t.Errorf("%s: calls: -want +got:\n%s", reason, diff)
	}
}

// floatingIPs describes all floating IPs of the project: address, port and whose it is.
func (f *fixture) floatingIPs(t *testing.T) []string {
	t.Helper()
	net := f.NewClient(t, f.ClientConfig(), credential.NewInFile(f.Credentials(openstack.UserCCM), nil), f.ClientOptions()).Network()
	all, err := net.ListFloatingIPs(bounded(t))
	must(t, err)
	_, port := f.vip()
	lines := map[string]bool{}
	for _, ip := range all {
		line := ip.Address
		switch ip.PortID {
		case "":
			line += " free"
		case port:
			line += " on " + ip.FixedAddress
		default:
			line += " elsewhere"
		}
		if ip.Description == description {
			line += ", ours"
		}
		lines[line] = true
	}

	return slices.Sorted(maps.Keys(lines))
}

func (f *fixture) wantFloatingIPs(t *testing.T, reason string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, f.floatingIPs(t)); diff != "" {
		t.Errorf("%s: floating IPs: -want +got:\n%s", reason, diff)
	}
}

// warned reports whether there is exactly one warning, and that it has a text.
func warned(warnings []service.Warning, reason service.Reason, text string) bool {
	if reason == "" {
		return len(warnings) == 0
	}

	return len(warnings) == 1 && warnings[0].Reason == reason && strings.Contains(warnings[0].Message, text)
}

// bounded is the context of a test, with an end.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), openstacktest.Timeout)
	t.Cleanup(cancel)

	return ctx
}

// must ends the test at an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
