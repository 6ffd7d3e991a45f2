package octavia_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/octavia"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/pending"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

const testUID = "0b8e1f5a-6c1d-4b7e-9a54-3f6a1c2d9e07"

// lbn is the name and tag of the Service of most tests.
const lbn = "kube_service_kubernetes_shop_web"

// writeFixture is a cloud in virtual time, and a Service in it.
type writeFixture struct {
	*openstacktest.Cloud

	t       *testing.T
	api     *client.LoadBalancerService
	waiter  *pending.Waiter
	refused *change.Refusals
	subnet  string
	// lb is the ID of the load balancer, empty without one.
	lb string
	// provider is that of the load balancer.
	provider string
	serial   bool
	repaired sets.Set[string]
	// empty means that Octavia has refused the load balancer with all its parts.
	empty    bool
	owner    bool
	nodes    []*v1.Node
	settings request.Settings
}

// inBubble runs a test in virtual time, with typical delays and stale reads.
func inBubble(t *testing.T, options openstack.Options, test func(f *writeFixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		options.InMemory = true
		if options.Delays == nil {
			// One wait is long enough for a creation.
			delays := openstack.TypicalDelays()
			delays.LoadBalancerCreate = 10 * time.Second
			options.Delays = &delays
		}
		f := &writeFixture{
			Cloud: openstacktest.Start(t, options), t: t, refused: new(change.Refusals), provider: "amphora", owner: true,
			settings: request.Settings{ClusterName: "kubernetes", ContainerStore: "barbican"},
		}
		if options.Profile == openstack.OVN {
			f.provider = features.OVN
		}
		network := f.AddNetwork(openstack.NetworkSpec{Name: "private"})
		f.subnet = f.AddSubnet(openstack.SubnetSpec{Network: network, CIDR: "10.0.0.0/24"})
		f.settings.Networks.SubnetID = f.subnet
		api := f.Client(t)
		if _, err := api.Project(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.api = api.LoadBalancer()
		f.waiter = pending.NewWaiter(f.api, pending.Options{})
		f.addNodes(1, 2, 3)
		test(f)
	})
}

// node returns a Node with the address 10.0.0.<100+n>.
func node(n int) *v1.Node {
	name := fmt.Sprintf("node-%d", n)
	made := kubetest.Node(name)
	made.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: fmt.Sprintf("10.0.0.%d", 100+n)}}

	return made
}

// addNodes sets the Nodes of the cluster.
func (f *writeFixture) addNodes(numbers ...int) {
	f.nodes = nil
	for _, n := range numbers {
		f.nodes = append(f.nodes, node(n))
	}
}

// web returns a Service with TCP 80 and UDP 53, unless options have other ports.
func web(options ...kubetest.ServiceOption) *v1.Service {
	ports := []kubetest.ServiceOption{kubetest.ServiceUID(testUID), kubetest.Port(v1.ProtocolTCP, 80), kubetest.Port(v1.ProtocolUDP, 53)}
	svc := kubetest.Service("shop", "web", append(ports, options...)...)
	if usual := len(ports) - 1; len(svc.Spec.Ports) > usual {
		svc.Spec.Ports = svc.Spec.Ports[usual:]
	}

	return svc
}

// with sets an annotation.
func with(name annotation.Name, value string) kubetest.ServiceOption {
	return kubetest.ServiceAnnotated(string(name), value)
}

// features returns what the load balancer can do.
func (f *writeFixture) features() features.Features {
	f.t.Helper()
	version, err := f.api.Version(f.t.Context())
	openstacktest.Must(f.t, err)

	return features.For(version, f.provider)
}

// desired returns what a Service wants.
func (f *writeFixture) desired(svc *v1.Service) *octavia.Desired {
	f.t.Helper()
	r, _, err := request.ForUpdate(svc, f.nodes, f.settings)
	openstacktest.Must(f.t, err)
	given := request.Given{Features: f.features()}
	resolved, _, err := r.Resolve(given)
	openstacktest.Must(f.t, err)

	built := octavia.Context{Owner: f.owner, Features: given.Features, Serial: f.serial, Repaired: f.repaired}
	if f.lb != "" {
		built.Refused = f.refused.Members(f.LoadBalancer(f.lb).Pools)
	}

	return octavia.Build(r, resolved, built)
}

// env returns a new environment.
func (f *writeFixture) env() *change.Env {
	return &change.Env{Octavia: f.api, Waiter: f.waiter, Refused: f.refused}
}

// settle waits until reads are not stale and nothing is pending any more.
func (f *writeFixture) settle() { time.Sleep(time.Minute) }

// observe reads the load balancer.
func (f *writeFixture) observe(names request.Names) *octavia.Observed {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), openstacktest.Timeout)
	defer cancel()
	lb, err := f.api.GetLoadBalancer(ctx, f.lb)
	openstacktest.Must(f.t, err)
	o, err := octavia.Read(ctx, f.api, lb, func(kind request.Part, name string, tags []string) bool {
		return certainty.IsOwnPart(names, kind, name, tags, true)
	})
	openstacktest.Must(f.t, err)

	return o
}

// plan returns what is to be done for a Service.
func (f *writeFixture) plan(svc *v1.Service) change.Plan {
	f.t.Helper()
	d := f.desired(svc)
	if f.lb == "" {
		return change.Plan{octavia.Create(d, f.serial || f.empty)}
	}
	steps, _ := octavia.Diff(f.observe(d.Names), d)

	return steps
}

// apply applies a plan.
func (f *writeFixture) apply(steps change.Plan) ([]service.Warning, error) {
	f.t.Helper()
	env := f.env()
	err := steps.Apply(f.t.Context(), env, nil)
	f.repaired = f.repaired.Union(sets.New(env.Repaired...))
	if env.Created != nil {
		f.lb = env.Created.ID
	}
	f.settle()

	return env.Warnings(), err
}

// try makes the load balancer what a Service wants, as far as possible. An empty one gets its parts next.
func (f *writeFixture) try(svc *v1.Service) ([]service.Warning, error) {
	f.t.Helper()
	if all := f.LoadBalancers(); f.lb == "" && len(all) == 1 && all[0].Name == lbn {
		f.lb = all[0].ID
	}

	isNew := f.lb == ""
	warnings, err := f.apply(f.plan(svc))
	switch {
	case isNew && f.lb == "" && !f.empty && octavia.IsAboutParts(err):
		f.empty = true

		return f.try(svc)
	case isNew && f.lb != "" && (f.serial || f.empty) && err == nil:
		return f.apply(f.plan(svc))
	}

	return warnings, err
}

// ensure does the same, and wants no error and no warning.
func (f *writeFixture) ensure(svc *v1.Service) {
	f.t.Helper()
	warnings, err := f.try(svc)
	if err != nil || len(warnings) > 0 {
		f.t.Fatalf("error %v, warnings %v", err, warnings)
	}
}

// unchanged checks that there is nothing to do for a Service.
func (f *writeFixture) unchanged(reason string, svc *v1.Service) {
	f.t.Helper()
	if steps := f.plan(svc); len(steps) > 0 {
		f.t.Errorf("%s: there is something to do:\n%s", reason, f.golden(steps.String()))
	}
}

var anyID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// golden returns a text without IDs, and with short names.
func (f *writeFixture) golden(text string) string {
	text = strings.ReplaceAll(text, testUID, "UID")
	text = anyID.ReplaceAllString(text, "ID")

	return strings.ReplaceAll(text, lbn, "LBN")
}

// serves checks the members that get the traffic of a port.
func (f *writeFixture) serves(reason, protocol string, port int, want ...string) {
	f.t.Helper()
	got := f.ServedBy(f.LoadBalancer(f.lb).VIPAddress, protocol, port)
	if diff := cmp.Diff(want, got); diff != "" {
		f.t.Errorf("%s: %s/%d: %s", reason, protocol, port, diff)
	}
}

// watch has outages of a port reported.
func (f *writeFixture) watch(protocol string, port int) {
	f.WatchServing(f.LoadBalancer(f.lb).VIPAddress, protocol, port, "")
}

// warned checks the reasons of warnings.
func (f *writeFixture) warned(reason string, warnings []service.Warning, want ...service.Reason) {
	f.t.Helper()
	var got []service.Reason
	for _, w := range warnings {
		got = append(got, w.Reason)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.t.Errorf("%s: %s\n%v", reason, diff, warnings)
	}
}

// sent checks how often an operation was called.
func (f *writeFixture) sent(reason, op string, want int) {
	f.t.Helper()
	if got := f.Interceptor().Count(op); got != want {
		f.t.Errorf("%s: %d calls of %s, want %d", reason, got, op, want)
	}
}

func isError(err, target error) bool { return errors.Is(err, target) }
