package openstack

import (
	"cmp"
	"context"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/explore"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/recordings"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	"github.com/multicloud-ccm/multicloud-ccm/test/profile"
)

// With the race detector one of sampledKinds kinds of faults is injected, at sampledPoints
// calls of each operation.
const sampledKinds, sampledPoints = 6, 1

// lastChange is longer than a change of a load balancer takes.
const lastChange = 15 * time.Second

// TestCrash injects every fault at every call of every operation on load balancers
// (FW-LB-4, OS-LB-4, OS-LB-9, OS-LB-15, OS-LB-16, OS-LB-17), and a choice of them that has each call and
// each fault for every change of TestLoadBalancerLive. A process that starts then has to reach the same
// end as without faults, or has to find all that there is to delete. After each call, what
// was served and is still wanted is served. With the race detector and with -short a sample
// of the cases runs.
func TestCrash(t *testing.T) {
	t.Parallel()
	openstacktest.CountsCalls(t)
	var cases, pairs atomic.Int64
	seed := int(profile.Seed(t)) //nolint:gosec // of 31 bits
	all, golden := crashScenarios(), recordings.Read(t, "testdata/recordings")
	maps.Copy(all, liveScenarios())
	t.Run("all", func(t *testing.T) {
		for i, name := range slices.Sorted(maps.Keys(all)) {
			share := profile.Of(4, 1, 1)
			if all[name].sparse > 0 {
				share = profile.Of(24, 8, 1)
			}
			if (i+seed)%share != 0 {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					c := newCrash(t, all[name])
					c.turn += seed
					c.explorer.Baseline(t)
					if golden.Store(name, c.recording.String()); *update {
						return
					}
					golden.Compare(t, name, c.recording.String())
					cases.Add(int64(c.sweep(t)))
					if all[name].sparse == 0 {
						hash, n := fnv.New64(), profile.Of(0, 2, 6)
						_, _ = hash.Write([]byte(name))
						c.explorer.InjectPairs(t, rand.New(rand.NewPCG(hash.Sum64(), uint64(6+seed))), n) //nolint:gosec // a sample
						pairs.Add(int64(n))
					}
				})
			})
		}
	})
	if *update {
		golden.Write(t, slices.Collect(maps.Keys(all)), recordingFile)
	}
	t.Logf("%d cases with one fault, %d with two; single changes with one in %d of their faults: %s=%d",
		cases.Load(), pairs.Load(), sharedCalls, profile.Variable, seed)
}

// crash explores one scenario.
type crash struct {
	*lbSite

	scenario scenario
	// existing are the resources before the operation, and recording is that of the baseline.
	existing  []string
	recording recording
	// before are the Services as they are before the operation.
	before   []*v1.Service
	api      *kubetest.Clientset // of the run
	start    *openstack.Snapshot
	explorer *explore.Explorer
	baseline []simserver.Call
	turn     int // of the kinds of faults
	// once means that OpenStack refuses one call: what is given up for it is put back, such as a
	// listener that was deleted.
	once bool
}

// newCrash makes the state before the operation.
func newCrash(t *testing.T, s scenario) *crash {
	t.Helper()
	c := &crash{lbSite: newSite(t, s.options, s.config), scenario: s}
	services := []*v1.Service{kubetest.Service("default", "shop", kubetest.Port(v1.ProtocolTCP, 8080)), s.service(c.lbSite)}
	if s.upstream {
		all := c.nodes
		c.nodes = all[:2] // those of the operations, which have nothing to write then
		id := c.addReferenceLoadBalancer(openstack.ServiceSpec{NoMonitors: true}, services[1], false, true)
		c.nodes = all
		services[1].Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: c.LoadBalancer(id).VIPAddress}}
	}
	p := c.run(t, services...)
	p.until("shop", func(ctx context.Context) error { return p.ensure(ctx, "shop", c.nodes[:2]...) })
	if s.shared {
		p.share("web", "shop")
	}
	if !s.create {
		p.until("web", func(ctx context.Context) error { return p.ensure(ctx, "web", c.nodes[:2]...) })
	}
	for _, name := range []string{"shop", "web"} {
		service := p.stored(name)
		if address := service.Annotations[string(request.AnnotationLoadBalancerAddress)]; address != "" {
			service.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: address, IPMode: new(v1.LoadBalancerIPModeVIP)}}
		}
		c.before = append(c.before, service)
	}
	c.api = p.api
	c.watch(p)
	c.start, c.existing = c.Snapshot(), c.Resources()
	c.turn = len(s.change) + len(s.config) // others in each scenario
	c.config, c.cluster = cmp.Or(s.after, c.config), cmp.Or(s.cluster, c.cluster)
	c.explorer = &explore.Explorer{Begin: c.begin, Writes: c.writes}

	return c
}

// share has a Service use the load balancer of another one.
func (p *lbProcess) share(name, owner string) {
	p.t.Helper()
	p.edit(name, func(s *v1.Service) {
		s.Annotations["loadbalancer.openstack.org/load-balancer-id"] = p.stored(owner).Annotations["loadbalancer.openstack.org/load-balancer-id"]
	})
}

// watch has the cloud report whenever something is not served that was and is still wanted:
// the other Service, and the ports of this one.
func (c *crash) watch(p *lbProcess) {
	s := c.scenario
	for _, name := range []string{"shop", "web"} {
		before := p.stored(name)
		after := before.DeepCopy()
		if s.name() == name {
			for _, change := range s.change {
				change(c.lbSite, after)
			}
		}
		if s.name() == name && s.remove || name == "web" && s.create {
			continue
		}
		c.watchKept(p, before, after, s)
	}
}

// unexpected returns the outages that no gap explains: each port has one, and only with the
// deletion of its listener, if Octavia allows no change without it.
func unexpected(outages []string, gap bool) []string {
	if !gap {
		return outages
	}
	seen := map[string]bool{}

	return slices.DeleteFunc(slices.Clone(outages), func(outage string) bool {
		op, at, _ := strings.Cut(outage, ": ")
		allowed := !seen[at] && op == "octavia.DeleteListener"
		seen[at] = true

		return allowed
	})
}

// allowedClient is one whose traffic all source ranges of the tests allow.
var allowedClient = netip.MustParseAddr("198.51.100.7")

// watchKept has the cloud report whenever a port of a Service is not served that is before and
// after a change: at any address that stays, by the first Node, which all changes keep.
func (s *lbSite) watchKept(p *lbProcess, before, after *v1.Service, change scenario) {
	p.t.Helper()
	addresses := []string{s.LoadBalancer(before.Annotations[string(request.AnnotationLoadBalancerID)]).VIPAddress}
	if public := before.Annotations[string(request.AnnotationLoadBalancerAddress)]; !change.withdrawn && public != addresses[0] {
		addresses = append(addresses, public)
	}
	for _, port := range after.Spec.Ports {
		at := slices.IndexFunc(before.Spec.Ports, func(b v1.ServicePort) bool { return b.Port == port.Port && b.Protocol == port.Protocol })
		if at < 0 || port.NodePort == 0 {
			continue
		}
		member := ""
		if before.Spec.Ports[at].NodePort == port.NodePort {
			member = "10.9.250.1:" + strconv.Itoa(int(port.NodePort))
		}
		for _, address := range addresses {
			s.Watch(openstack.Watch{
				Address: address, Protocol: string(port.Protocol), Port: int(port.Port), Member: member, Client: allowedClient, Guarded: change.guarded,
			})
		}
	}
}

// writes reports whether a call of the baseline changes the cloud.
func (c *crash) writes(call int) bool {
	return call > len(c.baseline) || c.Mutating(c.baseline[call-1].Op)
}

// begin restores the state before the operation.
func (c *crash) begin(t testing.TB, call int) explore.Run {
	t.Helper()
	c.Restore(c.start)
	ended := len(c.Outages())
	first := c.run(t, c.before...)
	c.api = first.api
	c.scenario.edit(first)
	served := func() {
		t.Helper()
		if all := unexpected(c.Outages()[ended:], c.scenario.gap); len(all) > 0 {
			t.Errorf("not served any more after %v", all)
		}
	}
	operate := func(ctx context.Context) error { return c.scenario.operate(ctx, first) }
	if call == 0 {
		c.Interceptor().Reset()
		operate = func(ctx context.Context) error { return c.operateRecorded(ctx, t, first) }
	}

	return explore.Run{
		Cloud: c,
		Operate: func(ctx context.Context) error {
			err := operate(ctx)
			time.Sleep(lastChange) // a stale read may have ended the last wait too early
			served()
			if all := c.Unserved(); c.once && len(all) > 0 {
				t.Errorf("one refusal has left it without what serves: %v", all)
			}

			return err
		},
		Next: []explore.Process{{
			Operate: func(ctx context.Context) error {
				return c.scenario.operate(ctx, c.runWith(t, first.api)) //nolint:contextcheck // the fixture has the context
			},
			Recover: func() {
				next := c.runWith(t, first.api)
				next.until("recover", func(ctx context.Context) error { return c.scenario.operate(ctx, next) })
				time.Sleep(lastChange)
				served()
				if all := c.Unserved(); len(all) > 0 {
					t.Errorf("not served in the end: %v", all)
				}
				c.checkAddress(t)
			},
		}},
	}
}

// checkAddress fails the test if the Service has another address in the end although it keeps it,
// or the same although it gets a floating IP.
func (c *crash) checkAddress(t testing.TB) {
	t.Helper()
	if !c.scenario.upstream {
		return
	}
	service, err := c.api.CoreV1().Services(metav1.NamespaceDefault).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before, now := c.before[1].Status.LoadBalancer.Ingress[0].IP, request.AnnotationLoadBalancerAddress.Value(service)
	if (now == before) != c.scenario.unchanged {
		t.Errorf("the address is %s, and was %s", now, before)
	}
}

// sweep injects each fault at each call, and the refusals of writes at each write. Logins are
// the same in all scenarios: faults of theirs are injected in the first one.
func (c *crash) sweep(t *testing.T) int {
	t.Helper()
	var all, writes []int
	for n := range c.explorer.Baseline(t).Calls {
		if op := c.baseline[n].Op; c.scenario.logins || !strings.HasPrefix(op, "keystone.") && !strings.Contains(op, "Version") {
			all = append(all, n+1)
		}
		if c.writes(n + 1) {
			writes = append(writes, n+1)
		}
	}
	n := 0
	for _, kind := range explore.Injections() {
		n += c.inject(t, kind, all)
	}
	refusals := c.refusals()
	for _, name := range slices.Sorted(maps.Keys(refusals)) {
		c.refused = refusals[name]
		for _, once := range []bool{false, true} {
			c.once = once
			n += c.inject(t, explore.Injection{Fault: explore.Failed, Once: once}, writes)
		}
	}
	c.once = false
	c.refused, c.late = nil, openstack.ProxyAfter(http.StatusGatewayTimeout)
	n += c.inject(t, explore.Injection{Fault: explore.Lost, Once: true}, writes)
	c.late = nil

	return n
}

// inject injects a fault at calls, with the race detector at a few of them, and returns
// their number.
func (c *crash) inject(t *testing.T, kind explore.Injection, calls []int) int {
	t.Helper()
	spread := explore.Spread{}
	if profile.Race {
		if c.turn++; c.turn%sampledKinds != 0 {
			return 0
		}
		spread.Points = sampledPoints
	}
	selected := spread.Of(len(calls))
	if share := min(max(c.scenario.sparse, profile.Of(1, 4, 1)), len(calls)); share > 1 {
		c.turn++
		selected = slices.DeleteFunc(selected, func(n int) bool { return (n+c.turn)%share != 0 })
	}
	for _, n := range selected {
		kind.First = calls[n-1]
		c.explorer.Inject(t, kind)
	}

	return len(selected)
}
