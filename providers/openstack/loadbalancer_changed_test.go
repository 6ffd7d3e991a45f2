package openstack

import (
	"errors"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
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

// inMemory is a cloud in a bubble of synctest, no read of which is stale.
func inMemory() openstack.Options {
	return openstack.Options{InMemory: true, StaleReads: new(openstack.StaleReads)}
}

// TestLoadBalancerIDChanged (OS-LB-29): a Service keeps its load balancer if its annotation is changed
// or removed, and has nothing in another one. There is an Event, and the ID of the user stays.
func TestLoadBalancerIDChanged(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		// shares means that the Service shares the load balancer of another one.
		shares bool
		edit   func(b *balanced, svc, third *v1.Service)
		events int
	}{
		"Removed": {"shared", true, func(b *balanced, svc, _ *v1.Service) { b.change(svc, unannotate) }, 0},
		"Changed": {"shared", true, (*balanced).moveTo, 1},
		"Own":     {"its own", false, (*balanced).moveTo, 1},
		"Missing": {"there is none with the ID", true, func(b *balanced, svc, _ *v1.Service) {
			b.change(svc, annotated(request.AnnotationLoadBalancerID, missing))
		}, 1},
		"Upstream": {"the upstream controller has left no record", true, func(b *balanced, svc, third *v1.Service) {
			b.change(svc, func(svc *v1.Service) { delete(svc.Annotations, string(request.AnnotationLoadBalancers)) })
			b.moveTo(svc, third)
		}, 1},
		"UpstreamRemoved": {"the same without an ID", true, func(b *balanced, svc, _ *v1.Service) {
			b.change(svc, func(svc *v1.Service) {
				delete(svc.Annotations, string(request.AnnotationLoadBalancers))
				unannotate(svc)
			})
		}, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t, "")
			first, third := b.ensure(b.create(web())), b.ensure(b.create(third()))
			svc := b.create(apiService())
			if tc.shares {
				b.moveTo(svc, first)
			}
			svc = b.ensure(svc)
			used, address := b.balancerOf(svc).ID, b.address(svc)
			tc.edit(b, svc, third)
			b.start("")
			b.recorded()
			svc = b.ensure(svc)
			if events := b.recorded(); count(events, string(reasonFixed)) != tc.events {
				t.Errorf("%s: Events %q", tc.reason, events)
			}
			if id := svc.Annotations[string(request.AnnotationLoadBalancerID)]; (id == used) != (tc.events == 0) || b.address(svc) != address {
				t.Errorf("%s: annotation %s, address %s", tc.reason, id, b.address(svc))
			}
			if recorded := request.RecordOf(svc); !slices.Equal(recorded, []string{used}) && name != "UpstreamRemoved" {
				t.Errorf("%s: record %v", tc.reason, recorded)
			}
			b.untouched("nothing has changed", func() { b.ensure(svc) })
			b.addNode("node-4")
			must(t, b.update(svc, b.nodes...))
			b.serves(address, 8080, b.nodes...)
			for _, svc := range []*v1.Service{svc, first, third} {
				b.removed(svc)
			}
			b.nothingLeft()
		})
	}
}

// TestLoadBalancerIDChangedLost (OS-LB-3, OS-LB-29): once the load balancer of a Service certainly
// does not exist, the one of the changed annotation is used.
func TestLoadBalancerIDChangedLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := balanceIn(t, inMemory(), "") // the test itself decides which reads are stale
		owner, svc := b.ensure(b.create(third())), b.ensure(b.create(apiService()))
		used := b.balancerOf(svc).ID
		b.moveTo(svc, owner)
		b.DeleteLoadBalancer(used)
		time.Sleep(2 * unclearAge)
		b.SetCell("", "cell1", openstack.CellUnknown) // as in another project
		b.start("")
		b.untouched("no server of a Node is found", func() {
			is(t, b.sync(svc), certainty.ErrUnprovenProject)
		})
		b.SetCell("", "cell1", openstack.CellUp)
		b.start("")
		svc = b.inSteps(svc)
		b.serves(b.address(owner), 8080, b.nodes...)
		if recorded := request.RecordOf(svc); !slices.Equal(recorded, []string{b.balancerOf(owner).ID}) {
			t.Errorf("record %v", recorded)
		}
		for _, svc := range []*v1.Service{svc, owner} {
			b.removed(svc)
		}
		if all := b.LoadBalancers(); len(all) > 0 {
			t.Errorf("left are %v", all)
		}
	})
}

// TestLoadBalancerLostBesideAnother (OS-LB-43): while clients may use another load balancer of the Service,
// the security group lets in what it did, also in the sync that creates a new one.
func TestLoadBalancerLostBesideAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const managed = "[LoadBalancer]\nmanage-security-groups = true\n"
		b := balanceIn(t, inMemory(), managed)
		other, svc := b.ensure(b.create(third())), b.ensure(b.create(web(isInternal())))
		own := b.balancerOf(svc).ID
		b.change(svc, func(svc *v1.Service) {
			svc.Spec.Ports = svc.Spec.Ports[:1]
			record := request.NewNames(clusterName, svc).Record(netip.Addr{}, own, b.balancerOf(other).ID)
			annotated(request.AnnotationLoadBalancers, record)(svc)
		})
		b.DeleteLoadBalancer(own)
		time.Sleep(2 * unclearAge)
		b.start(managed)
		writes := b.written(func() { _ = b.sync(svc) }) // it waits until the other one is left
		if writes["octavia.CreateLoadBalancer"] != 1 || writes["neutron.DeleteSecurityGroupRule"] != 0 {
			t.Errorf("writes %v", writes)
		}
	})
}

// TestLoadBalancerIDChangedUnread (OS-LB-44): as long as not all load balancers of the record and the
// annotation can be read, the Service is synced again later, and nothing changes.
func TestLoadBalancerIDChangedUnread(t *testing.T) {
	t.Parallel()
	for name, upstream := range map[string]bool{"Stale": false, "NoAddress": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t, "")
			owner, svc := b.ensure(b.create(third())), b.ensure(b.create(apiService()))
			used := b.balancerOf(svc).ID
			b.moveTo(svc, owner)
			svc = b.ensure(svc)
			if upstream {
				b.change(svc, func(svc *v1.Service) { delete(svc.Annotations, string(request.AnnotationLoadBalancers)) })
				b.Interceptor().Inject("neutron.ListFloatingIPs", simserver.First(1), simserver.Status(http.StatusConflict))
			} else {
				b.Interceptor().Inject("octavia.ShowLoadBalancer", simserver.First(1), simserver.Status(http.StatusNotFound))
			}
			b.untouched("it is not known which load balancer is used", func() {
				if err := b.sync(svc); err == nil {
					t.Error("no error")
				}
			})
			svc = b.ensure(svc)
			if recorded := request.RecordOf(svc); !slices.Equal(recorded, []string{used}) {
				t.Errorf("record %v, want %s", recorded, used)
			}
			for _, svc := range []*v1.Service{svc, owner} {
				b.removed(svc)
			}
			b.nothingLeft()
		})
	}
}

// TestLoadBalancerTwoRecorded (OS-LB-44): a Service that an old version has begun to move keeps the load
// balancer with the published address, and has nothing in the other one.
func TestLoadBalancerTwoRecorded(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		// back means that the published address is that of the first one, a shared one, and
		// upstream that the record has nothing but that one.
		back, deleted, upstream bool
	}{
		"Moved":        {"its own one is used", false, false, false},
		"NotMoved":     {"its own one is removed", true, false, false},
		"MovedDeleted": {"nothing is left of a Service that is deleted meanwhile", false, true, false},
		"Upstream":     {"the upstream controller was in charge meanwhile, and has followed the annotation", false, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t, "")
			first := b.ensure(b.create(web()))
			svc := b.ensure(b.sharing(first))
			before := svc.DeepCopy()
			b.change(svc, func(svc *v1.Service) { svc.Annotations = nil })
			b.unpublish(svc)
			svc = b.ensure(b.now(svc))
			own := b.balancerOf(svc).ID
			svc = b.change(svc, func(svc *v1.Service) {
				ids := []string{own, b.balancerOf(first).ID}
				if tc.upstream {
					ids = ids[1:]
				}
				annotated(request.AnnotationLoadBalancers, request.NewNames(clusterName, svc).Record(netip.Addr{}, ids...))(svc)
				if tc.back {
					annotated(request.AnnotationLoadBalancerAddress, before.Annotations[string(request.AnnotationLoadBalancerAddress)])(svc)
				}
			})
			if tc.back {
				svc.Status = before.Status
				if _, err := b.kube.CoreV1().Services(svc.Namespace).UpdateStatus(t.Context(), svc, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			b.start("")
			if tc.deleted {
				b.removed(svc)
			} else {
				svc = b.inSteps(svc)
				b.serves(b.address(svc), 8080, b.nodes...)
				if all := len(b.LoadBalancers()); tc.back != (all == 1) {
					t.Errorf("%s: %d load balancers", tc.reason, all)
				}
				if lb := b.LoadBalancer(b.balancerOf(first).ID); slices.Contains(lb.Tags, apiName) != tc.back {
					t.Errorf("%s: tags %v", tc.reason, lb.Tags)
				}
				b.removed(svc)
			}
			b.serves(b.address(first), 8080)
			b.removed(first)
			b.nothingLeft()
		})
	}
}

// TestLoadBalancerErrorPublished (OS-LB-5): a load balancer in ERROR whose address is published is not
// deleted because a list lacks its floating IP.
func TestLoadBalancerErrorPublished(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	svc := b.ensure(b.create(web()))
	used := b.balancerOf(svc).ID
	b.SetLoadBalancerStatus(used, "ERROR")
	rule := b.Interceptor().Inject("neutron.ListFloatingIPs", simserver.Always(), nothing(`{"floatingips": []}`))
	if err := b.sync(svc); again(err) == 0 || errors.Is(err, errDiscarded) {
		t.Errorf("it may serve: %v", err)
	}
	rule.Remove()
	b.serves(b.address(svc), 80, b.nodes...)
}

// nothing is the response of a list that lacks its rows.
func nothing(body string) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}
}

// TestLoadBalancerSetMeanwhile (OS-LB-32): an ID that a user sets while the load balancer is
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
		svc = b.ensure(svc)
		b.serves(b.address(svc), 8080, b.nodes...)
		if all := b.LoadBalancers(); b.balancerOf(svc).ID != b.balancerOf(owner).ID || len(all) != 2 {
			t.Errorf("the ID was overwritten; load balancers: %v", all)
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
		is(t, b.sync(svc), errDiscarded)
		svc = b.inSteps(svc)
		if b.balancerOf(svc).ID != b.balancerOf(owner).ID {
			t.Error("the ID was removed")
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
