package openstack

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// missing is the ID of no load balancer.
const missing = "99999999-9999-4999-8999-999999999999"

// behind has all reads show the state before the next write from now on.
func (b *balanced) behind() {
	b.SetStaleReads(openstack.StaleReads{Every: 1, Reads: 1 << 20})
}

// current has all reads show the present state.
func (b *balanced) current() { b.SetStaleReads(openstack.StaleReads{}) }

// inSteps repeats a sync as the service controller does, which must end without an error.
func (b *balanced) inSteps(svc *v1.Service) *v1.Service {
	b.t.Helper()
	var err error
	for range 5 {
		if err = b.sync(svc); err == nil {
			return b.ensure(svc)
		}
	}
	b.t.Fatalf("sync %s: %v", svc.Name, err)

	return nil
}

// removed repeats the deletion until it has ended, and fails the test if it does not.
func (b *balanced) removed(svc *v1.Service) {
	b.t.Helper()
	b.eventually("remove "+svc.Name, func() error { return b.remove(svc) })
}

// unannotate removes the annotation with the ID.
func unannotate(svc *v1.Service) { delete(svc.Annotations, string(request.AnnotationLoadBalancerID)) }

// TestLoadBalancerRequestedOnce (OS-LB-4): after a creation without a clear result, no other
// load balancer is requested and no Service is deleted while lists may not show it, also by
// the next process and if the annotation has the ID of one that was lost.
func TestLoadBalancerRequestedOnce(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason                  string
		lost, restarts, deletes bool
	}{
		"New":            {reason: "the first load balancer"},
		"NewRestarted":   {reason: "the next process does not know of the request", restarts: true},
		"Lost":           {reason: "the annotation has another ID", lost: true},
		"LostRestarted":  {reason: "both", lost: true, restarts: true},
		"Deleted":        {reason: "it would be left", deletes: true},
		"DeletedRestart": {reason: "it would be left", restarts: true, deletes: true},
		"DeletedLost":    {reason: "it would be left", lost: true, deletes: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := balanceIn(t, inMemory(), "")
				svc := b.create(web())
				if tc.lost {
					svc = b.ensure(svc)
					b.DeleteLoadBalancer(b.balancerOf(svc).ID)
					time.Sleep(2 * unclearAge)
				}
				b.behind()
				b.Interceptor().Reset()
				b.Interceptor().Inject("octavia.CreateLoadBalancer", simserver.First(1), openstack.ProxyAfter(http.StatusGatewayTimeout))
				if err := b.sync(svc); err == nil {
					t.Errorf("%s: the response is lost", tc.reason)
				}
				if tc.restarts {
					b.start("")
				}
				operate := b.sync
				if tc.deletes {
					operate = b.remove
				}
				for range 3 {
					if err := operate(svc); err == nil {
						t.Errorf("%s: it is not certain that there is none", tc.reason)
					}
					time.Sleep(5 * time.Second)
				}
				b.current()
				b.eventually(tc.reason, func() error { return operate(svc) })
				if n := b.Interceptor().Count("octavia.CreateLoadBalancer"); n != 1 {
					t.Errorf("%s: %d requests", tc.reason, n)
				}
				if !tc.deletes {
					b.serves(b.address(svc), 80, b.nodes...)
					b.removed(svc)
				}
				b.nothingLeft()
			})
		})
	}
}

// TestLoadBalancerLostEarly (OS-LB-3): a load balancer that was deleted outside before it had
// an address is replaced, as any other one that the controller has made.
func TestLoadBalancerLostEarly(t *testing.T) {
	t.Parallel()
	for name, deletes := range map[string]bool{"Synced": false, "Deleted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := balanceIn(t, inMemory(), "")
				b.HoldPending("", true)
				svc := b.create(web())
				_ = b.sync(svc)
				lost := b.balancerOf(svc).ID
				b.HoldPending("", false)
				b.DeleteLoadBalancer(lost)
				time.Sleep(2 * unclearAge)
				b.SetCell("", "cell1", openstack.CellUnknown) // as in another project
				b.start("")
				operate := b.sync
				if deletes {
					operate = b.remove
				}
				b.untouched("no server of a Node is found", func() {
					is(t, operate(svc), certainty.ErrUnprovenProject)
				})
				b.SetCell("", "cell1", openstack.CellUp)
				b.start("")
				b.eventually("proven", func() error { return operate(svc) })
				if !deletes {
					b.serves(b.address(svc), 80, b.nodes...)
					if events := b.recorded(); b.balancerOf(svc).ID == lost || !wrote(events, string(reasonLost)) {
						t.Errorf("events: %v", events)
					}
					b.removed(svc)
				}
				b.nothingLeft()
			})
		})
	}
}

const thirdUID = "55555555-5555-4555-8555-555555555555"

// TestLoadBalancerLeftForeign (OS-LB-2, OS-LB-32, OS-LB-44): neither the record of a copy of the Service
// nor the tag of a Service with the same name has anything removed.
func TestLoadBalancerLeftForeign(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	first := b.ensure(b.create(web()))
	svc := b.ensure(b.sharing(first))
	address := b.address(svc)
	b.kube = kubetest.NewClientset(b.objects()...)
	b.start("")
	record := svc.Annotations[string(request.AnnotationLoadBalancers)]
	if !strings.HasPrefix(record, apiUID+" ") {
		t.Errorf("record %q", record)
	}
	twin := b.create(apiService(kubetest.ServiceUID(thirdUID), annotate(request.AnnotationLoadBalancers, record)))
	b.ensure(twin)
	b.serves(address, 8080, b.nodes...)
	b.removed(twin)
	b.serves(address, 8080, b.nodes...)
}

// TestLoadBalancerDeletionDoubt (OS-LB-3): a Service without an address is deleted only if it
// is certain that it has nothing in the load balancer of the annotation.
func TestLoadBalancerDeletionDoubt(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		fault  simserver.Fault
		want   error
	}{
		"Proxy":  {"a 404 of a proxy proves nothing", openstack.Proxy(http.StatusNotFound, ""), apierr.ErrUnavailable},
		"Denied": {"it may be there", openstack.Denied(), apierr.ErrDenied},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t, "")
			owner := b.ensure(b.create(web()))
			svc := b.ensure(b.sharing(owner))
			b.unpublish(svc)
			b.start("")
			b.Interceptor().Inject("octavia.ShowLoadBalancer", simserver.Always(), tc.fault)
			b.untouched(tc.reason, func() {
				if err := b.remove(svc); !errors.Is(err, tc.want) {
					t.Errorf("%s: %v", tc.reason, err)
				}
			})
			b.Interceptor().Clear()
			b.removed(svc)
			b.removed(owner)
			b.nothingLeft()
		})
	}
}

// TestLoadBalancerDeletedByName (OS-LB-3): a Service whose annotation has a wrong ID is deleted
// with the load balancer that has its name.
func TestLoadBalancerDeletedByName(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	b.AddLoadBalancer(openstack.LoadBalancerSpec{Name: webName, Subnet: b.subnet, Tags: []string{webName, "multicloud-ccm.io/service-uid=" + webUID}})
	b.removed(b.create(web(annotate(request.AnnotationLoadBalancerID, missing))))
	if all := b.LoadBalancers(); len(all) > 0 {
		t.Errorf("left is %v", all)
	}
}

// TestLoadBalancerBeingDeleted (OS-LB-6): the error about a load balancer that others delete is
// that, and it is replaced once it is gone.
func TestLoadBalancerBeingDeleted(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	svc := b.ensure(b.create(web()))
	b.SetLoadBalancerStatus(b.balancerOf(svc).ID, "PENDING_DELETE")
	b.untouched("being deleted", func() {
		if err := b.sync(svc); again(err) == 0 || !strings.Contains(err.Error(), errGoing.Error()) {
			t.Errorf("sync: %v", err)
		}
	})
}

// TestLoadBalancerOwnerLeavesFirst (OS-LB-41): a Service that joins a load balancer while its
// owner is deleted either keeps it or finds that it does not exist.
func TestLoadBalancerOwnerLeavesFirst(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	owner := b.ensure(b.create(web()))
	sharer := b.sharing(owner)
	address := b.address(owner)
	var err error
	b.all([]*v1.Service{owner, sharer}, func(svc *v1.Service) {
		if svc.Name == owner.Name {
			if err := b.remove(svc); err != nil {
				t.Errorf("remove: %v", err)
			}

			return
		}
		err = b.sync(svc)
	})
	if err == nil {
		b.serves(address, 8080, b.nodes...)
	} else if len(b.LoadBalancers()) > 0 {
		t.Errorf("sync: %v", err)
	}
	b.removed(sharer)
	b.nothingLeft()
}

// TestLoadBalancerJoinedMeanwhile (OS-LB-41): a load balancer that another process changes while
// its owner is deleted is not deleted before it is read again: a Service may have joined.
func TestLoadBalancerJoinedMeanwhile(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	owner := b.ensure(b.create(web()))
	sharer := b.sharing(owner)
	address := b.address(owner)
	other := *b
	other.start("")
	b.Interceptor().Inject("octavia.DeleteLoadBalancer", simserver.First(1), func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
		id := b.balancerOf(owner).ID
		if err := other.sync(sharer); err != nil {
			t.Errorf("sync: %v", err)
		}
		openstack.Error(http.StatusConflict, "", "Load Balancer "+id+" is immutable and cannot be updated.")(w, r, apply)
	})
	if err := b.remove(owner); err == nil {
		t.Error("it was being changed")
	}
	b.removed(owner)
	b.serves(address, 8080, b.nodes...)
	b.removed(sharer)
	b.nothingLeft()
}
