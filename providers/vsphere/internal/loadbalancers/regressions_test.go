package loadbalancers_test

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/policy"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/nsxt"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// twin starts the process of another cluster at the same manager, with the same name.
func (p *process) twin(change func(*request.Config)) *process {
	p.Helper()
	q := &process{T: p.T, Manager: p.Manager, settings: p.settings}
	q.settings.Classes = maps.Clone(p.settings.Classes)
	change(&q.settings)
	q.start()

	return q
}

func twoGateways() nsxt.Spec { return nsxt.Spec{Tier1s: []nsxt.Tier1{{ID: "t2", EdgeCluster: true}}} }

func atT2(c *request.Config) { c.Tier1 = "/infra/tier-1s/t2" }

// TestGroupOfTwin (VS-LB-3): the group of a Service of another cluster with the same name stays as it is, and keeps no
// Service of this cluster from being served or deleted.
func TestGroupOfTwin(t *testing.T) {
	t.Parallel()
	for name, ranges := range map[string][]string{"with ranges": {"192.0.2.0/24"}, "without": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inProcess(t, twoGateways(), func(p *process) {
				q := p.twin(atT2)
				defer q.end()
				theirs, own := web(), web()
				own.UID = "other"
				theirs.Spec.LoadBalancerSourceRanges = []string{"198.51.100.0/24"}
				own.Spec.LoadBalancerSourceRanges = ranges
				p.must(p.ensure(theirs, workers(2)...))
				p.settle()
				want := p.Resources()
				p.must(q.ensure(own, workers(2)...))
				p.settle()
				p.must(q.remove(own))
				p.check("objects of the other cluster", want)
			})
		})
	}
}

// TestReleasedBehindSearch (VS-LB-5, VS-LB-6): a virtual server that the search does not show yet is deleted, too, before the
// address is released that the upstream controller manager has allocated.
func TestReleasedBehindSearch(t *testing.T) {
	t.Parallel()
	inProcess(t, nsxt.Spec{SearchLag: time.Minute}, func(p *process) {
		u := &upstream{process: p}
		svc := kubetest.Service("default", "web", kubetest.Port(v1.ProtocolTCP, 80))
		u.create(svc, workers(2), "203.0.113.20")
		p.settle()
		p.must(p.ensure(svc, workers(2)...))
		svc.Spec.Ports = web().Spec.Ports
		p.must(p.ensure(svc, workers(2)...))
		p.restart()
		p.must(p.remove(svc))
		if servers := p.List("LBVirtualServer"); len(servers) != 0 {
			p.Errorf("%d virtual servers are left, and %d allocations", len(servers), len(p.List("IpAddressAllocation")))
		}
	})
}

// fails fails unless there is an error with a text.
func (p *process) fails(err error, text string) {
	p.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		p.Errorf("got %v, want an error with %q", err, text)
	}
}

// checkAddresses fails if a virtual server has an address without an allocation.
func (p *process) checkAddresses(what string) {
	p.Helper()
	servers, allocations := p.List("LBVirtualServer"), p.List("IpAddressAllocation")
	if len(servers) > 0 && len(allocations) == 0 {
		p.Errorf("%s: %d virtual servers serve, and no address is allocated", what, len(servers))
	}
}

// TestPlaceChanged (VS-LB-3): with another LBService in the cloud-config, the address of virtual servers that serve stays.
func TestPlaceChanged(t *testing.T) {
	t.Parallel()
	inProcess(t, twoGateways(), func(p *process) {
		a := web()
		p.must(p.ensure(a, workers(2)...))
		p.settle()
		p.must(p.Put("/infra/lb-services/other", nsxt.Object{"connectivity_path": "/infra/tier-1s/t2"}))
		p.settings.LBServiceID, p.settings.Tier1 = "other", ""
		p.restart()
		p.fails(p.ensure(a, workers(2)...), "not in the load balancer service of the cloud-config")
		p.fails(p.remove(a), "not in the load balancer service of the cloud-config")
		p.settle()
		p.checkAddresses("the LBService in the cloud-config was changed, the Service deleted")
	})
}

// TestRestoredCluster (VS-LB-3): a cluster that was restored from a backup of etcd has the same UIDs.
func TestRestoredCluster(t *testing.T) {
	t.Parallel()
	inProcess(t, twoGateways(), func(p *process) {
		a := web()
		p.must(p.ensure(a, workers(2)...))
		p.settle()
		q := p.twin(atT2)
		defer q.end()
		b := a.DeepCopy()
		p.fails(q.ensure(b, workers(2)...), "not in the load balancer service of the cloud-config")
		p.fails(q.remove(b), "not in the load balancer service of the cloud-config")
		p.settle()
		p.checkAddresses("the Service was deleted in the restored cluster")
	})
}

// TestPoolNameTwice (VS-LB-8): a name that two pools have keeps no Service from being deleted.
func TestPoolNameTwice(t *testing.T) {
	t.Parallel()
	inProcess(t, nsxt.Spec{Pools: []nsxt.Pool{{ID: "x1", Name: "twice", Ranges: []string{"192.0.2.1"}}, {ID: "x2", Name: "twice", Ranges: []string{"192.0.2.2"}}}}, func(p *process) {
		class := p.settings.Classes[request.DefaultClass]
		svc := web()
		p.must(p.ensure(svc, workers(2)...))
		p.settle()
		p.settings.Classes["unused"] = request.Class{Name: "unused", IPPool: request.Ref{Name: "twice"}, TCP: class.TCP, UDP: class.UDP}
		p.restart()
		if err := p.remove(svc); err != nil {
			p.Errorf("deletion: %v", err)
		}
	})
}

// TestSecondFamilyHoldsFirst (VS-LB-9): without an address of the second family, Nodes join the pools of the first.
func TestSecondFamilyHoldsFirst(t *testing.T) {
	t.Parallel()
	inProcess(t, nsxt.Spec{}, func(p *process) {
		svc := web()
		p.must(p.ensure(svc, workers(2)...))
		p.settle()
		p.ExhaustPool("pool6", true)
		svc.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}
		p.fails(p.ensure(svc, workers(2)...), "NSX-T cannot realize it")
		p.fails(p.UpdateLoadBalancer(p.ctx, testCluster, svc, workers(4)[2:]), "NSX-T cannot realize it")
		for _, v := range p.VirtualServers() {
			if v.Members[0].Address != "10.0.0.3" {
				p.Errorf("%s: members are Nodes that no longer exist: %v", v.Address, v.Members)
			}
		}
	})
}

// TestGroupDenied (VS-LB-11): without the right to write groups, Nodes join the pools of a Service that is served.
func TestGroupDenied(t *testing.T) {
	t.Parallel()
	inProcess(t, nsxt.Spec{}, func(p *process) {
		u, svc := &upstream{process: p}, web()
		u.create(svc, workers(2), "203.0.113.20")
		p.settle()
		p.Interceptor().Inject("PutGroup", simserver.Always(), nsxt.Fault(403, 289))
		p.Interceptor().Inject("GetGroup", simserver.Always(), nsxt.Fault(403, 289))
		p.Interceptor().Inject("ListGroups", simserver.Always(), nsxt.Fault(403, 289))
		svc.Spec.LoadBalancerSourceRanges = []string{"198.51.100.0/24"}
		p.fails(p.ensure(svc, workers(4)[2:]...), "403")
		for _, v := range p.VirtualServers() {
			if v.Members[0].Address != "10.0.0.3" {
				p.Errorf("%s: members are Nodes that no longer exist: %v", v.Address, v.Members)
			}
		}
	})
}

// TestGroupUnreadable (VS-LB-11): without the right to read groups, Services are deleted.
func TestGroupUnreadable(t *testing.T) {
	t.Parallel()
	inProcess(t, nsxt.Spec{}, func(p *process) {
		p.Interceptor().Inject("PutGroup", simserver.Always(), nsxt.Fault(403, 289))
		p.Interceptor().Inject("GetGroup", simserver.Always(), nsxt.Fault(403, 289))
		p.Interceptor().Inject("ListGroups", simserver.Always(), nsxt.Fault(403, 289))
		svc := web()
		p.must(p.ensure(svc, workers(2)...))
		if err := p.remove(svc); err != nil {
			p.Errorf("deletion without the right to groups: %v", err)
		}
	})
}

// TestLeftAddressOfIPv6 (VS-LB-9): an allocation in the pool of the other family is not taken for a new Service.
func TestLeftAddressOfIPv6(t *testing.T) {
	t.Parallel()
	inProcess(t, nsxt.Spec{}, func(p *process) {
		u, svc := &upstream{process: p}, web()
		svc.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}
		p.must(p.ensure(svc, workers(2)...))
		p.settle()
		u.remove(svc)
		p.restart()
		again := web()
		again.UID = "again"
		if err := p.ensure(again, workers(2)...); err != nil {
			p.Errorf("a Service with this name: %v", err)
		}
	})
}

// TestOddRow (VS-LB-5): objects of others whose fields have other types hold up nothing.
func TestOddRow(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]nsxt.Object{
		"ports": {"ports": 80}, "members": {"members": map[string]any{}}, "name": {"monitor_port": "80"}, "tags": {"description": 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inProcess(t, nsxt.Spec{}, func(p *process) {
				svc := web()
				p.must(p.ensure(svc, workers(2)...))
				o["tags"] = tags("cluster", testCluster, "owner", policy.Program+" of others")
				p.must(p.Put("/infra/lb-pools/odd", o))
				p.settle()
				if err := p.UpdateLoadBalancer(p.ctx, testCluster, svc, workers(3)); err != nil {
					p.Error(err)
				}
			})
		})
	}
}

// TestConcurrent (VS-LB-5): ten Services at once, with slow calls and a search that is 30 seconds behind.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	inProcess(t, nsxt.Spec{}, func(p *process) {
		for round := range 4 {
			var wg sync.WaitGroup
			for i := range 10 {
				wg.Go(func() {
					time.Sleep(time.Duration(i*round) * 300 * time.Millisecond)
					svc := kubetest.Service("default", fmt.Sprintf("web-%d", i), kubetest.Port(v1.ProtocolTCP, 80))
					if err := p.ensure(svc, workers(2)...); err != nil {
						p.Errorf("create: %v", err)
					}
					if i%2 == 0 {
						time.Sleep(time.Duration(i) * time.Second)
					}
					if err := p.remove(svc); err != nil {
						p.Errorf("delete: %v", err)
					}
				})
			}
			wg.Wait()
			if left := p.List("LBVirtualServer"); len(left) != 0 || len(p.List("IpAddressAllocation")) != 0 {
				p.Errorf("left: %v", p.Resources())
			}
		}
	})
}

// TestMonitorOfUDP (VS-LB-10): from Local to Cluster, a pool with UDP gets the TCP monitor at once.
func TestMonitorOfUDP(t *testing.T) {
	t.Parallel()
	inProcess(t, nsxt.Spec{}, func(p *process) {
		svc := kubetest.Service("default", "dns", kubetest.Port(v1.ProtocolUDP, 53), kubetest.Port(v1.ProtocolTCP, 53), kubetest.LocalTraffic(32000))
		p.must(p.ensure(svc, workers(2)...))
		p.settle()
		svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyCluster, 0
		before := maps.Clone(p.Cloud.Writes())
		p.must(p.ensure(svc, workers(2)...))
		if n := p.Cloud.Writes()["PutLBPool"] - before["PutLBPool"]; n != 2 {
			p.Errorf("%d writes of 2 pools", n)
		}
	})
}

// TestReplacedBehindSearch (VS-LB-7): a requested address, while the search shows the allocation and not yet the virtual servers.
func TestReplacedBehindSearch(t *testing.T) {
	t.Parallel()
	inProcess(t, nsxt.Spec{SearchLag: 16500 * time.Millisecond}, func(p *process) {
		svc := web()
		p.must(p.ensure(svc, workers(2)...))
		p.restart()
		svc.Spec.LoadBalancerIP = "203.0.113.77"
		p.must(p.ensure(svc, workers(2)...))
		p.settle()
		other := kubetest.Service("default", "other", kubetest.Port(v1.ProtocolTCP, 80))
		p.must(p.ensure(other, workers(2)...))
		if other.Status.LoadBalancer.Ingress[0].IP == p.VirtualServers()[0].Address && svc.Status.LoadBalancer.Ingress[0].IP == other.Status.LoadBalancer.Ingress[0].IP {
			p.Errorf("two Services have the address %s", other.Status.LoadBalancer.Ingress[0].IP)
		}
	})
}

// TestSweepStarves (VS-LB-14): what cannot be deleted uses up the limit of the sweep.
func TestSweepStarves(t *testing.T) {
	t.Parallel()
	inProcess(t, nsxt.Spec{}, func(p *process) {
		p.must(p.Put("/infra/lb-services/theirs", nsxt.Object{"connectivity_path": "/infra/tier-1s/t1", "size": "LARGE"}))
		for i := range 51 {
			path := fmt.Sprintf("/infra/lb-pools/old-%02d", i)
			p.must(p.Put(path, nsxt.Object{"tags": tags("owner", policy.Program, "cluster", testCluster, "service", fmt.Sprintf("default/old-%02d", i))}))
			if i < 50 {
				p.must(p.Put(fmt.Sprintf("/infra/lb-virtual-servers/person-%d", i), nsxt.Object{
					"ip_address": fmt.Sprintf("198.51.100.%d", i+1), "ports": []any{"80"},
					"pool_path": path, "lb_service_path": "/infra/lb-services/theirs", "application_profile_path": "/infra/lb-app-profiles/default-tcp-lb-app-profile",
				}))
			}
		}
		p.settle()
		p.sweep(testCluster, false, time.Hour)
		if n := len(p.List("LBPool")); n != 50 {
			p.Errorf("%d pools are left, want the 50 that people use", n)
		}
	})
}
