package vsphere

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The address of a vCenter is a host: a URL or a port in it is an error that says
// what to write.
func TestServerIsAHost(t *testing.T) {
	t.Parallel()
	const want = "want a host name or an IP address"
	cases := map[string]struct {
		reason string
		server string
		want   string
	}{
		"Host":           {"a host name", "vcenter.example.com", ""},
		"IPv4":           {"an address", "10.0.0.1", ""},
		"IPv6":           {"an address", "fd00::1", ""},
		"Brackets":       {"the same address", "[fd00::1]", ""},
		"URL":            {"what the SDK's own tools take", "https://host:8443/sdk", want + `: set server to "host" and port to 8443`},
		"URLWithoutPort": {"the port is the default", "https://host/sdk", want + `: set server to "host"`},
		"URLOfIPv6":      {"brackets are part of the URL alone", "https://[fd00::1]:8443/sdk", want + `: set server to "fd00::1" and port to 8443`},
		"Port":           {"port has a key of its own", "host:443", want + `: set server to "host" and port to 443`},
		"PortOfIPv6":     {"port has a key of its own", "[fd00::1]:443", want + `: set server to "fd00::1" and port to 443`},
		"Path":           {"the path is always the same", "host/sdk", want + `: set server to "host"`},
		"Secret":         {"what is secret is not shown", "https://user:secret@host/sdk", want + `: set server to "host"`},
		"Nonsense":       {"there is no host in it", "https://", want},
		"Blank":          {"a host name has no blanks", "a b", want},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			places := map[string]string{
				fmt.Sprintf("[VirtualCenter %q]\nuser = u\npassword = p\n", tc.server):                  fmt.Sprintf("1:1: [VirtualCenter %q]", tc.server),
				fmt.Sprintf("[VirtualCenter \"vc\"]\nserver = %q\nuser = u\npassword = p\n", tc.server): `2:1: [VirtualCenter "vc"] server`,
				fmt.Sprintf("[Global]\nserver = %q\nuser = u\npassword = p\n", tc.server):               "2:1: [Global] server",
				fmt.Sprintf("vcenter: {vc: {server: %q, user: u, password: p}}\n", tc.server):           "1:16: vcenter.vc.server",
			}
			for text, place := range places {
				var wanted []string
				if tc.want != "" {
					wanted = []string{"error: vsphere.conf:" + place + ": " + tc.want}
				}
				_, _, problems := decode(parse(t, text), in(nil))
				if diff := cmp.Diff(wanted, describeProblems(problems)); diff != "" {
					t.Errorf("%s\nproblems of %q (-want +got):\n%s", tc.reason, text, diff)
				}
			}
		})
	}
}

// Two sections for one vCenter find each VM twice.
func TestSectionsOfOneVCenter(t *testing.T) {
	t.Parallel()
	const credentials = "user = u\npassword = p\n"
	cases := map[string]struct {
		reason string
		text   string
		want   []string
	}{
		"Twice": {
			"the server of one is the name of the other",
			"[VirtualCenter \"VC.example.com\"]\n" + credentials + "[VirtualCenter \"other\"]\nserver = vc.example.com\n" + credentials,
			[]string{`warning: vsphere.conf:5:1: [VirtualCenter "other"] is the same vCenter as [VirtualCenter "VC.example.com"]: remove one of them or give them different datacenters`},
		},
		"Brackets": {
			"an address has several ways of writing",
			"[VirtualCenter \"a\"]\nserver = [fd00::1]\n" + credentials + "[VirtualCenter \"b\"]\nserver = fd00:0::1\n" + credentials,
			[]string{`warning: vsphere.conf:6:1: [VirtualCenter "b"] is the same vCenter as [VirtualCenter "a"]: remove one of them or give them different datacenters`},
		},
		"Datacenters": {
			"each has its own", "[VirtualCenter \"a\"]\nserver = vc\ndatacenters = x\n" + credentials + "[VirtualCenter \"b\"]\nserver = vc\ndatacenters = y\n" + credentials, nil,
		},
		"Ports": {"two vCenters behind one address", "[VirtualCenter \"a\"]\nserver = vc\n" + credentials + "[VirtualCenter \"b\"]\nserver = vc\nport = 8443\n" + credentials, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, problems := decode(parse(t, tc.text), in(nil))
			if diff := cmp.Diff(tc.want, describeProblems(problems)); diff != "" {
				t.Errorf("%s: -want +got\n%s", tc.reason, diff)
			}
		})
	}
}
