package loadbalancers_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/record"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/policy"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/vspheretest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/nsxt"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	"github.com/multicloud-ccm/multicloud-ccm/test/profile"
)

// sweep runs the sweep of the process for some time. Services exist in the Kubernetes API.
func (p *process) sweep(cluster string, allowDefaultName bool, d time.Duration, services ...*v1.Service) {
	p.Helper()
	client := kubetest.NewClientset()
	p.kube = client
	for _, svc := range services {
		if _, err := client.CoreV1().Services(svc.Namespace).Create(p.Context(), svc, metav1.CreateOptions{}); err != nil {
			p.Fatal(err)
		}
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	p.SetInformers(factory)
	ctx, cancel := context.WithCancel(p.ctx)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.RunSweep(ctx, cluster, allowDefaultName)
	}()
	time.Sleep(d)
	cancel()
	<-done
	factory.Shutdown()
}

// twoLooks is a time in which the sweep looks twice.
const twoLooks = 31 * time.Minute

// left makes a load balancer of a Service that is kept, and one of a Service that is gone.
func (p *process) left() (kept, gone *v1.Service, want []string) {
	p.Helper()
	kept, gone = web(), kubetest.Service("default", "gone", kubetest.Port(v1.ProtocolTCP, 80), kubetest.ServiceUID("00000000-5e1f-4c0d-8a7b-00c0ffee0000"))
	gone.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}
	gone.Spec.LoadBalancerSourceRanges = []string{"198.51.100.0/24"}
	p.must(p.ensure(kept, workers(2)...))
	want = p.Resources()
	p.must(p.ensure(gone, workers(2)...))
	p.settle()

	return kept, gone, want
}

// TestSweep (VS-LB-14): objects of a Service that no longer exists are deleted once two looks have shown that, with their
// addresses in every pool. Those of others stay.
func TestSweep(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		cluster string
		allow   bool
		d       time.Duration
		change  func(p *process, gone *v1.Service) (exists []*v1.Service)
		stays   bool
	}{
		"gone":     {reason: "two looks", cluster: testCluster, d: twoLooks},
		"one look": {reason: "a Service may just not be known yet", cluster: testCluster, d: twoLooks - 5*time.Minute, stays: true},
		"no cluster": {reason: "nothing tells clusters apart", d: twoLooks, stays: true, change: func(p *process, _ *v1.Service) []*v1.Service {
			p.must(p.Put("/infra/lb-pools/none", nsxt.Object{"tags": tags("owner", policy.Program, "service", "default/gone")}))
			p.Interceptor().Inject("Search", simserver.Always(), nsxt.Fault(400, 60508))

			return nil
		}},
		"one fails": {reason: "the first look and the third one", cluster: testCluster, d: 2 * twoLooks, change: func(p *process, _ *v1.Service) []*v1.Service {
			p.Interceptor().Inject("Search", simserver.Nth(2), nsxt.Fault(400, 60508))
			p.Interceptor().Inject("ListLBPools", simserver.Nth(1), nsxt.Fault(403, 289))

			return nil
		}},
		"other type": {reason: "it has no load balancer", cluster: testCluster, d: twoLooks, change: func(_ *process, gone *v1.Service) []*v1.Service {
			gone.Spec.Type = v1.ServiceTypeClusterIP

			return []*v1.Service{gone}
		}},
		"exists": {reason: "with a class of another controller, too", cluster: testCluster, d: twoLooks, stays: true, change: func(_ *process, gone *v1.Service) []*v1.Service {
			gone.Spec.LoadBalancerClass = new("other")

			return []*v1.Service{gone}
		}},
		"finalizer": {reason: "its load balancer is being deleted", cluster: testCluster, d: twoLooks, stays: true, change: func(_ *process, gone *v1.Service) []*v1.Service {
			gone.Spec.Type, gone.Finalizers = v1.ServiceTypeClusterIP, []string{"service.kubernetes.io/load-balancer-cleanup"}

			return []*v1.Service{gone}
		}},
		"not known": {reason: "the search and the lists fail", cluster: testCluster, d: twoLooks, stays: true, change: func(p *process, _ *v1.Service) []*v1.Service {
			p.Interceptor().Inject("Search", simserver.Always(), nsxt.Fault(400, 60508))
			p.Interceptor().Inject("ListLBPools", simserver.Always(), nsxt.Fault(403, 289))

			return nil
		}},
		"lists": {reason: "the search fails alone", cluster: testCluster, d: twoLooks, change: func(p *process, _ *v1.Service) []*v1.Service {
			p.Interceptor().Inject("Search", simserver.Always(), nsxt.Fault(400, 60508))

			return nil
		}},
		"place": {reason: "they are in another LBService", cluster: testCluster, d: twoLooks, stays: true, change: func(p *process, _ *v1.Service) []*v1.Service {
			p.settings.LBServiceID = "other"
			p.must(p.Put("/infra/lb-services/other", nsxt.Object{"connectivity_path": "/infra/tier-1s/t2"}))
			p.restart()

			return nil
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inProcess(t, nsxt.Spec{Tier1s: []nsxt.Tier1{{ID: "t2", EdgeCluster: true}}}, func(p *process) {
				kept, gone, want := p.left()
				exists := []*v1.Service{kept}
				if tc.change != nil {
					exists = append(exists, tc.change(p, gone)...)
				}
				if tc.stays {
					want = p.Resources()
				}
				p.sweep(tc.cluster, tc.allow, tc.d, exists...)
				p.check(tc.reason, want)
				for _, line := range p.Leaks() {
					if strings.HasPrefix(line, "lost ") {
						p.Errorf("%s: %s", tc.reason, line)
					}
				}
			})
		})
	}
}

// TestSweepDefaultName (VS-LB-14): clusters with the default name cannot be told apart.
func TestSweepDefaultName(t *testing.T) {
	t.Parallel()
	for name, allow := range map[string]bool{"off": false, "allowed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inProcess(t, nsxt.Spec{}, func(p *process) {
				svc := web()
				status, err := p.EnsureLoadBalancer(p.ctx, "kubernetes", svc, workers(1))
				if err != nil || len(status.Ingress) != 1 {
					p.Fatal(status, err)
				}
				p.settle()
				p.sweep("kubernetes", allow, twoLooks)
				if left := p.Resources(); (len(left) == 0) != allow {
					p.Errorf("left: %v", left)
				}
			})
		})
	}
}

// TestSweepYoung (VS-LB-14): what was created a short time ago stays, as its Service may come.
func TestSweepYoung(t *testing.T) {
	t.Parallel()
	inProcess(t, nsxt.Spec{}, func(p *process) {
		kept, _, want := p.left()
		go func() {
			time.Sleep(25 * time.Minute)
			p.must(p.Put("/infra/lb-pools/late", nsxt.Object{"tags": tags("owner", "vsphere-cloud-controller-manager", "cluster", testCluster, "service", "default/gone")}))
		}()
		all := p.Resources()
		p.sweep(testCluster, false, twoLooks, kept)
		p.check("young", all)
		p.sweep(testCluster, false, twoLooks, kept)
		p.check("old", want)
	})
}

// TestSweepLBService (VS-LB-2, VS-LB-14): an LBService of the cluster without virtual servers is deleted, unless it was created a
// short time ago.
func TestSweepLBService(t *testing.T) {
	t.Parallel()
	inProcess(t, nsxt.Spec{}, func(p *process) {
		unused := nsxt.Object{"connectivity_path": vspheretest.Tier1, "size": "LARGE", "tags": tags("owner", policy.Program, "cluster", testCluster)}
		p.must(p.Put("/infra/lb-services/unused", unused))
		p.settle()
		go func() {
			time.Sleep(25 * time.Minute)
			p.must(p.Delete("/infra/lb-services/unused"))
			time.Sleep(time.Minute)
			p.must(p.Put("/infra/lb-services/unused", unused))
		}()
		for what, left := range []int{1, 0} {
			p.sweep(testCluster, false, twoLooks)
			if n := len(p.List("LBService")); n != left {
				p.Errorf("%d times two looks: %d are left, want %d", what+1, n, left)
			}
		}
	})
}

// TestSweepComes (VS-LB-14): a Service that comes during the look keeps its objects.
func TestSweepComes(t *testing.T) {
	t.Parallel()
	inProcess(t, nsxt.Spec{}, func(p *process) {
		for _, name := range []string{"a", "b"} {
			p.must(p.Put("/infra/lb-pools/"+name, nsxt.Object{"tags": tags("owner", policy.Program, "cluster", testCluster, "service", "default/"+name)}))
		}
		p.settle()
		p.Interceptor().Inject("DeleteLBPool", simserver.Nth(1), simserver.Before(func() {
			svc := kubetest.Service("default", "b")
			if _, err := p.kube.CoreV1().Services(svc.Namespace).Create(p.Context(), svc, metav1.CreateOptions{}); err != nil {
				p.Error(err)
			}
			time.Sleep(time.Second)
		}))
		p.sweep(testCluster, false, twoLooks)
		if left := slices.Collect(maps.Keys(p.List("LBPool"))); !slices.Equal(left, []string{"/infra/lb-pools/b"}) {
			p.Errorf("left: %q", left)
		}
	})
}

// TestSweepEnds (VS-LB-14): a process can end at any call of the sweep. The next one goes on.
func TestSweepEnds(t *testing.T) {
	t.Parallel()
	calls := 0
	inProcess(t, nsxt.Spec{}, func(p *process) {
		kept, _, want := p.left()
		calls = p.Calls()
		p.sweep(testCluster, false, twoLooks, kept)
		p.check("swept", want)
		calls = p.Calls() - calls
	})
	every := profile.Of(5, 2, 1)
	for i, applied := range []bool{false, true} {
		for call := 1 + i%every; call <= calls; call += every {
			inProcess(t, nsxt.Spec{}, func(p *process) {
				kept, _, want := p.left()
				rule := p.Interceptor().Inject(simserver.Any, simserver.Nth(call), simserver.Kill(p.kill, applied))
				p.sweep(testCluster, false, twoLooks, kept)
				rule.Remove()
				p.restart()
				p.sweep(testCluster, false, twoLooks, kept)
				p.check(fmt.Sprintf("ended at call %d of %d", call, calls), want)
			})
		}
	}
}

// TestSweepLimit (VS-LB-14): objects of at most 50 Services are deleted after a look, with an Event about the others. Those with
// a tag that is no name of a Service do not count.
func TestSweepLimit(t *testing.T) {
	t.Parallel()
	inProcess(t, nsxt.Spec{}, func(p *process) {
		recorder := record.NewFakeRecorder(10)
		p.Services().SetRecorder(recorder)
		for i := range 53 {
			p.must(p.Put(fmt.Sprintf("/infra/lb-pools/old-%d", i), nsxt.Object{
				"tags": tags("owner", "vsphere-cloud-controller-manager", "cluster", testCluster, "service", fmt.Sprintf("default/old-%d", i)),
			}))
		}
		p.must(p.Put("/infra/lb-pools/odd", nsxt.Object{"tags": tags("owner", "vsphere-cloud-controller-manager", "cluster", testCluster, "service", "a")}))
		p.settle()
		p.sweep(testCluster, false, twoLooks)
		p.settle()
		if n := len(p.List("LBPool")); n != 3+1 {
			p.Errorf("%d are left, want 3, and that of others", n)
		}
		if events := strings.Join(kubetest.Events(recorder), "\n"); !strings.Contains(events, "SweepLimited") {
			p.Errorf("Events: %s", events)
		}
	})
}
