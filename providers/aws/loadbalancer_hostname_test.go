package aws

import (
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

// AWS-LB-4: with any form of hostname, an existing load balancer is that of the
// Service: in other partitions, and in implementations of the API by others.
func TestHostnamesAreNoEvidence(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options   []kubetest.ServiceOption
		hostnames []string
	}{
		"classic": {hostnames: []string{
			"internal-web-1.cn-north-1.elb.amazonaws.com.cn", "web.elb.localhost", "web-1.elb.us-west-2.amazonaws.com", "",
		}},
		"network": {options: []kubetest.ServiceOption{nlb()}, hostnames: []string{
			"web-1.elb.cn-north-1.amazonaws.com.cn", "web-1.us-west-2.elb.amazonaws.com", "web.elb.amazonaws.com", "",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			before := b.Leaks()
			svc := web(test.options...)
			hostname := b.ensure(svc)
			for _, inStatus := range test.hostnames {
				svc.Status.LoadBalancer.Ingress[0].Hostname = inStatus
				b.unchanged(svc)
				if got := svc.Status.LoadBalancer.Ingress[0].Hostname; got != hostname {
					t.Errorf("AWS-LB-4: with %q in the status the hostname becomes %q, not %q", inStatus, got, hostname)
				}
			}
			svc.Status.LoadBalancer.Ingress[0].Hostname = test.hostnames[0]
			b.remove(svc)
			b.same(before)
		})
	}
}

// AWS-NLB-6: a load balancer that is impaired keeps its hostname.
func TestImpairedKeepsHostname(t *testing.T) {
	t.Parallel()
	b := balance(t)
	svc := web(nlb())
	hostname := b.ensure(svc)
	b.Impair(webName, true)
	if got := b.ensure(svc); got != hostname {
		t.Errorf("AWS-NLB-6: the hostname becomes %q, not %q", got, hostname)
	}
	status, exists, err := b.lb.GetLoadBalancer(t.Context(), flagged, svc)
	if err != nil || !exists || len(status.Ingress) != 1 || status.Ingress[0].Hostname != hostname {
		t.Errorf("AWS-NLB-6: Get returns %v, %t, %v", status, exists, err)
	}
}

// AWS-API-1: with any member missing in responses of AWS, load balancers are
// created, kept and deleted.
func TestSparseLoadBalancers(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]kubetest.ServiceOption{"classic": nil, "network": {nlb()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t, managedGroups)
			before := b.Leaks()
			svc := web(options...)
			b.ensure(svc)
			b.SetSparse(true)
			for range 2 {
				b.lb = b.controller(managedGroups)
				b.ensure(svc)
			}
			if !b.exists(svc) {
				t.Error("AWS-API-1: Get returns that nothing exists")
			}
			b.remove(svc)
			b.same(before)
		})
	}
}
