package openstack

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// again returns when the service controller calls EnsureLoadBalancer again, 0 if the error
// does not say that.
func again(err error) time.Duration {
	if retry, ok := errors.AsType[*api.RetryError](err); ok {
		return retry.RetryAfter()
	}

	return 0
}

// count returns how many Events of a reason were recorded among these.
func count(events []string, reason string) int {
	n := 0
	for _, event := range events {
		if strings.HasPrefix(event, "Warning "+reason+" ") {
			n++
		}
	}

	return n
}

// TestLoadBalancerError (OS-LB-5): a load balancer in ERROR that was ACTIVE stays with
// everything that belongs to it, and there is one Event.
func TestLoadBalancerError(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	svc := b.ensure(b.create(web()))
	address, id := b.address(svc), b.balancerOf(svc).ID
	b.SetLoadBalancerStatus(id, "ERROR")
	b.start("")
	svc = b.change(svc, func(svc *v1.Service) { svc.Spec.Ports = svc.Spec.Ports[:1] })
	b.untouched("in ERROR", func() {
		for range 3 {
			b.incomplete(b.sync(svc))
		}
		if err := b.update(svc, b.nodes[:1]...); err == nil {
			t.Error("an update is an error")
		}
		if !b.exists(svc) {
			t.Error("it exists")
		}
	})
	if events := b.recorded(); count(events, string(change.ReasonFailed)) != 1 {
		t.Errorf("events: %v", events)
	}
	b.serves(address, 443, b.nodes...)
	b.SetLoadBalancerStatus(id, "ACTIVE")
	b.ensure(svc)
	b.serves(address, 443)
	b.serves(address, 80, b.nodes...)
	b.SetLoadBalancerStatus(id, "ERROR")
	must(t, b.remove(svc))
	b.nothingLeft()
}

// TestLoadBalancerFailedCreation (OS-LB-34): a load balancer that never becomes ACTIVE is
// deleted, and created again.
func TestLoadBalancerFailedCreation(t *testing.T) {
	t.Parallel()
	for name, cascade := range map[string]string{"Cascade": "true", "Parts": "false"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t, "[LoadBalancer]\ncascade-delete = "+cascade+"\n")
			b.FailCreations("", 1)
			svc := b.create(web())
			is(t, b.sync(svc), errDiscarded)
			if id := b.now(svc).Annotations[string(request.AnnotationLoadBalancerID)]; id != "" {
				t.Errorf("annotation %s", id)
			}
			svc = b.ensure(svc)
			if len(b.LoadBalancers()) != 1 {
				t.Errorf("load balancers: %v", b.LoadBalancers())
			}
			b.serves(b.address(svc), 80, b.nodes...)
		})
	}
}

// TestLoadBalancerDiscarded (OS-LB-34): a load balancer in ERROR that a run before has left
// is deleted, unless it is that of the annotation of a Service with an address.
func TestLoadBalancerDiscarded(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	tags := []string{webName, "multicloud-ccm.io/service-uid=" + webUID}
	left := b.AddLoadBalancer(openstack.LoadBalancerSpec{Name: webName, Subnet: b.subnet, Tags: tags})
	b.SetLoadBalancerStatus(left, "ERROR")
	svc := b.create(web(annotate(request.AnnotationLoadBalancerID, left)))
	is(t, b.sync(svc), errDiscarded)
	svc = b.ensure(svc)
	if id := b.balancerOf(svc).ID; id == left {
		t.Error("another load balancer")
	}
}

// TestLoadBalancerPending (OS-LB-35): a load balancer that stays pending holds no worker, and
// there is an Event after a quarter of an hour. No second one is made.
func TestLoadBalancerPending(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := balanceIn(t, inMemory(), "")
		b.HoldPending("", true)
		svc := b.create(web())
		began := time.Now()
		err := b.sync(svc)
		limit := b.lb.waiter.Limit()
		if took := time.Since(began); took > limit || took < limit*9/10 || again(err) < minRetryAfter {
			t.Errorf("%v after %s", err, took)
		}
		if b.now(svc).Annotations[string(request.AnnotationLoadBalancerID)] == "" {
			t.Error("the annotation has the ID")
		}
		var events []string
		for time.Since(began) < 2*pendingLimit {
			time.Sleep(again(err))
			asked := time.Now()
			b.untouched("pending", func() { err = b.sync(svc) })
			if took := time.Since(asked); took > limit || asked.Sub(began) > 3*limit && took > time.Second || again(err) < minRetryAfter || again(err) > maxRetryAfter {
				t.Fatalf("%v after %s", err, took)
			}
			events = append(events, b.recorded()...)
			if early := time.Since(began) < pendingLimit; early && wrote(events, string(change.ReasonPending)) {
				t.Fatalf("events after %s: %v", time.Since(began), events)
			}
		}
		if count(events, string(change.ReasonPending)) != 1 {
			t.Errorf("events: %v", events)
		}
		b.HoldPending("", false)
		svc = b.ensure(svc)
		if len(b.LoadBalancers()) != 1 {
			t.Errorf("load balancers: %v", b.LoadBalancers())
		}
		b.serves(b.address(svc), 80, b.nodes...)
	})
}

// TestLoadBalancerStatus (OS-LB-20): what is published.
func TestLoadBalancerStatus(t *testing.T) {
	t.Parallel()
	b := balance(t, "[LoadBalancer]\nenable-ingress-hostname = true\n")
	svc := b.ensure(b.create(web(annotate(request.AnnotationHostname, "web.example.com"))))
	if got := svc.Status.LoadBalancer.Ingress; len(got) != 1 || got[0].Hostname != "web.example.com" || got[0].IP != "" {
		t.Errorf("hostname: %v", got)
	}
	other := b.ensure(b.create(apiService(annotate(request.AnnotationProxyProtocol, "true"))))
	address := other.Annotations[string(request.AnnotationLoadBalancerAddress)]
	if got := other.Status.LoadBalancer.Ingress; len(got) != 1 || got[0].Hostname != address+".nip.io" {
		t.Errorf("PROXY protocol: %v", got)
	}
	status, exists, err := b.lb.GetLoadBalancer(bounded(t), clusterName, other)
	if diff := cmp.Diff(&other.Status.LoadBalancer, status); err != nil || !exists || diff != "" {
		t.Errorf("get: %t, %v, %s", exists, err, diff)
	}
	inner := b.change(svc, func(svc *v1.Service) {
		svc.Annotations[string(request.AnnotationInternal)] = "true"
		delete(svc.Annotations, string(request.AnnotationHostname))
	})
	inner = b.ensure(inner)
	if b.address(inner) != b.balancerOf(inner).VIPAddress {
		t.Errorf("an internal Service has the VIP: %s", b.address(inner))
	}
}
