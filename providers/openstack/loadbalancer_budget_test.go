package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/cloud-provider/api"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	"github.com/multicloud-ccm/multicloud-ccm/test/profile"
)

// workers is how many Services the service controller syncs at once by default here.
const workers = serviceSyncs

// manyServices returns Services with two ports each.
func manyServices(n int) []*v1.Service {
	services := make([]*v1.Service, n)
	for i := range services {
		services[i] = kubetest.Service("default", fmt.Sprintf("web-%d", i), kubetest.Port(v1.ProtocolTCP, 80), kubetest.Port(v1.ProtocolTCP, 443))
		for j := range services[i].Spec.Ports {
			services[i].Spec.Ports[j].NodePort = int32(30000 + 2*i + j) //nolint:gosec // small numbers
		}
	}

	return services
}

// controller calls a function for each Service as the service controller does: by several
// workers, and again later after an error, while the worker goes on with another Service. It
// returns when all have succeeded.
func controller(t testing.TB, services []*v1.Service, do func(name string) error) {
	t.Helper()
	controllerOf(t, workers, services, do)
}

// controllerOf is controller with a number of workers.
func controllerOf(t testing.TB, workers int, services []*v1.Service, do func(name string) error) {
	t.Helper()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](5*time.Second, 5*time.Minute))
	var left atomic.Int64
	left.Store(int64(len(services)))
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				name, ended := queue.Get()
				if ended {
					return
				}
				err := do(name)
				if retry, ok := errors.AsType[*api.RetryError](err); ok {
					queue.Forget(name)
					queue.AddAfter(name, retry.RetryAfter())
				} else if err != nil {
					queue.AddRateLimited(name)
				} else if queue.Forget(name); left.Add(-1) == 0 {
					queue.ShutDown()
				}
				queue.Done(name)
			}
		})
	}
	for _, service := range services {
		queue.Add(service.Name)
	}
	wg.Wait()
}

// tally counts calls by what they are.
type tally struct{ reads, writes, polls int }

// polling tells looks at load balancers that are being changed from other reads of them. A
// look that shows the end of a change is one of the former.
type polling struct {
	mu      sync.Mutex
	pending map[string]bool // by ID, as the last look has shown it
	reads   int             // of load balancers that are not being changed
}

// watchPolls has [lbSite.count] tell polls from other reads of one load balancer.
func (s *lbSite) watchPolls() {
	s.polling = &polling{pending: map[string]bool{}}
	s.Interceptor().Inject("octavia.ShowLoadBalancer", simserver.Always(), func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
		id, pending := path.Base(r.URL.Path), false
		for _, lb := range s.LoadBalancers() {
			pending = pending || lb.ID == id && strings.HasPrefix(lb.Status, "PENDING_")
		}
		s.polling.mu.Lock()
		if !pending && !s.polling.pending[id] {
			s.polling.reads++
		}
		s.polling.pending[id] = pending
		s.polling.mu.Unlock()
		apply.ServeHTTP(w, r)
	})
}

// count returns the calls of the cloud so far, without logins and version documents.
func (s *lbSite) count() tally {
	var t tally
	for op, n := range s.Interceptor().Calls() {
		switch {
		case strings.HasPrefix(op, "keystone."), strings.Contains(op, "Version"), op == "neutron.ListExtensions":
		case op == "octavia.ShowLoadBalancer":
			t.polls += n
		case s.Mutating(op):
			t.writes += n
		default:
			t.reads += n
		}
	}

	s.polling.mu.Lock()
	defer s.polling.mu.Unlock()
	t.polls -= s.polling.reads
	t.reads += s.polling.reads

	return t
}

func (t tally) minus(other tally) tally {
	return tally{t.reads - other.reads, t.writes - other.writes, t.polls - other.polls}
}

// foreignPorts are how many ports other projects have in a large cloud.
const foreignPorts = 20_000

// asOperator has the provider use the account of an administrator, who can list the ports of
// all projects.
func (s *lbSite) asOperator() {
	s.user = openstack.UserOperator
	others := s.AddNetwork(openstack.NetworkSpec{Name: "others", Project: openstack.ProjectOther})
	for range foreignPorts {
		s.AddPort(openstack.PortSpec{Network: others, IPs: []string{}, NoPortSecurity: true})
	}
}

// TestCostOfServices (OS-LB-21, OS-COST-5): what operations on load balancers cost.
func TestCostOfServices(t *testing.T) {
	t.Parallel()
	openstacktest.CountsCalls(t)
	cases := map[string]struct {
		config         string
		create, remove int // apart from polls
	}{
		"plain":    {"", 10, 6},
		"monitors": {"create-monitor = true\n", 10, 6},
		"managed":  {"manage-security-groups = true\n", 16 + 3, 6 + 5}, // and the Nodes
		"operator": {"manage-security-groups = true\n", 16 + 3, 6 + 5}, // with ports of other projects
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, openstack.Options{}, tc.config)
				if name == "operator" {
					s.asOperator()
				}
				s.watchPolls()
				p := s.run(t, manyServices(2)...)
				// What is true for all Services is read once.
				p.until("the first", func(ctx context.Context) error { return p.ensure(ctx, "web-1", s.nodes...) })
				spent := func(what string, limit int, do func(ctx context.Context) error) {
					t.Helper()
					before, began := s.count(), time.Now()
					p.until(what, do)
					cost, took := s.count().minus(before), time.Since(began)
					t.Logf("%s: %+v in %s", what, cost, took)
					if cost.reads+cost.writes > limit || cost.polls > int(took.Seconds()) {
						t.Errorf("%s costs %+v, allowed are %d apart from a poll a second: %v", what, cost, limit, s.Interceptor().Calls())
					}
				}
				spent("create", tc.create, func(ctx context.Context) error { return p.ensure(ctx, "web-0", s.nodes...) })
				spent("the sync after the annotations", 5, func(ctx context.Context) error { return p.ensure(ctx, "web-0", s.nodes...) })
				spent("delete", tc.remove, func(ctx context.Context) error { return p.remove(ctx, "web-0") })
			})
		})
	}
}

// looks is how often a load balancer is read while a change of three seconds is made.
const looks = 3

// TestCostOfManyServices (OS-LB-21, OS-COST-5): an unchanged sync of all Services writes
// nothing and costs one look at each, after a start, and a few lists later. A Node that
// joins costs one write for each pool. It is the same for an administrator, who can list the
// ports of other projects.
func TestCostOfManyServices(t *testing.T) {
	t.Parallel()
	openstacktest.CountsCalls(t)
	for name, foreign := range map[string]int{"alone": 0, "many foreign load balancers, an administrator": profile.Of(60, 300, 300)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := profile.Of(20, 100, 100)
				// Quotas of load balancers are unlimited by default, those of floating IPs are 50. No
				// read is stale: a change that is refused, since the one before has not ended, would
				// be counted as a write.
				s := newSite(t, openstack.Options{StaleReads: new(openstack.StaleReads), Quotas: openstack.Quotas{FloatingIPs: 200, Ports: 2000}}, "")
				if foreign > 0 {
					s.asOperator()
				}
				for i := range foreign {
					s.AddLoadBalancer(openstack.LoadBalancerSpec{Name: fmt.Sprintf("foreign-%d", i), Subnet: s.subnet, Listeners: []openstack.ListenerSpec{{
						Name: "l", Protocol: "TCP", Port: 80, Pool: &openstack.LBPoolSpec{Name: "p", Members: []openstack.LBMemberSpec{{Address: "10.9.200.1", Port: 80}}},
					}}})
				}
				services := manyServices(n)
				for _, service := range services {
					s.addReferenceLoadBalancer(openstack.ServiceSpec{NoMonitors: true, Ports: []openstack.ServicePort{
						{Protocol: "TCP", Port: 80, NodePort: int(service.Spec.Ports[0].NodePort)}, {Protocol: "TCP", Port: 443, NodePort: int(service.Spec.Ports[1].NodePort)},
					}}, service, false, false)
				}
				s.watchPolls()
				p := s.run(t, services...)
				sync := func(what string, reads, writes int, do func(ctx context.Context, name string) error) {
					t.Helper()
					before, began, lists := s.count(), time.Now(), s.Interceptor().Count("octavia.ListListeners")
					controller(t, services, func(name string) error { return do(t.Context(), name) })
					cost, took := s.count().minus(before), time.Since(began)
					pages := foreign / 50 * (s.Interceptor().Count("octavia.ListListeners") - lists) // of pools, in each read of all lists
					t.Logf("%s: %+v in %s", what, cost, took)
					if cost.reads > reads+pages || cost.writes > writes || cost.polls > looks*cost.writes {
						t.Errorf("%s costs %+v, allowed are %d reads and %d pages, %d writes: %v", what, cost, reads, pages, writes, s.Interceptor().Calls())
					}
				}
				nodes := s.nodes
				ensure := func(ctx context.Context, name string) error { return p.ensureOnce(ctx, name, nodes...) }
				sync("cold sync", 120, 0, ensure)
				time.Sleep(time.Minute)
				sync("warm sync", 12, 0, ensure)
				time.Sleep(time.Minute)
				nodes = append(nodes, s.addNode(3))
				sync("node join", 20, 2*n, func(ctx context.Context, name string) error {
					return p.balancers.UpdateLoadBalancer(ctx, clusterName, p.stored(name), nodes) //nolint:contextcheck // the fixture has the context
				})
			})
		})
	}
}

// TestCostOfManyNodes (FW-TARGET-3): with 5,000 Nodes and 500 Services, Nodes that join cost only lists, and one that leaves a
// write for each pool that had it.
func TestCostOfManyNodes(t *testing.T) {
	t.Parallel()
	openstacktest.CountsCalls(t)
	synctest.Test(t, func(t *testing.T) {
		count, n := profile.Of(300, 300, 5000), profile.Of(10, 10, 500)
		const part = 7
		// Without stale reads, the calls are always the same. The quota of ports is raised, as on request: each load balancer has one.
		s := newSite(t, openstack.Options{StaleReads: new(openstack.StaleReads), Quotas: openstack.Quotas{FloatingIPs: 1, Ports: 2000}}, fmt.Sprintf("max-targets = %d\n", part))
		var nodes []*v1.Node
		for i := range count + 100 {
			nodes = append(nodes, kubetest.Node(fmt.Sprintf("worker-%d", i), kubetest.ProviderID(fmt.Sprintf("openstack:///%08d-1111-4111-8111-111111111111", i)), old,
				kubetest.Address(v1.NodeInternalIP, fmt.Sprintf("10.9.%d.%d", i/250, 1+i%250))))
		}
		services := manyServices(n)
		had := 0
		for i, service := range services {
			annotated(request.AnnotationInternal, "true")(service)
			s.nodes = nodes[part*i%(count-part):][:part]
			if slices.Contains(s.nodes, nodes[0]) {
				had++
			}
			s.addReferenceLoadBalancer(openstack.ServiceSpec{NoMonitors: true, Ports: []openstack.ServicePort{
				{Protocol: "TCP", Port: 80, NodePort: int(service.Spec.Ports[0].NodePort)}, {Protocol: "TCP", Port: 443, NodePort: int(service.Spec.Ports[1].NodePort)},
			}}, service, false, true)
		}
		s.watchPolls()
		p := s.run(t, services...)
		sync := func(what string, reads, writes int, do func(name string) error) {
			t.Helper()
			time.Sleep(time.Minute)
			before := s.count()
			controller(t, services, do)
			cost := s.count().minus(before)
			t.Logf("%s: %+v", what, cost)
			if ports := len(nodes)/50 + 1; cost.reads > reads+ports || cost.writes != writes { // those of all Nodes are read for all Services
				t.Errorf("%s costs %+v, allowed are %d reads and %d of ports, and %d writes: %v", what, cost, reads, ports, writes, s.Interceptor().Calls())
			}
		}
		update := func(nodes []*v1.Node) func(string) error {
			return func(name string) error {
				return p.balancers.UpdateLoadBalancer(t.Context(), clusterName, p.stored(name), nodes)
			}
		}
		sync("cold sync", 100+n, 0, func(name string) error { return p.ensureOnce(t.Context(), name, nodes[:count]...) })
		sync("100 Nodes join", 100, 0, update(nodes))
		sync("a Node leaves", 100+2*had, 2*had, update(nodes[1:]))
	})
}

// TestBusyCloud (OS-LB-6): 100 Services at once in a cloud that builds each in a minute,
// takes two seconds for a POST and refuses the sixth one in flight are there in three
// minutes. A Node that joins meanwhile is initialized in ten seconds.
func TestBusyCloud(t *testing.T) {
	t.Parallel()
	openstacktest.CountsCalls(t)
	synctest.Test(t, func(t *testing.T) {
		// An operator raises them for so many Services.
		s := newSite(t, openstack.Options{Quotas: openstack.Quotas{FloatingIPs: 200, Ports: 2000}}, "")
		busy := openstack.Error(503, "", "Project busy. Unable to lock the project. Please try again.")
		s.Interceptor().Inject("octavia.CreateLoadBalancer", simserver.Always(), openstack.MaxInFlight(5, simserver.Slow(2*time.Second), busy))
		services := manyServices(profile.Of(10, 100, 100))
		nodes := s.nodes
		p := s.run(t, services...)
		began := time.Now()
		var joins sync.WaitGroup
		for i, after := range []time.Duration{time.Second, 30 * time.Second, time.Minute} {
			joins.Go(func() {
				time.Sleep(after)
				s.initialize(t, p.cloud, 3+i)
			})
		}
		controller(t, services, func(name string) error { return p.ensureOnce(t.Context(), name, nodes...) })
		joins.Wait()
		took := time.Since(began)
		t.Logf("%d Services in %s", len(services), took)
		if took > 3*time.Minute {
			t.Errorf("%d Services took %s of the cloud's time", len(services), took)
		}
	})
}

// TestManySlowCreations (OS-LB-6): load balancers that take a minute cost no Warning Event as long as there are
// five more workers than of them. With fewer workers, only those for which there is no room cost some.
func TestManySlowCreations(t *testing.T) {
	t.Parallel()
	n := profile.Of(24, 60, 60)
	for _, workers := range []int{n + 5, serviceSyncs} {
		t.Run(fmt.Sprintf("%d workers", workers), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				// An operator raises the quotas for so many Services.
				s := newSite(t, openstack.Options{Quotas: openstack.Quotas{FloatingIPs: 200, Ports: 2000}}, "")
				services := manyServices(n)
				p := s.run(t, services...)
				p.cloud.SetServiceWorkers(workers)
				var mu sync.Mutex
				events := map[string]int{} // the service controller makes one of each error
				began := time.Now()
				controllerOf(t, workers, services, func(name string) error {
					err := p.ensureOnce(t.Context(), name, s.nodes...)
					if err != nil {
						mu.Lock()
						defer mu.Unlock()
						events[name]++
					}

					return err
				})
				t.Logf("%d creations by %d workers: %d have Warning Events, after %s", n, workers, len(events), time.Since(began))
				if most := max(0, n-(workers-5)); len(events) > most {
					t.Errorf("%d creations by %d workers: %d have Warning Events, want %d at most: %v", n, workers, len(events), most, events)
				}
			})
		})
	}
}

// initialize adds a server whose Node joins, which has to be initialized in ten seconds.
func (s *lbSite) initialize(t *testing.T, c *cloud, i int) {
	t.Helper()
	node := uninitialized(s.addNode(i))
	began := time.Now()
	for {
		metadata, err := c.instances.InstanceMetadata(t.Context(), node)
		took := time.Since(began)
		if err == nil {
			t.Logf("a Node is initialized in %s", took)
			if metadata.ProviderID != node.Spec.ProviderID || len(metadata.NodeAddresses) == 0 {
				t.Errorf("the metadata of the Node is %+v", metadata)
			}

			return
		}
		if took > 10*time.Second {
			t.Errorf("a Node is not initialized after %s: %v", took, err)

			return
		}
		time.Sleep(time.Second)
	}
}

// TestStuckLoadBalancers (OS-LB-6): 20 load balancers that stay pending, and 20 deletions that
// take ten minutes, delay a new Service by 40 seconds at most, also if all of them come
// before it.
func TestStuckLoadBalancers(t *testing.T) {
	t.Parallel()
	openstacktest.CountsCalls(t)
	for name, tc := range map[string]struct {
		creation  time.Duration // of a load balancer
		deletions bool          // come first
	}{
		"a driver without virtual machines":                  {creation: time.Second},
		"a driver without virtual machines, deletions first": {creation: time.Second, deletions: true},
		"virtual machines":                                   {creation: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var alone, late time.Duration
			synctest.Test(t, func(t *testing.T) { alone = newStuck(t, tc.creation, 0).run(t, tc.deletions) })
			synctest.Test(t, func(t *testing.T) {
				s := newStuck(t, tc.creation, profile.Of(5, 20, 20))
				late = s.run(t, tc.deletions)
				s.check(t)
			})
			t.Logf("a new Service is served after %s, alone after %s", late, alone)
			if late > alone+40*time.Second {
				t.Errorf("a new Service is served after %s, alone after %s", late, alone)
			}
		})
	}
}

// stuck is a cloud in which load balancers cannot be changed.
type stuck struct {
	*lbProcess

	services []*v1.Service
	pending  []string // the IDs of load balancers that stay pending once they are changed
	deleted  []string // of those whose deletion takes long
}

// newStuck starts a cloud with n load balancers that stay pending and n that are to be
// deleted.
func newStuck(t *testing.T, creation time.Duration, n int) *stuck {
	t.Helper()
	// Deletions take longer than usual, and creations as long as a test wants.
	delays := openstack.TypicalDelays()
	delays.LoadBalancerCreate, delays.LoadBalancerDelete = creation, 10*time.Minute
	// An operator raises them for so many Services.
	site := newSite(t, openstack.Options{Quotas: openstack.Quotas{FloatingIPs: 200, Ports: 2000}, Delays: &delays}, "")
	s := &stuck{services: manyServices(2*n + 1)}
	for i, service := range s.services[:2*n] {
		id := site.addReferenceLoadBalancer(openstack.ServiceSpec{NoMonitors: true}, service, false, false)
		if i < n {
			site.HoldPending(id, true)
			s.pending = append(s.pending, id)
		} else {
			s.deleted = append(s.deleted, id)
		}
	}
	s.lbProcess = site.run(t, s.services...)

	return s
}

// run syncs all Services as the service controller does, the new one last, and returns after
// which time that is served.
func (s *stuck) run(t *testing.T, deletions bool) time.Duration {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[int](5*time.Second, 5*time.Minute))
	last, served := len(s.services)-1, make(chan *v1.LoadBalancerStatus, 1)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				i, ended := queue.Get()
				if ended {
					return
				}
				status, err := s.sync(ctx, i)
				if retry, ok := errors.AsType[*api.RetryError](err); ok {
					queue.Forget(i)
					queue.AddAfter(i, retry.RetryAfter())
				} else if err != nil {
					queue.AddRateLimited(i)
				} else if i == last {
					served <- status
				}
				queue.Done(i)
			}
		})
	}
	began := time.Now()
	for i := range last {
		if deletions {
			i = last - 1 - i
		}
		queue.Add(i)
	}
	queue.Add(last)
	var took time.Duration
	select {
	case status := <-served:
		took = time.Since(began)
		for _, port := range s.services[last].Spec.Ports {
			if len(status.Ingress) != 1 || len(s.ServedBy(status.Ingress[0].IP, string(port.Protocol), int(port.Port))) != 1 {
				t.Errorf("port %d of the new Service is not served at %v", port.Port, status.Ingress)
			}
		}
	case <-time.After(5 * time.Minute):
		t.Errorf("the new Service is not served")
	}
	stop()
	queue.ShutDown()
	wg.Wait()

	return took
}

// sync makes the call of the service controller for a Service: deletions are those with a
// load balancer that is to be deleted. Their error says nothing about when to try again.
func (s *stuck) sync(ctx context.Context, i int) (*v1.LoadBalancerStatus, error) {
	service := s.stored(s.services[i].Name) //nolint:contextcheck // the fixture has the context
	if i < len(s.pending) || i == len(s.services)-1 {
		return s.balancers.EnsureLoadBalancer(ctx, clusterName, service, s.nodes[:1])
	}
	if err := s.balancers.EnsureLoadBalancerDeleted(ctx, clusterName, service); err != nil {
		return nil, fmt.Errorf("delete: %s", err.Error())
	}

	return nil, nil
}

// check fails the test unless the others were changed and deleted, and are not ready.
func (s *stuck) check(t *testing.T) {
	t.Helper()
	for status, ids := range map[string][]string{"PENDING_UPDATE": s.pending, "PENDING_DELETE": s.deleted} {
		for _, id := range ids {
			if got := s.LoadBalancer(id).Status; got != status {
				t.Errorf("load balancer %s is %s, want %s", id, got, status)
			}
		}
	}
}
