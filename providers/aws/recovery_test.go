package aws

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/smithy-go/middleware"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/nodes"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/routes"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	"github.com/multicloud-ccm/multicloud-ccm/test/profile"
)

// hang sends no response to a request until its client gives up.
func hang(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// TestRecoveryFromHangingCloud: Nodes wait for an EC2 that takes requests and
// never responds, whatever names their instances. A round of lookups begins
// every five seconds, as for Nodes that wait to be initialized. Once EC2
// responds, a lookup works within 35 seconds, at whichever moment of the calls
// before that is: the last attempt of a call has 30.
func TestRecoveryFromHangingCloud(t *testing.T) {
	t.Parallel()
	const mostWait = 35 * time.Second
	r := newRegion(t, sim.Options{})
	id := r.seed.AddNode(sim.InstanceSpec{})
	r.seed.AddNode(sim.InstanceSpec{PrivateDNSName: "node-1.example"})
	pod := r.AddFargate(sim.FargateSpec{Subnet: r.seed.Private["us-west-2a"]})
	refs := map[string]instance.Ref{
		"instance": {ProviderID: "aws:///us-west-2a/" + id},
		"name":     {NodeName: "node-1.example"},
		"Fargate":  {ProviderID: fargateID(pod)},
	}
	longest := map[string]time.Duration{}
	synctest.Test(t, func(t *testing.T) {
		for outage := time.Second; outage < 60*time.Second; outage += profile.Of(7*time.Second, 700*time.Millisecond, 700*time.Millisecond) {
			for name, waited := range r.in(t).waitThrough(outage, refs) {
				longest[name] = max(longest[name], waited)
				if waited > mostWait {
					t.Errorf("after an outage of %s: %s is found after %s", outage, name, waited)
				}
			}
		}
		time.Sleep(inventory.LongestFetch(inventory.DefaultTimeout)) // lists end
	})
	t.Logf("the longest waits: %v", longest)
}

// TestSlowEC2 (AWS-API-8): where EC2 takes 8 or 20 seconds for each response, every
// Node is initialized, and one whose instance is gone is found to be gone.
func TestSlowEC2(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		node   func(r *region) *v1.Node
		exists bool
	}{
		"by ID": {"instance, zones and topology", func(r *region) *v1.Node {
			return node(r.seed.AddNode(sim.InstanceSpec{Type: mustHave, NetworkNodes: []string{"a"}}), kubetest.Tainted())
		}, true},
		"by name": {"a call with a filter", func(r *region) *v1.Node {
			r.seed.AddNode(sim.InstanceSpec{PrivateDNSName: "node-1.example"})

			return kubetest.Node("node-1.example", kubetest.Tainted())
		}, true},
		"Fargate": {"by its network interface", func(r *region) *v1.Node {
			pod := r.AddFargate(sim.FargateSpec{Subnet: r.seed.Private["us-west-2a"]})

			return kubetest.Node("fargate", kubetest.ProviderID(fargateID(pod)), kubetest.Tainted())
		}, true},
		"gone": {"missing and confirmed", func(*region) *v1.Node { return node("i-0123456789abcdef1") }, false},
	}
	for name, tc := range cases {
		for _, slow := range []time.Duration{8 * time.Second, 20 * time.Second} {
			t.Run(fmt.Sprint(name, " ", slow), func(t *testing.T) {
				t.Parallel()
				r := newRegion(t, sim.Options{})
				known := r.seed.AddNode(sim.InstanceSpec{})
				synctest.Test(t, func(t *testing.T) {
					r, subject := r.in(t), tc.node(r)
					v2 := instance.New(r.directSource(), instanceOptions(instance.Options{Provider: ProviderName}))
					if exists, err := v2.InstanceExists(t.Context(), node(known)); !exists || err != nil {
						t.Errorf("the evidence that the account is the right one: %t, %v", exists, err)
					}
					r.Interceptor().Inject("ec2", simserver.Always(), simserver.Slow(slow))
					begun := time.Now()
					if tc.exists {
						r.initialize(v2, subject)
					}
					exists, err := v2.InstanceExists(t.Context(), subject)
					if err != nil || exists != tc.exists {
						t.Errorf("%s: exists %t, %v", tc.reason, exists, err)
					}
					t.Logf("%s: %s", name, time.Since(begun))
				})
			})
		}
	}
}

// TestSlowEC2ForServices: where EC2 needs 8 or 20 seconds for each response, a Service gets its
// load balancer.
func TestSlowEC2ForServices(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds() {
		for _, slow := range []time.Duration{8 * time.Second, 20 * time.Second} {
			t.Run(fmt.Sprint(kind, " ", slow), func(t *testing.T) {
				t.Parallel()
				r := newRegion(t, sim.Options{})
				ids := r.seed.AddNodes(3)
				synctest.Test(t, func(t *testing.T) {
					b := &balanced{region: r.in(t), decoded: newResponses(t), ids: ids, nodes: nodesOf(ids...)}
					b.restart()
					b.Interceptor().Inject("ec2", simserver.Always(), simserver.Slow(slow))
					begun := time.Now()
					err := b.sync(web(options...))
					if err != nil && slow > 8*time.Second { // an operation has five minutes, and the service controller tries again
						err = b.sync(web(options...))
					}
					if t.Logf("after %s", time.Since(begun)); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

// TestSlowEC2ForRoutes: where EC2 needs 8 or 20 seconds for each response, routes are listed,
// created and deleted.
func TestSlowEC2ForRoutes(t *testing.T) {
	t.Parallel()
	for _, slow := range []time.Duration{8 * time.Second, 20 * time.Second} {
		t.Run(slow.String(), func(t *testing.T) {
			t.Parallel()
			r := newRegion(t, sim.Options{})
			id := r.seed.AddNode(sim.InstanceSpec{})
			synctest.Test(t, func(t *testing.T) {
				r := r.in(t)
				routes := r.directRoutes(node(id))
				r.Interceptor().Inject("ec2", simserver.Always(), simserver.Slow(slow))
				route := to(node(id).Name, pods(1))
				if err := routes.CreateRoute(t.Context(), demo, "", route); err != nil {
					t.Error(err)
				}
				if list, err := routes.ListRoutes(t.Context(), demo); err != nil || len(list) != 1 || list[0].TargetNode != route.TargetNode {
					t.Errorf("%d routes, %v", len(list), err)
				}
				if err := routes.DeleteRoute(t.Context(), demo, route); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestNodesJoinLargeAccount (AWS-API-4): where EC2 needs 15 seconds for the first page of a
// list by tag, and as much for the others, Nodes that join are initialized in 10 seconds.
func TestNodesJoinLargeAccount(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]simserver.Fault{"slow": simserver.Slow(15 * time.Second), "hangs": hang} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRegion(t, sim.Options{PageSize: 5})
			ids := r.seed.AddNodes(20)
			synctest.Test(t, func(t *testing.T) {
				r := r.in(t)
				source := r.directSource()
				r.Interceptor().Inject("DescribeInstances", simserver.Always(), func(w http.ResponseWriter, q *http.Request, apply http.Handler) {
					if q.Form.Has("InstanceId.1") {
						apply.ServeHTTP(w, q)
					} else {
						fault(w, q, apply)
					}
				})
				var all sync.WaitGroup
				for _, id := range ids[:10] {
					all.Go(func() {
						begun := time.Now()
						r.initialize(instance.New(source, instanceOptions(instance.Options{Provider: ProviderName})), node(id, kubetest.Tainted()))
						if took := time.Since(begun); took > 10*time.Second {
							t.Errorf("Node %s is initialized after %s", id, took)
						}
					})
					time.Sleep(time.Second)
				}
				all.Wait()
				time.Sleep(5 * time.Minute) // the list ends
			})
		})
	}
}

// initialize initializes a Node as the controller does, which is told when there is
// an outcome, in at most three minutes.
func (r *region) initialize(v2 *instance.V2, node *v1.Node) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 3*time.Minute)
	defer cancel()
	queued := make(chan struct{}, 1)
	v2.SetRequeue(func(string) { queued <- struct{}{} })
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { v2.Run(ctx) })
	for {
		metadata, err := v2.InstanceMetadata(ctx, node)
		if err == nil {
			if metadata.Zone == "" {
				r.t.Error("the metadata has no zone")
			}

			return
		}
		select {
		case <-queued:
		case <-ctx.Done():
			r.t.Errorf("the node is not initialized: %v", err)

			return
		}
	}
}

// waitThrough makes lookups through an outage, and returns how long after it each
// worked.
func (r *region) waitThrough(outage time.Duration, refs map[string]instance.Ref) map[string]time.Duration {
	r.t.Helper()
	s := r.directSource()
	r.Interceptor().Inject(simserver.Any, simserver.Always(), hang)
	end := time.Now().Add(outage)
	time.AfterFunc(outage, r.Interceptor().Clear)
	ctx, stop := context.WithTimeout(r.t.Context(), outage+time.Minute)
	defer stop()

	var mu sync.Mutex
	waited := map[string]time.Duration{}
	lookup := func(name string) {
		ctx, cancel := context.WithTimeout(ctx, inventory.DefaultTimeout)
		defer cancel()
		_, err := s.Lookup(ctx, refs[name]).Get()
		mu.Lock()
		defer mu.Unlock()
		if _, before := waited[name]; err != nil || before {
			return
		}
		if waited[name] = time.Since(end); len(waited) == len(refs) {
			stop()
		}
	}
	var rounds sync.WaitGroup
	defer rounds.Wait()
	for ctx.Err() == nil {
		for name := range refs {
			rounds.Go(func() { lookup(name) })
		}
		select {
		case <-time.After(5 * time.Second):
		case <-ctx.Done():
		}
	}
	rounds.Wait()
	if len(waited) != len(refs) {
		r.t.Errorf("after an outage of %s only these are found: %v", outage, waited)
	}

	return waited
}

// directSource returns a source without any cache that calls the region
// without connections.
func (r *region) directSource() *nodes.Source {
	r.t.Helper()
	s, _, _ := r.direct()

	return s
}

// directRoutes returns the routes of Nodes without any cache that call the region
// without connections.
func (r *region) directRoutes(nodes ...*v1.Node) *routes.Routes {
	r.t.Helper()
	s, known, api := r.direct()
	c := &cloud{}
	c.source = s
	r.withNodes(c, nodes...)

	return routes.New(routes.Config{
		Cluster: cluster.ID{Name: demo}, VPC: r.seed.VPC, Inventory: known, Nodes: s.Nodes, InstanceOf: s.InstanceOf,
	}, api)
}

func (r *region) direct() (*nodes.Source, *inventory.Inventory, client.EC2) {
	r.t.Helper()
	base, err := client.Load(r.t.Context(), client.Options{Middleware: []func(*middleware.Stack) error{r.ServeDirectly}})
	if err != nil {
		r.t.Fatal(err)
	}
	clients, err := base.In(r.t.Context(), r.Region())
	if err != nil {
		r.t.Fatal(err)
	}
	known := inventory.New(clients.EC2, inventory.Config{Cluster: cluster.ID{Name: demo}, VPC: r.seed.VPC})

	return nodes.New(nodes.Config{Region: r.Region(), VPC: r.seed.VPC}, clients.EC2, known, vpc.NewZones(clients.EC2)), known, clients.EC2
}
