package openstack

import (
	"context"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/floatingip"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// upstreamCase is a kind of load balancers that the upstream controller makes.
type upstreamCase struct {
	reason  string
	options openstack.Options
	config  string
	spec    openstack.ServiceSpec
	change  []edit
	// shared adds the Service shop, which uses the load balancer of web.
	shared bool
	// legacy is the name of old versions, and found means that the annotations are missing, as
	// from old versions.
	legacy, found bool
	// internal leaves out the floating IP; floating is the address of one that a user made.
	internal bool
	floating string
	// kept means that the upstream controller found no external network and published the VIP,
	// and recorded that the record is written, which shows that the Service is internal.
	kept, recorded bool
	// old means that the upstream controller makes no such load balancer any more.
	old bool
	// writes are the calls that a takeover makes, none by default, and then is what the
	// Service is like after them.
	writes map[string]int
	then   func(*openstack.ServiceSpec)
}

// upstreamCases are all kinds of load balancers that the upstream controller makes, and has
// made.
func upstreamCases() map[string]upstreamCase {
	const (
		monitors, serial = "create-monitor = true\n", "provider-requires-serial-api-calls = true\n"
		managed, ovn     = "manage-security-groups = true\n", "lb-provider = ovn\n"
	)
	none, group := openstack.ServiceSpec{NoMonitors: true}, openstack.ServiceSpec{NoMonitors: true, Group: true}
	alone := openstack.ServiceSpec{Serial: true}
	onOVN, noTags := openstack.Options{Profile: openstack.OVN}, openstack.Options{OctaviaMinor: 4}
	local := edits(kubetest.LocalTraffic(30999))
	external := func(s *v1.Service) { s.Spec.LoadBalancerIP = "203.0.113.99" }

	return map[string]upstreamCase{
		"bulk":        {reason: "as it is made by default, with monitors", config: monitors},
		"no monitors": {reason: "create-monitor is false by default", spec: none},
		"local":       {reason: "its monitors are of type HTTP", config: monitors, change: local},
		"ranges": {reason: "listeners have them", spec: none, change: edits(func(s *v1.Service) {
			s.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24", "198.51.100.0/24"}
		})},
		"UDP and SCTP": {reason: "one port with two protocols", config: monitors, change: edits(func(s *v1.Service) {
			s.Spec.Ports = nil
			kubetest.Port(v1.ProtocolUDP, 53)(s)
			kubetest.Port(v1.ProtocolSCTP, 53)(s)
		})},
		"internal": {reason: "there is no floating IP", internal: true, recorded: true, spec: none, change: edits(annotated(request.AnnotationInternal, "true"))},
		"internal, by name": {
			reason: "the same without annotations", internal: true, recorded: true, found: true, old: true, spec: none,
			change: edits(annotated(request.AnnotationInternal, "true")),
		},
		"no external network":          {reason: "the published address stays", internal: true, kept: true, config: monitors},
		"no external network, by name": {reason: "the same without annotations", internal: true, kept: true, found: true, spec: none},
		"no external network, groups":  {reason: "nothing of it depends on the address", internal: true, kept: true, config: managed, spec: group},
		"by name":                      {reason: "annotations are as old as version 1.21", found: true, old: true, spec: none},

		"serial": {reason: "members have other names and no subnet", config: serial + monitors, spec: alone},
		"serial local": {
			// A stale read would have one deleted once more.
			reason: "the health check port of members is added", options: openstack.Options{StaleReads: new(openstack.StaleReads)}, config: serial + monitors, spec: alone, change: local,
			writes: map[string]int{"octavia.DeleteMember": 6, "octavia.CreateMember": 6},
		},
		"serial since": {reason: "names of members do not matter", config: serial + monitors, old: true},
		"serial before": {
			reason: "members get the names of batch writes", config: monitors, spec: alone, old: true,
			writes: map[string]int{"octavia.UpdateMembers": 2},
		},

		"shared":           {reason: "two Services with a floating IP", shared: true, config: monitors},
		"shared, groups":   {reason: "each Service has its own group", shared: true, config: managed, spec: group},
		"shared, serially": {reason: "one by one", shared: true, config: serial + monitors, spec: alone},
		"shared, updated": {
			reason: "upstream gives monitors the name of the load balancer at each change of Nodes", shared: true, config: monitors,
			spec: openstack.ServiceSpec{Updated: true}, old: true,
		},

		"no tags":     {reason: "tags are as old as version 1.19", found: true, old: true, options: noTags, spec: openstack.ServiceSpec{NoTags: true, NoMonitors: true}},
		"legacy name": {reason: "the name was made of the UID until version 1.16", found: true, old: true, legacy: true, options: noTags, spec: openstack.ServiceSpec{NoTags: true, NoMonitors: true}},
		"legacy name, annotated": {
			reason: "an upstream controller with tags has used it since", old: true, legacy: true, spec: none,
		},
		"legacy name, tags since": {
			reason: "Octavia was upgraded: upstream adds the tags, too", found: true, old: true, legacy: true,
			spec:   openstack.ServiceSpec{NoTags: true, NoMonitors: true},
			writes: map[string]int{"octavia.UpdateLoadBalancer": 1, "octavia.UpdateListener": 2},
			then:   func(s *openstack.ServiceSpec) { s.NoTags = false },
		},

		"ovn":          {reason: "it has other algorithms", options: onOVN, config: ovn, spec: none},
		"ovn monitors": {reason: "of type TCP", options: onOVN, config: ovn + monitors},
		"ovn groups":   {reason: "rules are for clients", options: onOVN, config: ovn + managed, spec: group},
		"ovn ranges": {reason: "rules are for these clients", options: onOVN, config: ovn + managed, spec: group, change: edits(func(s *v1.Service) {
			s.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24", "198.51.100.0/24"}
		})},
		"ovn shared": {reason: "two Services", shared: true, options: onOVN, config: ovn, spec: none},

		"groups":       {reason: "the ports of the Nodes have a group", config: managed, spec: group},
		"groups local": {reason: "there is a rule for the health check", config: managed + monitors, spec: openstack.ServiceSpec{Group: true}, change: local},
		"groups, tags of ports": {
			reason: "old versions gave the ports a tag with the ID of the group", old: true, config: managed,
			spec: openstack.ServiceSpec{NoMonitors: true, Group: true, PortTags: true},
		},

		"kept floating IP": {reason: "it stays", spec: none, change: edits(annotated(request.AnnotationKeepFloatingIP, "true"))},
		"floating IP of a user": {
			reason: "its description is the user's", spec: none, floating: "203.0.113.99", old: true, change: edits(external),
		},
		"kept floating IP of a user": {
			reason: "both", spec: none, floating: "203.0.113.99", old: true,
			change: edits(external, annotated(request.AnnotationKeepFloatingIP, "true")),
		},
	}
}

// TestTakeover (OS-LB-1, OS-LB-7): load balancers that the upstream controller made are
// carried on without a write to the cloud and to the Kubernetes API, apart from those that a
// case names: the status, the Service and all objects of the cloud stay as they are. So does
// the published VIP of a Service for which upstream found no external network (OS-LB-30).
func TestTakeover(t *testing.T) {
	t.Parallel()
	for name, tc := range upstreamCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { testTakeover(t, tc) })
		})
	}
}

func testTakeover(t *testing.T, tc upstreamCase) {
	t.Helper()
	p := provision(t, tc, true)
	before, dump, writes := p.LoadBalancers(), p.Dump(), p.Writes()
	run, events := p.carryOn(t)
	if len(events) > 0 != tc.kept || tc.kept && (len(events) > 1 || !wrote(events, string(floatingip.AddressKept))) {
		t.Errorf("%s: Events: %q", tc.reason, events)
	}
	want := maps.Clone(writes)
	for op, n := range tc.writes {
		want[op] += n
	}
	if diff := cmp.Diff(want, p.Writes()); diff != "" {
		t.Errorf("%s: writes: %s", tc.reason, diff)
	}
	for _, service := range p.services {
		want := service.DeepCopy()
		annotated(request.AnnotationLoadBalancerID, before[0].ID)(want)
		annotated(request.AnnotationLoadBalancerAddress, service.Status.LoadBalancer.Ingress[0].IP)(want)
		got := run.stored(service.Name)
		if tc.recorded {
			annotated(request.AnnotationLoadBalancers, string(service.UID)+" "+before[0].ID)(want)
		}
		if len(tc.writes) > 0 {
			delete(got.Annotations, string(request.AnnotationLoadBalancers))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s: %s", tc.reason, service.Name, diff)
		}
	}
	if calls := run.kubernetesWrites(); len(calls) > 0 && !tc.found && !tc.recorded && len(tc.writes) == 0 {
		t.Errorf("%s: writes to the Kubernetes API: %v", tc.reason, calls)
	}
	switch {
	case len(tc.writes) == 0:
		if diff := cmp.Diff(dump, p.Dump()); diff != "" {
			t.Errorf("%s: the cloud: %s", tc.reason, diff)
		}
	case tc.then != nil:
		tc.then(&tc.spec)
		if diff := cmp.Diff(provision(t, tc, true).all(), withoutOurs(t, p.all())); diff != "" {
			t.Errorf("%s: it is not as upstream would leave it: %s", tc.reason, diff)
		}
	}
}

// TestBackToUpstream (OS-LB-1): a load balancer that is made is what the upstream
// controller makes for the same Service, in every attribute of every object, apart from the
// tag with the UID and the annotation with the record. So the upstream controller finds and
// carries on all of it.
func TestBackToUpstream(t *testing.T) {
	t.Parallel()
	for name, tc := range upstreamCases() {
		if tc.old || tc.kept {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { testBack(t, tc) })
		})
	}
}

func testBack(t *testing.T, tc upstreamCase) {
	t.Helper()
	theirs, made := provision(t, tc, true), provision(t, tc, false)
	run := made.run(t, made.services...)
	for i, service := range made.services {
		if i > 0 {
			run.share(service.Name, made.services[0].Name)
		}
		run.until(service.Name, func(ctx context.Context) error { return run.ensure(ctx, service.Name, made.nodes...) })
	}
	time.Sleep(time.Minute) // everything is ACTIVE
	if diff := cmp.Diff(theirs.all(), withoutOurs(t, made.all())); diff != "" {
		t.Errorf("%s: not as upstream makes it: %s", tc.reason, diff)
	}
	for i, service := range theirs.services {
		want, got := service.Annotations, run.stored(made.services[i].Name).Annotations
		delete(got, string(request.AnnotationLoadBalancers))
		want[string(request.AnnotationLoadBalancerID)] = made.LoadBalancers()[0].ID
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: annotations of %s: %s", tc.reason, service.Name, diff)
		}
	}
}
