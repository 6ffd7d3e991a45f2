package features_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
)

func version(t *testing.T, text string) (v features.Version) {
	t.Helper()
	if _, err := fmt.Sscanf(text, "v%d.%d", &v.Major, &v.Minor); err != nil {
		t.Fatal(err)
	}

	return v
}

// OS-LB-13: what each version of the API and each provider has.
func TestFeatures(t *testing.T) {
	t.Parallel()
	cases := map[features.Option]struct {
		since, before string
		ovn           bool
	}{
		features.Timeouts:          {"v2.1", "v2.0", false},
		features.Tags:              {"v2.5", "v2.4", true},
		features.Flavors:           {"v2.6", "v2.5", false},
		features.AdditiveMembers:   {"v2.11", "v2.10", false},
		features.AllowedCIDRs:      {"v2.12", "v2.11", false},
		features.SourceIPPort:      {"v2.13", "v2.12", true},
		features.AvailabilityZones: {"v2.14", "v2.13", false},
		features.UDPHTTPMonitors:   {"v2.16", "v2.15", false},
		features.ProxyV2:           {"v2.22", "v2.21", false},
		features.SCTP:              {"v2.23", "v2.22", true},
		features.AdditionalVIPs:    {"v2.26", "v2.25", true},
		features.VIPSecurityGroups: {"v2.29", "v2.28", false},
		features.Proxy:             {"v2.0", "v1.9", false},
		features.HTTPListeners:     {"v2.0", "v1.9", false},
		features.HTTPMonitors:      {"v2.0", "v1.9", false},
		features.SCTPMonitors:      {"v2.0", "v1.9", false},
		features.MonitorPorts:      {"v2.0", "v1.9", false},
		features.RemoteMembers:     {"v2.0", "v1.9", false},
		features.MixedFamilies:     {"v2.0", "v1.9", false},
		features.Persistence:       {"v2.0", "v1.9", true},
		"nothing":                  {"", "v2.29", false},
	}
	for option, tc := range cases {
		t.Run(string(option), func(t *testing.T) {
			t.Parallel()
			for _, provider := range []string{"", "amphora", "octavia", "f5", "OVN"} {
				if features.For(version(t, tc.before), provider).Has(option) {
					t.Errorf("%s of %q has it too early", tc.before, provider)
				}
				if tc.since == "" {
					continue
				}
				f := features.For(version(t, tc.since), provider)
				if !f.Has(option) || !features.For(version(t, "v3.0"), provider).Has(option) {
					t.Errorf("%s of %q must have it", tc.since, provider)
				}
				if without := f.Without(option); without.Has(option) || !f.Has(option) {
					t.Error("a refused option is not used, and others keep it")
				}
			}
			if got := features.For(version(t, "v2.29"), "ovn").Has(option); got != tc.ovn {
				t.Errorf("OVN: %t", got)
			}
		})
	}
}

func TestProviders(t *testing.T) {
	t.Parallel()
	newest := version(t, "v2.29")
	amphora, ovn, other := features.For(newest, "amphora"), features.For(newest, "ovn"), features.For(newest, "f5")
	if ovn.Version() != newest || ovn.Provider() != "ovn" || !ovn.IsOVN() || !ovn.KeepsSource() || other.KeepsSource() || amphora.IsOVN() {
		t.Error("OVN is OVN, and others are not")
	}
	for name, want := range map[string][3]bool{ // amphora, ovn, others
		features.RoundRobin:       {true, false, true},
		features.LeastConnections: {true, false, true},
		features.SourceIP:         {true, true, true},
		features.SourceIPAndPort:  {false, true, true},
		"NEW":                     {true, false, true},
	} {
		if got := [3]bool{amphora.Algorithm(name), ovn.Algorithm(name), other.Algorithm(name)}; got != want {
			t.Errorf("algorithm %s: got %v, want %v", name, got, want)
		}
	}
	if amphora.DefaultAlgorithm() != "ROUND_ROBIN" || other.DefaultAlgorithm() != "ROUND_ROBIN" || ovn.DefaultAlgorithm() != "SOURCE_IP_PORT" {
		t.Error("OVN has another algorithm by default")
	}
	for protocol, want := range map[features.Protocol][4]bool{ // listeners and pools of amphora, of ovn
		features.ProtocolTCP:             {true, true, true, true},
		features.ProtocolUDP:             {true, true, true, true},
		features.ProtocolSCTP:            {true, true, true, true},
		features.ProtocolHTTP:            {true, true, false, false},
		features.ProtocolHTTPS:           {true, true, false, false},
		features.ProtocolTerminatedHTTPS: {true, true, false, false},
		features.ProtocolPROXY:           {true, true, true, false},
		features.ProtocolPROXYV2:         {true, true, true, false},
	} {
		if got := [4]bool{amphora.Listener(protocol), amphora.Pool(protocol), ovn.Listener(protocol), ovn.Pool(protocol)}; got != want {
			t.Errorf("protocol %s: got %v, want %v", protocol, got, want)
		}
	}
}

func TestMonitor(t *testing.T) {
	t.Parallel()
	tcp, udp, sctp := v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolSCTP
	recent, old := version(t, "v2.16"), version(t, "v2.15")
	cases := map[string]struct {
		reason   string
		features features.Features
		protocol v1.Protocol
		local    bool
		want     features.MonitorType
	}{
		"TCP":             {"connects", features.For(recent, "amphora"), tcp, false, "TCP"},
		"UDP":             {"connects", features.For(recent, "amphora"), udp, false, "UDP-CONNECT"},
		"SCTP":            {"connects", features.For(recent, "amphora"), sctp, false, "SCTP"},
		"local TCP":       {"the health check of the Service", features.For(old, "amphora"), tcp, true, "HTTP"},
		"local SCTP":      {"the health check of the Service", features.For(old, "amphora"), sctp, true, "HTTP"},
		"local UDP":       {"the health check of the Service", features.For(recent, "amphora"), udp, true, "HTTP"},
		"local UDP, old":  {"HTTP is not allowed for it", features.For(old, "amphora"), udp, true, "UDP-CONNECT"},
		"other provider":  {"is used in full", features.For(recent, "f5"), udp, true, "HTTP"},
		"OVN":             {"no HTTP", features.For(recent, "ovn"), tcp, true, "TCP"},
		"OVN, UDP":        {"no HTTP", features.For(recent, "ovn"), udp, true, "UDP-CONNECT"},
		"OVN, SCTP":       {"none at all", features.For(recent, "ovn"), sctp, false, ""},
		"OVN, local SCTP": {"none at all", features.For(recent, "ovn"), sctp, true, ""},
		"refused HTTP":    {"by another provider", features.For(recent, "f5").Without(features.HTTPMonitors), tcp, true, "TCP"},
		"refused port":    {"HTTP needs it", features.For(recent, "f5").Without(features.MonitorPorts), tcp, true, "TCP"},
		"refused SCTP":    {"by another provider", features.For(recent, "f5").Without(features.SCTPMonitors), sctp, false, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tc.features.Monitor(tc.protocol, tc.local); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestPairs(t *testing.T) {
	t.Parallel()
	all := []features.Protocol{"TCP", "UDP", "SCTP", "HTTP", "HTTPS", "TERMINATED_HTTPS", "PROXY", "PROXYV2"}
	want := map[features.Protocol]map[features.Protocol]bool{
		"TCP":              {"TCP": true, "HTTP": true, "HTTPS": true, "PROXY": true, "PROXYV2": true},
		"HTTP":             {"HTTP": true, "PROXY": true, "PROXYV2": true},
		"TERMINATED_HTTPS": {"HTTP": true, "PROXY": true, "PROXYV2": true},
		"HTTPS":            {"HTTPS": true, "TCP": true, "PROXY": true, "PROXYV2": true},
		"UDP":              {"UDP": true},
		"SCTP":             {"SCTP": true},
	}
	for _, listener := range all {
		for _, pool := range all {
			if got := features.ValidPair(listener, pool); got != want[listener][pool] {
				t.Errorf("listener %s, pool %s: %t", listener, pool, got)
			}
		}
	}
	for protocol, transport := range map[features.Protocol]v1.Protocol{
		"TCP": "TCP", "HTTP": "TCP", "HTTPS": "TCP", "TERMINATED_HTTPS": "TCP", "PROXY": "TCP", "PROMETHEUS": "TCP", "UDP": "UDP", "SCTP": "SCTP", "QUIC": "",
	} {
		if got := features.Transport(protocol); got != transport {
			t.Errorf("%s: transport %q", protocol, got)
		}
		if got, want := features.HasHeaders(protocol), protocol == "HTTP" || protocol == "TERMINATED_HTTPS"; got != want {
			t.Errorf("%s: headers %t", protocol, got)
		}
	}
}

// TestLaterVersions proves that a later version never lacks what an earlier one has.
func TestLaterVersions(t *testing.T) {
	t.Parallel()
	options := []features.Option{features.Timeouts, features.Tags, features.Flavors, features.AllowedCIDRs, features.AvailabilityZones, features.UDPHTTPMonitors}
	rapid.Check(t, func(t *rapid.T) {
		draw := rapid.Custom(func(t *rapid.T) features.Version {
			return features.Version{Major: rapid.IntRange(0, 3).Draw(t, "major"), Minor: rapid.IntRange(0, 40).Draw(t, "minor")}
		})
		a, b := draw.Draw(t, "a"), draw.Draw(t, "b")
		if !a.AtLeast(b) && !b.AtLeast(a) || a.AtLeast(b) && b.AtLeast(a) != (a == b) {
			t.Fatalf("%v and %v have no order", a, b)
		}
		provider, option := rapid.SampledFrom([]string{"", "amphora", "ovn"}).Draw(t, "provider"), rapid.SampledFrom(options).Draw(t, "option")
		if b.AtLeast(a) && features.For(a, provider).Has(option) && !features.For(b, provider).Has(option) {
			t.Fatalf("%v lacks %s, which %v has", b, option, a)
		}
	})
}
