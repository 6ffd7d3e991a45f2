package openstack

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/octavia"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// third is a Service with a load balancer of its own, which others can share.
func third(options ...kubetest.ServiceOption) *v1.Service {
	return web(append([]kubetest.ServiceOption{
		kubetest.ServiceUID(thirdUID), func(svc *v1.Service) { svc.Name = "third" },
	}, options...)...)
}

// moveTo sets the annotation of a Service to the load balancer of another one.
func (b *balanced) moveTo(svc, other *v1.Service) {
	b.t.Helper()
	b.change(svc, annotated(request.AnnotationLoadBalancerID, b.balancerOf(other).ID))
}

// sources are the ranges that the security group of a Service allows traffic from.
func (b *balanced) sources(svc *v1.Service) []string {
	b.t.Helper()
	groups, err := b.lb.Network.SecurityGroupsByName(bounded(b.t), request.NewNames(clusterName, svc).SecurityGroup())
	if err != nil || len(groups) != 1 {
		b.t.Fatalf("security groups %v: %v", groups, err)
	}
	rules, err := b.lb.Network.SecurityGroupRules(bounded(b.t), groups[0].ID)
	if err != nil {
		b.t.Fatal(err)
	}
	var ranges []string
	for _, rule := range rules {
		if rule.Direction == "ingress" {
			ranges = append(ranges, rule.RemotePrefix)
		}
	}
	slices.Sort(ranges)

	return ranges
}

// inMemory is a cloud in a bubble of synctest, no read of which is stale.
func inMemory() openstack.Options {
	return openstack.Options{InMemory: true, StaleReads: new(openstack.StaleReads)}
}

// TestLoadBalancerLeftGroup (OS-LB-18, OS-LB-29): the security group allows the traffic of the
// former load balancer until the Service has left it, and of no other one then. A new load
// balancer whose subnet Octavia chooses gets its rules in the first sync.
func TestLoadBalancerLeftGroup(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	other := b.AddNetwork(openstack.NetworkSpec{Name: "lbs"})
	subnet := b.AddSubnet(openstack.SubnetSpec{Network: other, CIDR: "10.9.0.0/24", Name: "lbs"})
	b.AddRouter(openstack.RouterSpec{Name: "router2", External: b.external, Subnets: []string{subnet}})
	b.start("[LoadBalancer]\nmanage-security-groups = true\nnetwork-id = " + b.network + "\n")
	owner := b.ensure(b.create(third(annotate(request.AnnotationNetworkID, other))))
	if ranges := b.sources(owner); !slices.Equal(ranges, []string{"10.9.0.0/24", "10.9.0.0/24"}) {
		t.Errorf("the group of a new load balancer allows %v", ranges)
	}
	b.serves(b.address(owner), 80, b.nodes...)
	svc := b.ensure(b.create(apiService()))
	before := b.address(svc)
	b.serves(before, 8080, b.nodes...)
	b.moveTo(svc, owner)
	const opDelete = "neutron.DeleteSecurityGroupRule"
	deleted := b.Interceptor().Count(opDelete)
	if err := b.sync(svc); again(err) == 0 {
		t.Errorf("the address is published first: %v", err)
	}
	if ranges := b.sources(svc); !slices.Equal(ranges, []string{"10.0.0.0/16", "10.9.0.0/24"}) || b.Interceptor().Count(opDelete) > deleted {
		t.Errorf("the group allows %v while both are used, some of it after a gap", ranges)
	}
	b.serves(before, 8080, b.nodes...)
	b.serves(b.address(svc), 8080, b.nodes...)
	svc = b.inSteps(svc)
	if ranges := b.sources(svc); !slices.Equal(ranges, []string{"10.9.0.0/24"}) {
		t.Errorf("the group allows %v", ranges)
	}
	b.serves(b.address(svc), 8080, b.nodes...)
	b.removed(svc)
	b.removed(owner)
	b.nothingLeft()
}

// TestLoadBalancerLeftHostname (OS-LB-29): where the status has a hostname, the former load
// balancer serves until others had time to see the new address, also if the process restarts.
func TestLoadBalancerLeftHostname(t *testing.T) {
	t.Parallel()
	for name, restarts := range map[string]bool{"Plain": false, "Restarted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := balanceIn(t, inMemory(), "") // the time of each look counts
				owner := b.ensure(b.create(third()))
				svc := b.ensure(b.create(apiService(annotate(request.AnnotationHostname, "web.example.com"))))
				former, before := b.balancerOf(svc).ID, request.AnnotationLoadBalancerAddress.Value(svc)
				b.moveTo(svc, owner)
				began := time.Now()
				err := b.sync(svc)
				if restarts {
					time.Sleep(time.Minute)
					began = time.Now()
					b.start("")
				}
				for ; err != nil; err = b.sync(svc) {
					b.serves(before, 8080, b.nodes...)
					if again(err) == 0 || time.Since(began) > 3*hostnameAge {
						t.Fatalf("sync after %s: %v", time.Since(began), err)
					}
					time.Sleep(again(err))
				}
				if took := time.Since(began); took < hostnameAge {
					t.Errorf("it was left after %s", took)
				}
				svc = b.ensure(svc)
				b.serves(before, 8080)
				b.serves(request.AnnotationLoadBalancerAddress.Value(svc), 8080, b.nodes...)
				if slices.ContainsFunc(b.LoadBalancers(), func(lb openstack.LoadBalancer) bool { return lb.ID == former }) {
					t.Error("the former load balancer is left")
				}
			})
		})
	}
}

// TestLoadBalancerLeftRenamed (OS-LB-29): a load balancer is left although the one that the
// Service uses then was made for it, too, and has its floating IP.
func TestLoadBalancerLeftRenamed(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	svc := b.create(apiService())
	if _, err := b.lb.EnsureLoadBalancer(bounded(t), "old", b.now(svc), b.nodes); err != nil {
		t.Fatal(err)
	}
	old := b.balancerOf(svc).ID
	svc = b.change(svc, func(svc *v1.Service) { svc.Annotations = nil })
	svc.Status = v1.ServiceStatus{}
	if _, err := b.kube.CoreV1().Services(svc.Namespace).UpdateStatus(t.Context(), svc, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.start("")
	svc = b.ensure(svc)
	b.change(svc, annotated(request.AnnotationLoadBalancerID, old))
	svc = b.inSteps(svc)
	b.serves(b.address(svc), 8080, b.nodes...)
	if all := b.LoadBalancers(); len(all) != 1 || all[0].ID != old {
		t.Errorf("load balancers: %v", all)
	}
	b.removed(svc)
	b.nothingLeft()
}

// TestLoadBalancerLeftUnlocked (OS-LB-2, OS-LB-29): a former load balancer that is another
// Service's by now is left as it is, and can be changed for that one.
func TestLoadBalancerLeftUnlocked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := balanceIn(t, inMemory(), "") // the lock is tried at once
		owner := b.ensure(b.create(third()))
		svc := b.ensure(b.create(apiService()))
		former := b.balancerOf(svc)
		b.moveTo(svc, owner)
		if err := b.sync(svc); again(err) == 0 {
			t.Errorf("the address is published first: %v", err)
		}
		tags := slices.DeleteFunc(former.Tags, func(tag string) bool { return request.UIDOf([]string{tag}) != "" })
		tags = append(tags, "multicloud-ccm.io/service-uid="+webUID)
		if _, err := b.lb.Octavia.UpdateLoadBalancer(bounded(t), former.ID, client.LoadBalancerUpdate{Tags: client.Set(tags)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		svc = b.inSteps(svc)
		if recorded := request.RecordOf(svc); len(recorded) != 1 || len(b.LoadBalancers()) != 2 {
			t.Errorf("record %v, load balancers %v", recorded, b.LoadBalancers())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		free, err := b.lb.balancers.Lock(ctx, former.ID)
		if err != nil {
			t.Fatalf("the load balancer stays locked: %v", err)
		}
		free()
	})
}

// TestLoadBalancerFormerMembers (OS-LB-29): Nodes join and leave the former load balancer as long
// as clients use it: while the other one is pending or in ERROR, or has no address.
func TestLoadBalancerFormerMembers(t *testing.T) {
	t.Parallel()
	cases := map[string]func(b *balanced, owner *v1.Service){
		"Pending": func(b *balanced, owner *v1.Service) {
			b.SetLoadBalancerStatus(b.balancerOf(owner).ID, "PENDING_UPDATE")
		},
		"Failed": func(b *balanced, owner *v1.Service) { b.SetLoadBalancerStatus(b.balancerOf(owner).ID, "ERROR") },
		"NotPublished": func(b *balanced, _ *v1.Service) {
			b.Interceptor().Inject("octavia.DeleteLoadBalancer", simserver.Always(), openstack.Denied())
		},
	}
	for name, fail := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t, "[LoadBalancer]\nmanage-security-groups = true\n")
			owner := b.ensure(b.create(third()))
			svc := b.ensure(b.create(apiService()))
			before := b.address(svc)
			b.moveTo(svc, owner)
			fail(b, owner)
			if name != "NotPublished" {
				if err := b.sync(svc); err == nil {
					t.Error("the other one cannot be changed")
				}
			}
			b.addNode("node-4")
			b.nodes = b.nodes[1:]
			if err := b.sync(svc); err == nil {
				t.Error("it is not left yet")
			}
			b.serves(before, 8080, b.nodes...)
			b.Interceptor().Clear()
			b.SetLoadBalancerStatus(b.balancerOf(owner).ID, "ACTIVE")
			svc = b.inSteps(svc)
			b.serves(b.address(svc), 8080, b.nodes...)
			b.serves(before, 8080)
		})
	}
}

// nothing is the response of a list that lacks its rows.
func nothing(body string) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}
}

// TestLoadBalancerErrorMoved (OS-LB-4, OS-LB-5): a load balancer in ERROR whose address is
// published is not deleted because the Service has not left another one and a list lacks the
// floating IP. One that was never published is.
func TestLoadBalancerErrorMoved(t *testing.T) {
	t.Parallel()
	t.Run("Published", func(t *testing.T) {
		t.Parallel()
		b := balance(t, "")
		svc := b.ensure(b.sharing(b.ensure(b.create(web()))))
		b.change(svc, unannotate)
		b.Interceptor().Inject("octavia.DeleteListener", simserver.Always(), openstack.Error(500, "", "not now"))
		for range 2 {
			if err := b.sync(svc); again(err) == 0 {
				t.Errorf("it has not left yet: %v", err)
			}
		}
		used := b.balancerOf(svc).ID
		b.SetLoadBalancerStatus(used, "ERROR")
		rule := b.Interceptor().Inject("neutron.ListFloatingIPs", simserver.Always(), nothing(`{"floatingips": []}`))
		for range 2 {
			if err := b.sync(svc); again(err) == 0 || errors.Is(err, octavia.ErrDiscarded) {
				t.Errorf("it may serve: %v", err)
			}
		}
		rule.Remove()
		b.serves(b.address(svc), 8080, b.nodes...)
		if now := b.balancerOf(svc).ID; now != used {
			t.Errorf("load balancer %s instead of %s", now, used)
		}
	})
	t.Run("NeverPublished", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := balanceIn(t, inMemory(), "") // the test itself decides which reads are stale
			svc := b.ensure(b.sharing(b.ensure(b.create(web()))))
			before := b.address(svc)
			b.change(svc, unannotate)
			b.HoldPending("", true)
			if err := b.sync(svc); again(err) == 0 {
				t.Errorf("it is pending: %v", err)
			}
			failed := b.balancerOf(svc).ID
			b.SetLoadBalancerStatus(failed, "ERROR")
			b.HoldPending("", false)
			if err := b.sync(svc); !errors.Is(err, octavia.ErrDiscarded) {
				t.Errorf("it never served: %v", err)
			}
			b.serves(before, 8080, b.nodes...)
			svc = b.inSteps(svc)
			b.serves(b.address(svc), 8080, b.nodes...)
		})
	})
}

// TestLoadBalancerLeftUnproven (OS-LB-3, OS-LB-29): a former load balancer that Octavia does not
// have stays in the record until it is certain that it does not exist.
func TestLoadBalancerLeftUnproven(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := balanceIn(t, inMemory(), "") // the test itself decides which reads are stale
		owner := b.ensure(b.create(third()))
		svc := b.ensure(b.create(apiService()))
		former := b.balancerOf(svc).ID
		b.moveTo(svc, owner)
		b.Interceptor().Inject("octavia.DeleteLoadBalancer", simserver.Always(), openstack.Denied())
		for range 2 {
			if err := b.sync(svc); err == nil {
				t.Error("it has not left yet")
			}
		}
		b.Interceptor().Clear()
		b.DeleteLoadBalancer(former)
		time.Sleep(2 * unclearAge)
		b.SetCell("", "cell1", openstack.CellUnknown) // as in another project
		b.start("")
		if err := b.sync(svc); !errors.Is(err, certainty.ErrUnprovenProject) {
			t.Errorf("no server of a Node is found: %v", err)
		}
		if recorded := request.RecordOf(b.now(svc)); !slices.Contains(recorded, former) {
			t.Errorf("record %v", recorded)
		}
		b.SetCell("", "cell1", openstack.CellUp)
		b.start("")
		svc = b.inSteps(svc)
		if recorded := request.RecordOf(svc); slices.Contains(recorded, former) {
			t.Errorf("record %v", recorded)
		}
	})
}

// TestLoadBalancerSetMeanwhile (OS-LB-1): an ID that a user sets while the load balancer is
// created, or while one that has failed is deleted, is not overwritten.
func TestLoadBalancerSetMeanwhile(t *testing.T) {
	t.Parallel()
	t.Run("Created", func(t *testing.T) {
		t.Parallel()
		b := balance(t, "")
		owner := b.ensure(b.create(third()))
		svc := b.create(apiService())
		b.Interceptor().Inject("octavia.CreateLoadBalancer", simserver.First(1), func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
			b.moveTo(svc, owner)
			apply.ServeHTTP(w, r)
		})
		_ = b.sync(svc)
		if b.balancerOf(svc).ID != b.balancerOf(owner).ID {
			t.Error("the ID was overwritten")
		}
		svc = b.inSteps(svc)
		b.serves(b.address(svc), 8080, b.nodes...)
		if all := b.LoadBalancers(); b.balancerOf(svc).ID != b.balancerOf(owner).ID || len(all) != 1 {
			t.Errorf("load balancers: %v", all)
		}
	})
	t.Run("Discarded", func(t *testing.T) {
		t.Parallel()
		b := balance(t, "")
		owner := b.ensure(b.create(third()))
		tags := []string{apiName, "multicloud-ccm.io/service-uid=" + apiUID}
		left := b.AddLoadBalancer(openstack.LoadBalancerSpec{Name: apiName, Subnet: b.subnet, Tags: tags})
		b.SetLoadBalancerStatus(left, "ERROR")
		svc := b.create(apiService(annotate(request.AnnotationLoadBalancerID, left)))
		b.Interceptor().Inject("octavia.ShowLoadBalancer", simserver.First(1), func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
			b.moveTo(svc, owner)
			apply.ServeHTTP(w, r)
		})
		if err := b.sync(svc); !errors.Is(err, octavia.ErrDiscarded) {
			t.Errorf("sync: %v", err)
		}
		svc = b.inSteps(svc)
		if b.balancerOf(svc).ID != b.balancerOf(owner).ID {
			t.Error("the ID was removed")
		}
	})
}

// TestLoadBalancerLeftPending (OS-LB-6, OS-LB-29): there is an Event about a former load balancer
// that has been pending for a quarter of an hour, although the one that is used is not.
func TestLoadBalancerLeftPending(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := balanceIn(t, inMemory(), "") // the time of each look counts
		first := b.ensure(b.create(web()))
		svc := b.ensure(b.sharing(first))
		b.change(svc, unannotate)
		b.SetLoadBalancerStatus(b.balancerOf(first).ID, "PENDING_UPDATE")
		b.recorded()
		began, events := time.Now(), []string(nil)
		for time.Since(began) < 2*pendingLimit {
			err := b.sync(svc)
			if again(err) == 0 {
				t.Fatalf("sync after %s: %v", time.Since(began), err)
			}
			events = append(events, b.recorded()...)
			time.Sleep(again(err))
		}
		if n := count(events, string(change.ReasonPending)); n != 1 {
			t.Errorf("%d Events: %v", n, events)
		}
	})
}

// TestLoadBalancerTakeoverMeanwhile (OS-LB-4): a load balancer that another controller has just
// requested, which has left no record, is not requested once more while lists lack it.
func TestLoadBalancerTakeoverMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := balanceIn(t, inMemory(), "") // the test itself decides which reads are stale
		svc := b.create(web(func(svc *v1.Service) {
			svc.CreationTimestamp = metav1.Now()
			svc.Finalizers = []string{"service.kubernetes.io/load-balancer-cleanup"}
		}))
		if !helpers.HasLBFinalizer(svc) {
			t.Fatal("the finalizer has another name")
		}
		time.Sleep(time.Second)
		made := b.AddLoadBalancer(openstack.LoadBalancerSpec{Name: webName, Subnet: b.subnet, Tags: []string{webName}})
		rule := b.Interceptor().Inject("octavia.ListLoadBalancers", simserver.Always(), nothing(`{"loadbalancers": []}`))
		b.start("")
		for range 3 {
			if err := b.sync(svc); again(err) == 0 {
				t.Errorf("it is not certain that there is none: %v", err)
			}
			time.Sleep(5 * time.Second)
		}
		rule.Remove()
		svc = b.ensure(svc)
		if id := b.balancerOf(svc).ID; id != made || b.Interceptor().Count("octavia.CreateLoadBalancer") > 0 {
			t.Errorf("load balancer %s, want %s", id, made)
		}
		b.serves(b.address(svc), 80, b.nodes...)
	})
}
