package request

import (
	"errors"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

func TestBalancedAddress(t *testing.T) {
	t.Parallel()
	internal := func(text string) kubetest.NodeOption { return kubetest.Address(v1.NodeInternalIP, text) }
	external := func(text string) kubetest.NodeOption { return kubetest.Address(v1.NodeExternalIP, text) }
	cases := map[string]struct {
		reason  string
		options []kubetest.NodeOption
		family  address.Family
		want    string
	}{
		"none":             {"is skipped", nil, address.IPv4, ""},
		"internal":         {"the first one", []kubetest.NodeOption{external("192.0.2.1"), internal("10.0.0.1"), internal("10.0.0.2")}, address.IPv4, "10.0.0.1"},
		"external":         {"without an internal one", []kubetest.NodeOption{external("192.0.2.1"), external("192.0.2.2")}, address.IPv4, "192.0.2.1"},
		"of the family":    {"an external one before one of another family", []kubetest.NodeOption{internal("fd00::1"), external("192.0.2.1")}, address.IPv4, "192.0.2.1"},
		"IPv6":             {"of the family", []kubetest.NodeOption{internal("10.0.0.1"), internal("fd00::1")}, address.IPv6, "fd00::1"},
		"no preference":    {"the first one", []kubetest.NodeOption{internal("fd00::1"), internal("10.0.0.1")}, "", "fd00::1"},
		"none of a family": {"is skipped", []kubetest.NodeOption{internal("10.0.0.1")}, address.IPv6, ""},
		"other types":      {"are no addresses of members", []kubetest.NodeOption{kubetest.Address(v1.NodeHostName, "10.0.0.1"), kubetest.Address(v1.NodeInternalDNS, "10.0.0.1")}, "", ""},
		"unusable":         {"Octavia refuses it", []kubetest.NodeOption{internal("169.254.169.254"), internal("127.0.0.1"), internal("10.0.0.1")}, "", "10.0.0.1"},
		"no address":       {"is skipped", []kubetest.NodeOption{internal("node"), internal(""), external("192.0.2.1")}, "", "192.0.2.1"},
		"mapped":           {"is an IPv4 address", []kubetest.NodeOption{internal("::ffff:10.0.0.1")}, address.IPv4, "10.0.0.1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := balancedAddress(kubetest.Node("a", tc.options...), tc.family)
			if got.IsValid() != (tc.want != "") || got.IsValid() && got.String() != tc.want {
				t.Errorf("%s: got %v, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

// TestMembers proves that members have a fixed order and no address twice, and that
// Nodes that are left out are named.
func TestMembers(t *testing.T) {
	t.Parallel()
	nodes := []*v1.Node{
		kubetest.Node("z", kubetest.Address(v1.NodeInternalIP, "10.0.0.1")),
		kubetest.Node("y"),
		kubetest.Node("x", kubetest.Address(v1.NodeInternalIP, "10.0.0.1")),
	}
	before := slices.Clone(nodes)
	r, warnings, err := ForEnsure(kubetest.Service("shop", "web"), nodes, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	want := []Target{{Node: "x", Address: netip.MustParseAddr("10.0.0.1")}}
	if diff := cmp.Diff(want, r.Members, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	if !slices.Equal(nodes, before) {
		t.Error("the list of nodes was changed")
	}
	var messages []string
	for _, w := range warnings {
		messages = append(messages, w.Message)
	}
	if diff := cmp.Diff([]string{
		"Nodes get nothing from the load balancer, because they have no ipv4 address that others can reach: y",
		"Nodes get nothing from the load balancer, because other nodes have the same address: z",
	}, messages); diff != "" {
		t.Error(diff)
	}
}

// TestErrors (OS-LB-19) proves that mistakes in the spec, annotations and settings come
// together, and mean that the Service is invalid.
func TestErrors(t *testing.T) {
	t.Parallel()
	c := newCase()
	c.apply("nodes=none; spec.ports=; spec.ip=x; class=x; subnet-id=x; connection-limit=-2; config.create-monitor=true; config.monitor-delay=0; spec.ranges=x; hostname=*; floating-subnet=[")
	r, _, err := ForEnsure(c.service, c.nodes, c.settings)
	if r != nil || !errors.Is(err, apierr.ErrInvalid) {
		t.Fatalf("got %v, %v", r, err)
	}
	joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err)
	if !ok || len(joined.Unwrap()) < 2 {
		t.Fatalf("got %v", err)
	}
	lines := len(c.describe(t))
	if lines != 10 {
		t.Errorf("%d lines: %v", lines, err)
	}
}

func TestNeedsFloatingIP(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason   string
		internal bool
		vip      string
		want     bool
		warned   bool
	}{
		"external":       {"gets one", false, "10.0.0.1", true, false},
		"internal":       {"gets none", true, "10.0.0.1", false, false},
		"IPv6":           {"cannot have one", false, "fd00::1", false, true},
		"internal, IPv6": {"does not want one", true, "fd00::1", false, false},
		"mapped":         {"is IPv4", false, "::ffff:10.0.0.1", true, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, warnings := (&Request{Internal: tc.internal}).NeedsFloatingIP(netip.MustParseAddr(tc.vip))
			if got != tc.want || (len(warnings) == 1 && warnings[0].Reason == FloatingIPSkipped) != tc.warned {
				t.Errorf("%s: %t, %v", tc.reason, got, warnings)
			}
		})
	}
}
