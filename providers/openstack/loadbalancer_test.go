package openstack

import (
	"strings"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// TestLoadBalancerFamilies (OS-LB-31): the second IP family of a Service is an Event, and a Warning
// for a Service that requires two.
func TestLoadBalancerFamilies(t *testing.T) {
	t.Parallel()
	for policy, kind := range map[v1.IPFamilyPolicy]string{v1.IPFamilyPolicyPreferDualStack: "Normal", v1.IPFamilyPolicyRequireDualStack: "Warning"} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			b := balance(t, "")
			svc := b.ensure(b.create(web(func(svc *v1.Service) {
				svc.Spec.IPFamilies, svc.Spec.IPFamilyPolicy = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}, &policy
			})))
			events := b.recorded()
			if len(events) != 1 || !strings.HasPrefix(events[0], kind+" "+string(request.FamilyIgnored)+" ") {
				t.Errorf("events: %q", events)
			}
			b.serves(b.address(svc), 80, b.nodes...)
		})
	}
}

// TestLoadBalancerProfiles (OS-LB-13, OS-LB-26): the life of a Service in each kind of
// cloud, with lists of small pages and reads that show an older state.
func TestLoadBalancerProfiles(t *testing.T) {
	t.Parallel()
	cases := map[openstack.Profile]string{
		openstack.Amphora: "[LoadBalancer]\ncreate-monitor = true\n",
		openstack.OVN:     "[LoadBalancer]\nlb-provider = ovn\n",
		openstack.Bare:    "[LoadBalancer]\nprovider-requires-serial-api-calls = true\n",
	}
	for profile, more := range cases {
		t.Run(string(profile), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := balanceIn(t, openstack.Options{InMemory: true, Profile: profile, PageSize: 3}, more)
				svc := b.create(web())
				b.eventually("sync", func() error { return b.sync(svc) })
				b.serves(b.address(svc), 80, b.nodes...)
				b.eventually("sync again", func() error { return b.sync(svc) })
				b.start(more)
				b.untouched("after a restart", func() { b.eventually("sync", func() error { return b.sync(svc) }) })
				b.eventually("update", func() error { return b.update(svc, b.nodes[1:]...) })
				b.serves(b.address(svc), 443, b.nodes[1:]...)
				b.eventually("remove", func() error { return b.remove(svc) })
				b.nothingLeft()
			})
		})
	}
}
