package openstack

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/floatingip"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// TestKeptVIP (OS-LB-30): the VIP is kept if it is published, and the upstream controller left
// it so or the record has it.
func TestKeptVIP(t *testing.T) {
	t.Parallel()
	const vip, balancer = "10.9.0.5", "33333333-3333-4333-8333-333333333333"
	ip := v1.LoadBalancerIngress{IP: vip}
	hostname := func(text string) v1.LoadBalancerIngress { return v1.LoadBalancerIngress{Hostname: text} }
	recorded := func(text string) kubetest.ServiceOption {
		return annotate(request.AnnotationLoadBalancers, webUID+" "+balancer+text)
	}
	address := func(text string) kubetest.ServiceOption {
		return annotate(request.AnnotationLoadBalancerAddress, text)
	}
	for name, tc := range map[string]struct {
		reason  string
		status  []v1.LoadBalancerIngress
		service []kubetest.ServiceOption
		tags    []string
		request request.Request
		vip     string // default that of the status
		want    bool
	}{
		"upstream":           {reason: "no external network was found", status: []v1.LoadBalancerIngress{ip}, want: true},
		"upstream annotated": {reason: "versions since 1.21 do", status: []v1.LoadBalancerIngress{ip}, service: []kubetest.ServiceOption{address(vip)}, want: true},
		"new":                {reason: "nothing is published"},
		"crashed":            {reason: "the floating IP follows the load balancer", service: []kubetest.ServiceOption{recorded("")}, tags: []string{"multicloud-ccm.io/service-uid=" + webUID}},
		"annotation alone":   {reason: "the status is what clients get", service: []kubetest.ServiceOption{address(vip)}},
		"copy":               {reason: "the record is that of another Service", service: []kubetest.ServiceOption{annotate(request.AnnotationLoadBalancers, apiUID+" "+balancer+" "+vip)}},
		"floating IP":        {reason: "it is missing now", status: []v1.LoadBalancerIngress{{IP: "203.0.113.9"}}, service: []kubetest.ServiceOption{address("203.0.113.9")}},
		"status behind":      {reason: "the floating IP is made already", status: []v1.LoadBalancerIngress{ip}, service: []kubetest.ServiceOption{address("203.0.113.9")}},
		"was internal":       {reason: "the record does not have it", status: []v1.LoadBalancerIngress{ip}, service: []kubetest.ServiceOption{recorded("")}},
		"kept":               {reason: "the record has it", status: []v1.LoadBalancerIngress{ip}, service: []kubetest.ServiceOption{recorded(" " + vip)}, tags: []string{"multicloud-ccm.io/service-uid=" + webUID}, want: true},
		"another VIP":        {reason: "the load balancer was replaced", status: []v1.LoadBalancerIngress{ip}, service: []kubetest.ServiceOption{recorded(" " + vip)}, vip: "10.9.0.6"},
		"tag without record": {reason: "this controller made it", status: []v1.LoadBalancerIngress{ip}, tags: []string{"multicloud-ccm.io/service-uid=" + webUID}},
		"hostname": {
			reason: "the annotation has the address", status: []v1.LoadBalancerIngress{hostname("web.example.com")},
			service: []kubetest.ServiceOption{address(vip)}, request: request.Request{Hostname: "web.example.com"}, want: true,
		},
		"hostname, not annotated": {
			reason: "it leads to the only address that there is", status: []v1.LoadBalancerIngress{hostname("web.example.com")},
			request: request.Request{Hostname: "web.example.com"}, want: true,
		},
		"hostname of a floating IP": {
			reason: "the annotation has it", status: []v1.LoadBalancerIngress{hostname("web.example.com")},
			service: []kubetest.ServiceOption{address("203.0.113.9")}, request: request.Request{Hostname: "web.example.com"},
		},
		"hostname of the address": {
			reason: "PROXY protocol with enable-ingress-hostname", status: []v1.LoadBalancerIngress{hostname(vip + ".nip.io")},
			request: request.Request{ProxyProtocol: features.ProtocolPROXY, HostnameSuffix: "nip.io"}, want: true,
		},
		"hostname of another address": {
			reason: "that was a floating IP", status: []v1.LoadBalancerIngress{hostname("203.0.113.9.nip.io")},
			request: request.Request{ProxyProtocol: features.ProtocolPROXY, HostnameSuffix: "nip.io"},
		},
		"no VIP": {reason: "it is not known", status: []v1.LoadBalancerIngress{ip}, vip: "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			svc := web(tc.service...)
			svc.Status.LoadBalancer.Ingress = tc.status
			in := input{service: svc, existing: request.ForDelete(svc, clusterName), request: &tc.request, create: true}
			info := &client.LoadBalancerInfo{VIPAddress: vip, LBObject: client.LBObject{Tags: tc.tags}}
			want := netip.Addr{}
			if tc.vip != "" {
				info.VIPAddress = tc.vip
			}
			if tc.want {
				want = netip.MustParseAddr(vip)
			}
			if got := in.keptVIP(info); got != want {
				t.Errorf("%s: kept %v, want %v", tc.reason, got, want)
			}
		})
	}
}

// vipSite is a Service whose VIP the upstream controller has published, with the provider that
// has taken it over.
type vipSite struct {
	*provisioned

	t      *testing.T
	run    *lbProcess
	vip    string
	events *record.FakeRecorder
}

// withVIP takes over a Service without a floating IP. Changes are those of the Service from the
// start.
func withVIP(t *testing.T, changes ...edit) *vipSite {
	t.Helper()
	p := provision(t, upstreamCase{internal: true, spec: openstack.ServiceSpec{NoMonitors: true}, change: changes}, true)
	c := &vipSite{provisioned: p, t: t, run: p.run(t, p.services...), vip: p.services[0].Status.LoadBalancer.Ingress[0].IP}
	c.restart()

	return c
}

// restart starts the provider anew and syncs the Service.
func (c *vipSite) restart() {
	c.t.Helper()
	c.run = c.runWith(c.t, c.run.api)
	c.events = record.NewFakeRecorder(100)
	c.run.balancers.(*loadBalancer).services.SetRecorder(c.events)
	c.sync()
}

// sync syncs the Service until it succeeds, and stores its status, twice.
func (c *vipSite) sync() {
	c.t.Helper()
	for range 2 {
		var status *v1.LoadBalancerStatus
		c.run.until("sync", func(ctx context.Context) error {
			return persist(ctx, func() (err error) {
				status, err = c.run.balancers.EnsureLoadBalancer(ctx, c.cluster, c.run.stored("web"), c.nodes) //nolint:contextcheck // the fixture has the context

				return err
			})
		})
		c.run.edit("web", func(svc *v1.Service) { svc.Status.LoadBalancer = *status })
		c.run.until("update", func(ctx context.Context) error { return c.run.update(ctx, "web", c.nodes...) })
	}
}

// change changes the Service and syncs it.
func (c *vipSite) change(change func(*v1.Service)) {
	c.t.Helper()
	c.run.edit("web", change)
	c.sync()
}

// wantKept checks that the VIP is the address, and that there is no floating IP.
func (c *vipSite) wantKept(after string) {
	c.t.Helper()
	svc := c.run.stored("web")
	if got := svc.Status.LoadBalancer.Ingress; len(got) != 1 || got[0].IP != c.vip || request.AnnotationLoadBalancerAddress.Value(svc) != c.vip {
		c.t.Errorf("after %s: the status is %v, the annotations are %v; the VIP is %s", after, got, svc.Annotations, c.vip)
	}
	if n := c.Writes()["neutron.CreateFloatingIP"]; n > 0 {
		c.t.Errorf("after %s: %d floating IPs were made", after, n)
	}
}

// wantFloating checks that a floating IP is the address, and is not taken for one that was kept.
func (c *vipSite) wantFloating(after string) {
	c.t.Helper()
	svc := c.run.stored("web")
	if got := svc.Status.LoadBalancer.Ingress; len(got) != 1 || got[0].IP == c.vip || request.AnnotationLoadBalancerAddress.Value(svc) != got[0].IP {
		c.t.Errorf("after %s: the status is %v, the annotations are %v; the VIP is %s", after, got, svc.Annotations, c.vip)
	}
	if kept := request.KeptOf(svc); kept.IsValid() {
		c.t.Errorf("after %s: the record has %s", after, kept)
	}
}

// TestCarriedOverAddress (OS-LB-30): an internal address that the upstream controller has
// published stays, whatever is changed, until the user names what a floating IP comes from.
func TestCarriedOverAddress(t *testing.T) {
	t.Parallel()
	port := kubetest.Port(v1.ProtocolTCP, 8443)
	annotate := func(c *vipSite, name annotation.Name, value string) {
		c.change(annotated(name, c.expand(value)))
	}
	for name, test := range map[string]func(*vipSite){
		"stays": func(c *vipSite) {
			c.wantKept("the takeover")
			if _, recorded := c.run.stored("web").Annotations[string(request.AnnotationLoadBalancers)]; recorded {
				c.t.Error("there is a record")
			}
			c.restart()
			c.wantKept("a restart")
			if all := kubetest.Events(c.events); len(all) != 1 || !strings.Contains(all[0], string(floatingip.AddressKept)) || !strings.Contains(all[0], "floating-network-id") {
				c.t.Errorf("Events: %q", all)
			}
		},
		"changed": func(c *vipSite) {
			c.change(port)
			c.wantKept("a new port")
			if svc := c.run.stored("web"); request.KeptOf(svc).String() != c.vip || len(request.RecordOf(svc)) != 1 {
				c.t.Errorf("the record is %q", request.AnnotationLoadBalancers.Value(svc))
			}
			c.restart()
			c.wantKept("a restart after the change")
			c.change(annotated(request.AnnotationConnectionLimit, "100"))
			c.wantKept("another change")
			if all := kubetest.Events(c.events); len(all) != 1 {
				c.t.Errorf("Events: %q", all)
			}
		},
		"renamed": func(c *vipSite) {
			c.cluster = "other"
			c.restart()
			if tags := c.LoadBalancers()[0].Tags; request.UIDOf(tags) == "" {
				c.t.Errorf("the tags are %v", tags)
			}
			c.restart()
			c.wantKept("the cluster was renamed")
		},
		"annotation": func(c *vipSite) {
			annotate(c, request.AnnotationFloatingNetworkID, "$external")
			c.wantFloating("an annotation")
			c.change(func(svc *v1.Service) { delete(svc.Annotations, string(request.AnnotationFloatingNetworkID)) })
			c.restart()
			c.wantFloating("it was removed again")
		},
		"subnet": func(c *vipSite) {
			annotate(c, request.AnnotationFloatingSubnetTags, "first")
			c.wantFloating("an annotation")
		},
		"class": func(c *vipSite) {
			c.lbSite.config = "[LoadBalancerClass \"public\"]\nfloating-network-id = $external\n"
			c.restart()
			c.wantKept("a class of others")
			annotate(c, request.AnnotationClass, "public")
			c.wantFloating("a class")
		},
		"cloud-config": func(c *vipSite) {
			c.lbSite.config = "floating-subnet-tags = first\n"
			c.restart()
			c.wantKept("a setting for all floating IPs")
			c.lbSite.config = "floating-network-id = $external\n"
			c.restart()
			c.wantFloating("the cloud-config was changed")
		},
		"address": func(c *vipSite) {
			c.change(func(svc *v1.Service) { svc.Spec.LoadBalancerIP = "203.0.113.71" })
			c.wantFloating("an address")
		},
		"made internal": func(c *vipSite) {
			c.change(annotated(request.AnnotationInternal, "true"))
			c.wantKept("it is internal")
			c.change(func(svc *v1.Service) { delete(svc.Annotations, string(request.AnnotationInternal)) })
			c.wantFloating("it is not internal any more")
		},
		"shared": func(c *vipSite) {
			shop := c.service("shop", 8080)
			if _, err := c.run.api.CoreV1().Services("default").Create(c.t.Context(), shop, metav1.CreateOptions{}); err != nil {
				c.t.Fatal(err)
			}
			c.run.share("shop", "web")
			before := c.Dump()
			if err := c.run.ensure(c.t.Context(), "shop", c.nodes...); err == nil || !strings.Contains(err.Error(), "no floating IP") {
				c.t.Errorf("it shares a load balancer without a floating IP: %v", err)
			}
			if c.Dump() != before {
				c.t.Error("the load balancer has changed")
			}
			c.restart()
			c.wantKept("another Service wants to share it")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { test(withVIP(t)) })
		})
	}
}

// TestCarriedOverInternal (OS-LB-30): an internal Service of the upstream controller that its
// user makes external gets a floating IP, also if this is found by another process than the
// first one.
func TestCarriedOverInternal(t *testing.T) {
	t.Parallel()
	for name, restarts := range map[string]bool{"at once": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := withVIP(t, edits(annotated(request.AnnotationInternal, "true"))...)
				c.wantKept("the takeover")
				external := func(svc *v1.Service) { delete(svc.Annotations, string(request.AnnotationInternal)) }
				if restarts {
					c.run.edit("web", external)
					c.restart()
				} else {
					c.change(external)
				}
				c.wantFloating("it was made external")
			})
		})
	}
}
