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
