package openstack

import (
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// TestLoadBalancerHiddenVersion (OS-LB-13): a gateway that forwards only the paths of the API costs
// options that the API does not have, and nothing else: Services get load balancers, follow their
// Nodes and share, with tags where the API has them.
func TestLoadBalancerHiddenVersion(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		status  int
		options openstack.Options
		more    string
		tags    bool
	}{
		"404":    {"only the paths of the API are forwarded", http.StatusNotFound, openstack.Options{}, "", true},
		"403":    {"a policy denies it", http.StatusForbidden, openstack.Options{}, "", true},
		"OVN":    {"the provider lacks options", http.StatusNotFound, openstack.Options{Profile: openstack.OVN}, "lb-provider = ovn\n", true},
		"Ussuri": {"version 2.14 has no further VIPs", http.StatusNotFound, openstack.Options{OctaviaMinor: 14}, "", true},
		"Train":  {"version 2.13 has no availability zones", http.StatusNotFound, openstack.Options{OctaviaMinor: 13}, "", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				// No read is stale: the Events of single syncs are compared.
				tc.options.InMemory, tc.options.StaleReads = true, new(openstack.StaleReads)
				more := "[LoadBalancer]\ncreate-monitor = true\n" + tc.more
				b := balanceIn(t, tc.options, more)
				b.Interceptor().Inject("octavia.ListVersions", simserver.Always(), openstack.Proxy(tc.status, ""))
				svc := b.create(web())
				b.eventually("sync", func() error { return b.sync(svc) })
				b.eventually("sync again", func() error { return b.sync(svc) })
				if events := b.recorded(); count(events, string(reasonVersionHidden)) != 1 {
					t.Errorf("%s: events %q", tc.reason, events)
				}
				if lb := b.balancerOf(svc); slices.Contains(lb.Tags, webName) != tc.tags {
					t.Errorf("%s: tags %v", tc.reason, lb.Tags)
				}
				b.start(more)
				b.untouched("after a restart", func() { b.eventually("sync", func() error { return b.sync(svc) }) })
				b.eventually("a Node leaves", func() error { return b.update(svc, b.nodes[:2]...) })
				b.serves(b.address(svc), 80, b.nodes[:2]...)
				b.eventually("it comes back", func() error { return b.update(svc, b.nodes...) })
				b.serves(b.address(svc), 80, b.nodes...)
				if tc.tags {
					sharer := b.sharing(svc)
					b.eventually("share", func() error { return b.sync(sharer) })
					b.eventually("the owner is deleted", func() error { return b.remove(svc) })
					b.serves(b.address(sharer), 8080, b.nodes...)
					svc = sharer
				}
				b.eventually("remove", func() error { return b.remove(svc) })
				b.nothingLeft()
			})
		})
	}
}

// TestLoadBalancerHiddenVersionRanges (OS-LB-13, OS-LB-24): while the version is hidden, ranges of
// clients are requested from the first on.
func TestLoadBalancerHiddenVersionRanges(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	b.Interceptor().Inject("octavia.ListVersions", simserver.Always(), openstack.Proxy(http.StatusNotFound, ""))
	svc := b.create(web(func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"} }, kubetest.Port(v1.ProtocolSCTP, 90)))
	must(t, b.sync(svc))
	listeners, err := b.lb.Octavia.ListenersByLoadBalancer(bounded(t), b.balancerOf(svc).ID)
	if err != nil || len(listeners) != 3 {
		t.Fatalf("%d listeners, %v", len(listeners), err)
	}
	for _, l := range listeners {
		if !slices.Equal(l.AllowedCIDRs, []string{"192.0.2.0/24"}) {
			t.Errorf("listener %s %d allows %v", l.Protocol, l.Port, l.AllowedCIDRs)
		}
	}
	b.untouched("it is as it should be", func() { b.ensure(svc) })
}

// TestInferVersion (OS-LB-13): what the fields of a load balancer show of the version of the API.
func TestInferVersion(t *testing.T) {
	t.Parallel()
	tags := client.LBObject{Tags: []string{}}
	cases := map[string]struct {
		reason string
		info   *client.LoadBalancerInfo
		want   string
	}{
		"none yet":         {"the API refuses what it lacks", nil, features.Newest.String()},
		"additional VIPs":  {"since 2.26", &client.LoadBalancerInfo{AdditionalVIPs: []client.VIP{}, Zone: client.Optional[string]{Known: true}, LBObject: tags}, features.Newest.String()},
		"null for a zone":  {"since 2.14", &client.LoadBalancerInfo{Zone: client.Optional[string]{Known: true}, LBObject: tags}, "2.25"},
		"an empty list":    {"tags since 2.5", &client.LoadBalancerInfo{LBObject: tags}, "2.13"},
		"nothing of these": {"before 2.5", &client.LoadBalancerInfo{}, "2.4"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := inferVersion(tc.info).String(); got != tc.want {
				t.Errorf("%s: %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}
