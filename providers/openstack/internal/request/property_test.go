package request

import (
	"errors"
	"maps"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
)

// values are texts that some annotation accepts, and some that none does.
var values = []string{
	"", "true", "false", "v2", "-1", "0", "5", "70000", "x", "a=b,c", "10.0.0.0/8 ::/0", "a*", "![", "&a,b", "web.example.com",
	"gold", "ROUND_ROBIN", "https://b/v1/secrets/s", "../x", "\xff",
}

func drawCase(t *rapid.T) *testCase {
	c := newCase()
	names := append(slices.Collect(maps.Keys(known)), AnnotationInternal, AnnotationSourceRanges)
	slices.Sort(names)
	for range rapid.IntRange(0, 6).Draw(t, "annotations") {
		name := rapid.SampledFrom(names).Draw(t, "annotation")
		value := rapid.OneOf(rapid.SampledFrom(values), rapid.Just(testID("a")), rapid.StringN(0, 20, 40)).Draw(t, string(name))
		c.service.Annotations[string(name)] = value
	}
	c.service.Spec.Ports = nil
	for range rapid.IntRange(0, 4).Draw(t, "ports") {
		protocol := rapid.SampledFrom([]v1.Protocol{"", "TCP", "UDP", "SCTP"}).Draw(t, "protocol")
		c.service.Spec.Ports = append(c.service.Spec.Ports, v1.ServicePort{
			Protocol: protocol, Port: rapid.Int32Range(1, 65535).Draw(t, "port"), NodePort: rapid.Int32Range(0, 2).Draw(t, "node port"),
		})
	}
	c.service.Spec.LoadBalancerIP = rapid.SampledFrom([]string{"", "", "10.0.0.9", "fd00::9", "x"}).Draw(t, "IP")
	if rapid.Bool().Draw(t, "local") {
		kubetest.LocalTraffic(31000)(c.service)
	}
	c.settings.Monitor.Create = rapid.Bool().Draw(t, "create monitor")
	c.settings.ManageSecurityGroups = rapid.Bool().Draw(t, "groups")
	c.settings.ClusterName = rapid.StringN(0, 100, 300).Draw(t, "cluster")
	c.nodes = c.nodes[:rapid.IntRange(0, len(c.nodes)).Draw(t, "nodes")]
	version := features.Version{Major: 2, Minor: rapid.IntRange(0, 30).Draw(t, "minor")}
	c.given.Features = features.For(version, rapid.SampledFrom([]string{"", "amphora", "ovn", "f5"}).Draw(t, "provider"))
	c.given.Families = rapid.SliceOfN(rapid.SampledFrom([]address.Family{address.IPv4, address.IPv6}), 0, 2).Draw(t, "families")
	c.given.VIPSecurityGroups = rapid.Bool().Draw(t, "VIP groups")

	return c
}

// TestRequestLaws proves for all Services: a request that is not invalid can be sent, and
// the same Service has the same request, in whatever order its Nodes come.
func TestRequestLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := drawCase(t)
		before := c.service.DeepCopy()
		r, warnings, err := ForEnsure(c.service, c.nodes, c.settings)
		reversed := slices.Clone(c.nodes)
		slices.Reverse(reversed)
		again, warningsAgain, errAgain := ForEnsure(c.service, reversed, c.settings)
		if diff := cmp.Diff(before, c.service); diff != "" {
			t.Fatalf("the Service was changed: %s", diff)
		}
		same(t, warnings, warningsAgain)
		if (err == nil) != (errAgain == nil) || err != nil && err.Error() != errAgain.Error() {
			t.Fatalf("%v, and again %v", err, errAgain)
		}
		if err != nil {
			mustBeInvalid(t, err)

			return
		}
		same(t, r, again)
		resolved, _, err := r.Resolve(c.given)
		if err != nil {
			mustBeInvalid(t, err)

			return
		}
		resolvedAgain, _, _ := again.Resolve(c.given)
		same(t, resolved, resolvedAgain)
		checkResolved(t, r, resolved, c.given)
	})
}

// byText compares values that have unexported fields.
var byText = cmp.Options{
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
	cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
	cmp.AllowUnexported(Names{}),
}

func mustBeInvalid(t *rapid.T, err error) {
	if !errors.Is(err, apierr.ErrInvalid) {
		t.Fatalf("%v must be invalid", err)
	}
}

func same[T any](t *rapid.T, a, b T) {
	if diff := cmp.Diff(a, b, byText); diff != "" {
		t.Fatalf("not the same again: %s", diff)
	}
}

// checkResolved proves what Octavia would refuse.
func checkResolved(t *rapid.T, r *Request, resolved *Resolved, given Given) {
	for _, port := range resolved.Ports {
		if !features.ValidPair(port.Listener, port.Pool) {
			t.Fatalf("listener %s cannot have pool %s", port.Listener, port.Pool)
		}
		if features.Transport(port.Listener) != port.Protocol {
			t.Fatalf("port of %s has listener %s", port.Protocol, port.Listener)
		}
		if port.ForwardedFor && !features.HasHeaders(port.Listener) || port.TLS != (port.Listener == features.ProtocolTerminatedHTTPS) || port.TLS && r.TLS == nil {
			t.Fatalf("listener %s: header %t, TLS %t", port.Listener, port.ForwardedFor, port.TLS)
		}
		for _, m := range port.Members {
			if m.Port == 0 || !m.Address.IsValid() || m.MonitorPort != 0 && !given.Features.Has(features.MonitorPorts) {
				t.Fatalf("member %+v", m)
			}
		}
		if port.Monitor != nil && given.Features.IsOVN() && port.Monitor.Type != features.MonitorTCP && port.Monitor.Type != features.MonitorUDPConnect {
			t.Fatalf("OVN has no monitor %s", port.Monitor.Type)
		}
	}
	for _, ranges := range [][]netip.Prefix{resolved.AllowedCIDRs, resolved.MemberSources} {
		if ranges != nil && len(ranges) == 0 {
			t.Fatal("an empty list allows all clients")
		}
		for _, prefix := range ranges {
			families := given.families(r.Family)
			if len(families) > 0 && !slices.Contains(families, address.FamilyOf(prefix.Addr())) {
				t.Fatalf("range %v for VIPs of %v", prefix, families)
			}
		}
	}
	if r.VIP.PortID != "" && (r.VIP.SubnetID != "" || r.VIP.NetworkID != "" || r.VIP.Detect) {
		t.Fatalf("VIP %+v", r.VIP)
	}
}

// FuzzAnnotation proves that no value of any annotation breaks anything.
func FuzzAnnotation(f *testing.F) {
	for i, value := range values {
		f.Add(uint(i), value, value)
	}
	names := append(slices.Collect(maps.Keys(known)), AnnotationInternal, AnnotationSourceRanges)
	slices.Sort(names)
	f.Fuzz(func(t *testing.T, index uint, value, selector string) {
		c := newCase()
		name := names[index%uint(len(names))]
		c.service.Annotations[string(name)] = value
		c.settings.NodeSelector = selector
		r, _, err := ForEnsure(c.service, c.nodes, c.settings)
		if err != nil {
			if invalid, ok := errors.AsType[*annotation.Error](err); !errors.Is(err, apierr.ErrInvalid) || ok && invalid.Name != name {
				t.Errorf("%s=%q: %v", name, value, err)
			}

			return
		}
		if _, _, err := r.Resolve(Given{}); err != nil && !errors.Is(err, apierr.ErrInvalid) {
			t.Errorf("%s=%q: %v", name, value, err)
		}
		for key := range labels(selector) {
			if key == "" {
				t.Errorf("%q has a label without a key", selector)
			}
		}
	})
}
