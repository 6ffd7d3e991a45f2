package openstack

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// untouched fails the test if a function writes to the cloud.
func (b *balanced) untouched(what string, do func()) {
	b.t.Helper()
	if writes := b.written(do); len(writes) > 0 {
		b.t.Errorf("%s: %v", what, writes)
	}
}

// TestLoadBalancerTwoClusters (OS-LB-2): two clusters with one name in one project, with
// Services of one name, never touch each other's load balancers, and the second one gets an
// Event.
func TestLoadBalancerTwoClusters(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	first := b.ensure(b.create(web()))
	b.kube = kubetest.NewClientset(b.objects()...)
	b.start("")
	second := b.create(web(kubetest.ServiceUID(apiUID)))
	b.untouched("the second cluster", func() {
		is(t, b.sync(second), certainty.ErrForeignService)
		if err := b.update(second, b.nodes...); err == nil {
			t.Error("the second cluster updates that of the first one")
		}
		if b.exists(second) {
			t.Error("the second cluster has no load balancer")
		}
		if err := b.lb.EnsureLoadBalancerDeleted(bounded(t), clusterName, b.now(second)); err != nil {
			t.Errorf("deletion: %v", err)
		}
	})
	events := b.recorded()
	if !wrote(events, string(reasonNotOwned)) || !strings.Contains(events[0], webUID) {
		t.Errorf("events: %v", events)
	}
	b.serves(first.Status.LoadBalancer.Ingress[0].IP, 80, b.nodes...)
}

// TestLoadBalancerListOfAllFails (OS-LB-1): a list of all load balancers of the project that a gateway
// ends keeps no Service from getting its load balancer: those with its name are listed.
func TestLoadBalancerListOfAllFails(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	b.Interceptor().Inject("octavia.ListLoadBalancers", simserver.Always(), func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
		if query := r.URL.Query(); query.Has("name") || query.Has("tags") {
			apply.ServeHTTP(w, r)

			return
		}
		openstack.Proxy(http.StatusGatewayTimeout, "")(w, r, apply)
	})
	svc := b.create(web())
	must(t, b.sync(svc))
	if n := b.Interceptor().Count("octavia.ListLoadBalancers"); n != 2 {
		t.Errorf("%d lists, want one for each of the two names", n)
	}
	b.serves(b.address(svc), 80, b.nodes...)
	b.start("")
	b.change(svc, unannotate)
	must(t, b.sync(svc))
	must(t, b.remove(svc))
	b.nothingLeft()
}

// reference adds a load balancer as the existing controller manager leaves it behind, with
// these members.
func (b *balanced) reference(members map[string]string, change func(*openstack.ServiceSpec)) string {
	spec := openstack.ServiceSpec{
		Name: "web", Subnet: b.subnet, Nodes: members, NoMonitors: true, FloatingNetwork: b.external,
		Ports: []openstack.ServicePort{{Protocol: "TCP", Port: 80, NodePort: 30080}, {Protocol: "TCP", Port: 443, NodePort: 30443}},
	}
	if change != nil {
		change(&spec)
	}

	return b.AddServiceLoadBalancer(spec)
}

// members are the Nodes by their names.
func (b *balanced) members() map[string]string {
	all := map[string]string{}
	for _, node := range b.nodes {
		all[node.Name] = node.Status.Addresses[0].Address
	}

	return all
}

// TestLoadBalancerAdoption (OS-LB-2): a load balancer without the tag of a Service is
// adopted if its members are Nodes.
func TestLoadBalancerAdoption(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		members func(*balanced) map[string]string
		change  func(*openstack.ServiceSpec)
		want    error
		changed bool
	}{
		"Nodes":  {"the reference made it", (*balanced).members, nil, nil, false},
		"Legacy": {"an old release made it", (*balanced).members, func(s *openstack.ServiceSpec) { s.LegacyName, s.NoTags = "a1111111111114111811111111111111", true }, nil, true},
		"Empty":  {"nothing is served", func(*balanced) map[string]string { return nil }, nil, nil, true},
		"Others": {"another cluster's", func(*balanced) map[string]string { return map[string]string{"x": "10.0.9.9"} }, nil, certainty.ErrForeignService, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t, "")
			id := b.reference(tc.members(b), tc.change)
			svc := b.create(web())
			writes := b.written(func() {
				if err := b.sync(svc); !errors.Is(err, tc.want) || (err == nil) != (tc.want == nil) {
					t.Errorf("%s: %v, want %v", tc.reason, err, tc.want)
				}
			})
			if changed := len(writes) > 0; changed != tc.changed {
				t.Errorf("%s: writes %v", tc.reason, writes)
			}
			events := b.recorded()
			if wrote(events, string(reasonNotOwned)) != (tc.want != nil) {
				t.Errorf("%s: events %v", tc.reason, events)
			}
			if tc.want == nil && b.balancerOf(svc).ID != id {
				t.Errorf("%s: another load balancer", tc.reason)
			}
			if got := len(b.LoadBalancers()); got != 1 {
				t.Errorf("%s: %d load balancers", tc.reason, got)
			}
		})
	}
}

// TestLoadBalancerAnnotated (OS-LB-3): the load balancer of the annotation is used, or it is
// an error.
func TestLoadBalancerAnnotated(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	lan := b.AddNetwork(openstack.NetworkSpec{Name: "other", Project: openstack.ProjectOther})
	subnet := b.AddSubnet(openstack.SubnetSpec{Network: lan, CIDR: "10.1.0.0/24"})
	foreign := b.AddLoadBalancer(openstack.LoadBalancerSpec{Name: webName, Project: openstack.ProjectOther, Subnet: subnet})
	cases := map[string]struct {
		id            string
		want, deleted error
	}{
		"OtherProject": {foreign, apierr.ErrDenied, apierr.ErrDenied},
		"None":         {"00000000-0000-4000-8000-000000000000", apierr.ErrInvalid, nil},
		"NoID":         {"web", apierr.ErrInvalid, nil},
	}
	for name, tc := range cases {
		svc := b.create(web(annotate(request.AnnotationLoadBalancerID, tc.id), func(svc *v1.Service) { svc.Name = "web-" + strings.ToLower(name) }))
		b.untouched(name, func() {
			if err := b.sync(svc); !errors.Is(err, tc.want) {
				t.Errorf("%s: %v, want %v", name, err, tc.want)
			}
			if err := b.remove(svc); !errors.Is(err, tc.deleted) || (err == nil) != (tc.deleted == nil) {
				t.Errorf("%s: deletion: %v, want %v", name, err, tc.deleted)
			}
		})
	}
}

// TestLoadBalancerSurplus (OS-LB-27): of several load balancers with the name, the one that
// was made for the Service is used, and another one of it is deleted.
func TestLoadBalancerSurplus(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	tags := []string{webName, "multicloud-ccm.io/service-uid=" + webUID}
	old := b.reference(b.members(), nil)
	first := b.AddLoadBalancer(openstack.LoadBalancerSpec{Name: webName, Subnet: b.subnet, Tags: tags})
	second := b.AddLoadBalancer(openstack.LoadBalancerSpec{Name: webName, Subnet: b.subnet, Tags: tags})
	svc := b.ensure(b.create(web()))
	used := b.balancerOf(svc).ID
	if used != first && used != second {
		t.Errorf("the one with the tag is used: %s", used)
	}
	if all := b.LoadBalancers(); len(all) != 2 || all[0].ID != old {
		t.Errorf("the other one with the tag is deleted, that with a floating IP is not: %v", all)
	}
	b.warned(reasonDuplicate)
}

// TestLoadBalancerSurplusDeleted (OS-LB-15, OS-LB-27): a Service is deleted with all load balancers that
// were made for it, but not with one that may serve or that another Service has its tag on.
func TestLoadBalancerSurplusDeleted(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	tags := []string{webName, "multicloud-ccm.io/service-uid=" + webUID}
	stay := []string{b.reference(b.members(), nil)}
	add := func(tags ...string) string {
		return b.AddLoadBalancer(openstack.LoadBalancerSpec{Name: webName, Subnet: b.subnet, Tags: tags})
	}
	used, _, public := add(tags...), add(tags...), add(tags...)
	b.AddFloatingIP(openstack.FloatingIPSpec{Network: b.external, Port: b.LoadBalancer(public).VIPPort})
	stay = append(stay, public, add(append(tags, apiName)...))
	svc := b.create(web(annotate(request.AnnotationLoadBalancerAddress, b.LoadBalancer(used).VIPAddress)))
	if err := b.remove(svc); err != nil {
		t.Fatal(err)
	}
	goes := func(lb openstack.LoadBalancer) bool { return !slices.Contains(stay, lb.ID) }
	if all := b.LoadBalancers(); len(all) != len(stay) || slices.ContainsFunc(all, goes) {
		t.Errorf("left are %v, want %v", all, stay)
	}
	if events := b.recorded(); count(events, string(reasonDuplicate)) != len(stay) {
		t.Errorf("events: %v", events)
	}
}

// TestLoadBalancerVersionFailure (OS-LB-13): an API whose version cannot be read is not an
// old one.
func TestLoadBalancerVersionFailure(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	b.Interceptor().Inject("octavia.ListVersions", simserver.Always(), openstack.Proxy(503, ""))
	svc := b.create(web())
	b.untouched("without the version", func() {
		is(t, b.sync(svc), apierr.ErrUnavailable)
	})
	b.Interceptor().Clear()
	b.ensure(svc)
}

// TestLoadBalancerStaleReads (OS-LB-4, OS-LB-17): with reads that show an older state, each
// Service gets one load balancer, and nothing of it is left.
func TestLoadBalancerStaleReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := balanceIn(t, openstack.Options{InMemory: true, StaleReads: &openstack.StaleReads{Every: 1, Reads: 2}}, "")
		const services = 5
		for i := range services {
			svc := b.create(web(func(svc *v1.Service) {
				svc.Name = fmt.Sprintf("web-%d", i)
				svc.UID = types.UID(fmt.Sprintf("33333333-3333-4333-8333-%012d", i))
			}))
			b.eventually("sync", func() error { return b.sync(svc) })
			b.eventually("sync again", func() error { return b.sync(svc) })
			if n := b.Interceptor().Count("octavia.CreateLoadBalancer"); n != i+1 {
				t.Fatalf("%d load balancers were created", n)
			}
			b.serves(b.address(svc), 80, b.nodes...)
		}
		for i := range services {
			svc := web(func(svc *v1.Service) { svc.Name = fmt.Sprintf("web-%d", i) })
			b.eventually("remove", func() error { return b.remove(svc) })
		}
		b.nothingLeft()
	})
}

// eventually repeats a function as the service controller does, until it does not fail.
func (b *balanced) eventually(what string, do func() error) {
	b.t.Helper()
	var err error
	for range 20 {
		if err = do(); err == nil {
			return
		}
		time.Sleep(max(again(err), 5*time.Second))
	}
	b.t.Fatalf("%s: %v", what, err)
}

// TestLoadBalancerSurplusRefused (OS-LB-27): a duplicate that cannot be deleted does not keep the Service
// from being served, and is deleted by the next sync, or with the Service.
func TestLoadBalancerSurplusRefused(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(b *balanced, svc *v1.Service) error{
		"Sync":     func(b *balanced, svc *v1.Service) error { return b.sync(svc) },
		"Deletion": func(b *balanced, svc *v1.Service) error { return b.remove(svc) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t, "")
			tags := []string{webName, "multicloud-ccm.io/service-uid=" + webUID}
			for range 2 {
				b.AddLoadBalancer(openstack.LoadBalancerSpec{Name: webName, Subnet: b.subnet, Tags: tags})
			}
			svc := b.create(web())
			b.Interceptor().Inject("octavia.DeleteLoadBalancer", simserver.Always(), openstack.Denied())
			for range 2 {
				b.syncIncomplete(svc, b.nodes)
				b.serves(b.address(b.now(svc)), 80, b.nodes...)
			}
			b.Interceptor().Clear()
			must(t, end(b, svc))
			left := 1
			if name == "Deletion" {
				left = 0
			}
			if all := b.LoadBalancers(); len(all) != left {
				t.Errorf("left are %v", all)
			}
		})
	}
}
