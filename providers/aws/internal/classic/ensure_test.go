package classic

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// What reading a load balancer costs.
var resyncCalls = map[string]int{
	"elb.DescribeLoadBalancers": 1, "elb.DescribeTags": 1, "elb.DescribeLoadBalancerAttributes": 1,
}

func TestCosts(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	svc := web()
	env := b.ensure(svc)
	b.calls("five of the twelve calls; what AWS has by itself is not set", map[string]int{
		"elb.DescribeLoadBalancers": 1, "elb.CreateLoadBalancer": 1, "elb.DescribeTags": 1,
		"elb.ConfigureHealthCheck": 1, "elb.RegisterInstancesWithLoadBalancer": 1,
	})
	if host, err := env.IDs.Get(HostnameKey(lbName)); err != nil || host != b.classic().DNSName {
		t.Errorf("found the DNS name %q, error %v, want %s", host, err, b.classic().DNSName)
	}
	b.resolveGroups()
	b.ensure(svc)
	b.calls("AWS-LB-14: an unchanged resync writes nothing", resyncCalls)

	b.ensure(nil)
	b.calls("AWS-DELETE-2: deleted in as few calls", map[string]int{
		"elb.DescribeLoadBalancers": 1, "elb.DescribeTags": 1, "elb.DescribeLoadBalancerAttributes": 1, "elb.DeleteLoadBalancer": 1,
	})
	b.empty()
	b.ensure(nil)
	b.calls("absent is success", map[string]int{"elb.DescribeLoadBalancers": 1})
}

func TestCreates(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	svc := everything()
	b.ensure(svc)
	b.upToDate(svc)
	b.Interceptor().Reset()
	b.ensure(svc)
	b.calls("AWS-LB-14: an unchanged resync writes nothing, whatever is annotated", resyncCalls)

	subnets := make([]string, 0, len(b.subnets))
	for _, subnet := range b.subnets {
		subnets = append(subnets, subnet.ID)
	}
	proxy := []string{"k8s-proxyprotocol-enabled"}
	tls := "k8s-SSLNegotiationPolicy-" + tlsPolicy
	want := sim.ClassicLoadBalancer{
		Name: lbName, Scheme: "internal", VPC: b.Cluster.VPC, Subnets: subnets, Zones: b.Cluster.Zones,
		SecurityGroups: []string{b.groups[0].ID},
		Listeners: []sim.ClassicListener{
			{Port: 80, Protocol: "TCP", InstancePort: 30080, InstanceProtocol: "TCP"},
			{Port: 443, Protocol: "SSL", InstancePort: 30443, InstanceProtocol: "TCP", Certificate: certificate, Policies: []string{tls}},
		},
		HealthCheck: sim.ClassicHealthCheck{Target: "HTTP:30080/live", Interval: 10, Timeout: 5, HealthyThreshold: 2, UnhealthyThreshold: 6},
		Attributes: sim.ClassicAttributes{
			CrossZone: true, IdleTimeout: 30, Draining: true, DrainingTimeout: 20, AccessLog: true,
			AccessLogInterval: 5, AccessLogBucket: "logs", AccessLogPrefix: "web", DesyncMitigation: "defensive",
		},
		Instances:       slices.Sorted(slices.Values(b.nodes)),
		BackendPolicies: map[int32][]string{30080: proxy, 30443: proxy},
		Tags:            tagged(map[string]string{"team": "edge"}),
		Policies: map[string]sim.ClassicPolicy{
			proxy[0]: {Type: "ProxyProtocolPolicyType", Attributes: map[string]string{"ProxyProtocol": "true"}},
			tls:      {Type: "SSLNegotiationPolicyType", Attributes: map[string]string{"Reference-Security-Policy": tlsPolicy}},
			// AWS assigns this one to the listener by default.
			"ELBSecurityPolicy-2016-08": {
				Type: "SSLNegotiationPolicyType", Attributes: map[string]string{"Reference-Security-Policy": "ELBSecurityPolicy-2016-08"},
			},
		},
	}
	got := b.classic()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(sim.ClassicLoadBalancer{}, "DNSName"),
		cmpopts.IgnoreUnexported(sim.ClassicLoadBalancer{}), cmpopts.EquateEmpty(),
		cmpopts.SortSlices(func(a, b string) bool { return a < b })); diff != "" {
		t.Errorf("AWS-CLB-3: -want +got:\n%s", diff)
	}
}

// TestChanges goes from any of these Services to any other.
func TestChanges(t *testing.T) {
	t.Parallel()
	services := map[string]*v1.Service{
		"plain":      web(),
		"everything": everything(),
		"other ports": web(kubetest.Port(v1.ProtocolTCP, 8080), kubetest.Port(v1.ProtocolTCP, 443), kubetest.LocalTraffic(31000),
			annotated(request.AnnotationBackendProtocol, "http"), annotated(request.AnnotationProxyProtocol, "*")),
		"all TLS": web(annotated(request.AnnotationSSLCert, certificate), annotated(request.AnnotationBackendProtocol, "https"),
			annotated(request.AnnotationSSLPolicy, "ELBSecurityPolicy-2016-08")),
	}
	fresh := map[string]sim.ClassicLoadBalancer{}
	for name, svc := range services {
		b := newFixture(t)
		b.ensure(svc)
		fresh[name] = b.classic()
	}
	for from, before := range services {
		for to, after := range services {
			t.Run(from+" to "+to, func(t *testing.T) {
				t.Parallel()
				b := newFixture(t)
				b.ensure(before)
				b.resolveGroups()
				b.ensure(after)
				b.upToDate(after)
				if diff := cmp.Diff(fresh[to], b.classic(), cmpopts.IgnoreFields(sim.ClassicLoadBalancer{},
					// Its DNS name and scheme stay, and tags and policies are never taken away.
					"DNSName", "Scheme", "VPC", "Tags", "Policies",
					// Both clouds name resources in their own way.
					"Subnets", "SecurityGroups", "Instances"),
					cmpopts.IgnoreFields(sim.ClassicAttributes{}, "DrainingTimeout", "AccessLogInterval", "AccessLogBucket", "AccessLogPrefix"),
					cmpopts.IgnoreUnexported(sim.ClassicLoadBalancer{}), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("AWS-CLB-3: after the change it is not as if made anew, -want +got:\n%s", diff)
				}
			})
		}
	}
}

// TestAdopts creates what is there already, but could not be seen.
func TestAdopts(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		cluster string
		there   *v1.Service
		foreign bool
	}{
		"same":            {"the response got lost", clusterID, everything(), false},
		"different":       {"DuplicateLoadBalancerName", clusterID, web(), false},
		"foreign":         {"AWS-CLUSTER-7: nothing like what is wanted", "other", everything(), true},
		"foreign, likely": {"AWS-CLUSTER-7: exactly what is wanted", "other", web(), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t)
			b.config.Cluster.Name = tc.cluster
			b.ensure(tc.there)
			b.config.Cluster.Name = clusterID
			before := b.Dump()

			svc := everything()
			env := b.env()
			err := Diff(b.model(svc), nil).Apply(t.Context(), env, nil)
			if tc.foreign {
				if !errors.Is(err, apierr.ErrConflict) || b.Dump() != before {
					t.Errorf("%s: got %v, changed: %s", tc.reason, err, cmp.Diff(before, b.Dump()))
				}

				return
			}
			if err != nil {
				if !errors.Is(err, change.ErrNotAsWanted) {
					t.Fatalf("%s: %v", tc.reason, err)
				}
				b.resolveGroups()
				b.ensure(svc) // what is not wanted goes when it has been observed
			}
			b.upToDate(svc)
			if host, err := env.IDs.Get(HostnameKey(lbName)); err != nil || host != b.classic().DNSName {
				t.Errorf("%s: found the DNS name %q, error %v", tc.reason, host, err)
			}
		})
	}
}

// TestConfirms makes AWS respond to a creation as if the load balancer of
// another cluster were new, which it may if tags do not count for being the
// same.
func TestConfirms(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	model := b.model(web())
	b.Interceptor().Inject("elb.DescribeTags", simserver.Always(), foreignTags)
	err := Diff(model, nil).Apply(t.Context(), b.env(), nil)
	if !errors.Is(err, apierr.ErrConflict) {
		t.Errorf("AWS-CLUSTER-7: got %v", err)
	}
	if writes := b.Writes(); writes["elb.ConfigureHealthCheck"]+writes["elb.RegisterInstancesWithLoadBalancer"] > 0 {
		t.Errorf("AWS-CLUSTER-7: it was changed: %v", writes)
	}
}

// foreignTags responds that a load balancer has the tag of another cluster.
func foreignTags(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	_, _ = io.WriteString(w, `<DescribeTagsResponse xmlns="http://elasticloadbalancing.amazonaws.com/doc/2012-06-01/">
<DescribeTagsResult><TagDescriptions><member><LoadBalancerName>`+lbName+`</LoadBalancerName><Tags>
<member><Key>kubernetes.io/cluster/other</Key><Value>owned</Value></member>
</Tags></member></TagDescriptions></DescribeTagsResult></DescribeTagsResponse>`)
}

func TestTagsDenied(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.Interceptor().Inject("elb.DescribeTags", simserver.Always(), sim.Denied())
	b.ensure(web())
	b.resolveGroups()
	b.Interceptor().Reset()
	b.ensure(web(annotated(request.AnnotationAdditionalTags, "a=b")))
	b.calls("without the permission it works, and writes nothing blindly", resyncCalls)
}

func TestAttributesDenied(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.ensure(web())
	b.Interceptor().Inject("elb.DescribeLoadBalancerAttributes", simserver.Always(), sim.Denied())
	if _, err := b.try(t.Context(), web()); !errors.Is(err, apierr.ErrDenied) {
		t.Errorf("got %v", err)
	}
}

func TestSubnets(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	zones := b.Cluster.Zones
	in := func(zone int, subnets map[string]string) vpc.Subnet {
		return vpc.Subnet{ID: subnets[zones[zone]], AvailabilityZone: zones[zone]}
	}
	public, private := b.Cluster.Public, b.Cluster.Private
	b.subnets = []vpc.Subnet{in(0, public)}
	svc := web(annotated(request.AnnotationInternal, "true"))
	b.ensure(svc)
	b.resolveGroups()
	for _, change := range []struct {
		reason  string
		subnets []vpc.Subnet
	}{
		{"added", []vpc.Subnet{in(0, public), in(1, public)}},
		{"replaced in the same zone", []vpc.Subnet{in(0, public), in(1, private)}},
		{"all replaced, one in a new zone", []vpc.Subnet{in(0, private), in(1, public), in(2, private)}},
		{"removed", []vpc.Subnet{in(2, private)}},
		{"all replaced, all in new zones", []vpc.Subnet{in(0, private), in(1, private)}},
	} {
		b.subnets = change.subnets
		if _, err := b.try(t.Context(), svc); err != nil {
			t.Fatalf("%s: %v", change.reason, err)
		}
		b.upToDate(svc)
	}

	b.subnets = []vpc.Subnet{in(0, public), in(1, public)}
	b.Interceptor().Reset()
	b.ensure(svc)
	b.calls("AWS-CLB-4: what AWS cannot do is not tried", resyncCalls)
	if warnings := Fixed(b.model(svc), b.observe()); len(warnings) != 1 || warnings[0].Reason != SubnetsFixed {
		t.Errorf("AWS-LB-17: it is a warning, got %v", warnings)
	}
}

// TestSecurityGroups replaces them, and has a step before store the ID of one.
func TestSecurityGroups(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.ensure(web())
	b.resolveGroups()
	b.groupIDs["extra"] = b.group("extra")
	b.groups = append(b.groups, plan.Ref{Key: "extra"})
	b.ensure(web())
	b.upToDate(web())
	b.groups = []plan.Ref{b.groups[1], b.groups[0]}
	b.Interceptor().Reset()
	b.ensure(web())
	b.calls("AWS-LB-14: their order does not count", resyncCalls)

	b.groups = []plan.Ref{{Key: "never stored"}}
	if _, err := b.try(t.Context(), web()); err == nil {
		t.Error("a plan in the wrong order is an error")
	}
}

// TestPolicyExists makes a policy that is there already and not in use.
func TestPolicyExists(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.ensure(web())
	b.resolveGroups()
	svc := web(annotated(request.AnnotationProxyProtocol, "*"))
	lb := b.observe()
	step := createPolicy(lbName, policyNamed(proxyPolicy))
	for range 2 {
		if err := step.Do(t.Context(), b.env()); err != nil {
			t.Fatalf("AWS-CLB-6: a policy that exists is done: %v", err)
		}
	}
	if err := Diff(b.model(svc), lb).Apply(t.Context(), b.env(), nil); err != nil {
		t.Fatalf("set it: %v", err)
	}
	b.upToDate(svc)
	b.ensure(web())
	b.Interceptor().Reset()
	b.ensure(svc)
	calls := b.Interceptor().Calls()
	if calls["elb.CreateLoadBalancerPolicy"] != 0 || calls["elb.SetLoadBalancerPoliciesForBackendServer"] != 2 {
		t.Errorf("AWS-LB-14: the policy is still there: %v", calls)
	}
}

// TestDeletedBetweenReads has the load balancer go between two reads: that these
// contradict each other is an error, since they do so as well if it was created
// a moment ago. The next run finds out.
func TestDeletedBetweenReads(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.ensure(web())
	b.Interceptor().Inject("elb.DescribeTags", simserver.Always(), func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
		if err := deleteLoadBalancer(lbName).Do(r.Context(), b.env()); err != nil {
			t.Error(err)
		}
		apply.ServeHTTP(w, r)
	})
	if lb, err := Observe(t.Context(), b.api, lbName, b.config.Cluster); !errors.Is(err, apierr.ErrConflict) {
		t.Errorf("got %v, %v, want a conflict", lb, err)
	}
	if lb := b.observe(); lb != nil {
		t.Errorf("what is gone is absent, got %v", lb)
	}
	b.empty()
	if err := deleteLoadBalancer(lbName).Do(t.Context(), b.env()); err != nil {
		t.Errorf("AWS-DELETE-2: deleting again is done: %v", err)
	}
}
