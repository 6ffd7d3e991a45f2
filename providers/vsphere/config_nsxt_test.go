package vsphere

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/tlsfiles"
)

// TestDecodeNSXT (VS-NSXT-1): what is wrong with the NSX-T manager is an error with its place, if
// something needs the manager.
func TestDecodeNSXT(t *testing.T) {
	t.Parallel()
	const head = "[Global]\nserver = vc\nuser = u\npassword = p\n[Route]\nrouter-path = /infra/tier-1s/t\n[NSXT]\n"
	cases := map[string]struct {
		reason, text string
		problems     []string
	}{
		"password":     {"fine", head + "host = nsx\nuser = u\npassword = p", nil},
		"certificate":  {"fine", head + "host = nsx\nclient-auth-cert-file = c\nclient-auth-key-file = k", nil},
		"token":        {"fine, with a path of the proxy", head + "host = nsx/a/b\nvmc-access-token = t\nvmc-auth-host = console.example.com/authorize", nil},
		"Secret":       {"fine", head + "host = nsx:8443\nsecret-name = s\nsecret-namespace = n", nil},
		"Secret later": {"a user until it exists is no error", head + "host = nsx\nsecret-name = s\nsecret-namespace = n\nuser = u\npassword = p", nil},
		"nothing":      {"what is missing is named", head[:len(head)-len("[NSXT]\n")], []string{"error: vsphere.conf:6:1: [Route] router-path: requires [NSXT]: host is empty, user or vmc access token or client cert file must be set, or secret-name"}},
		"method":       {"what is missing is named", head + "host = nsx\n", []string{"error: vsphere.conf:7:1: [NSXT]: user or vmc access token or client cert file must be set, or secret-name"}},
		"halves": {
			"each needs the other", head + "host = nsx\nuser = u\nclient-auth-cert-file = c\nsecret-name = s\nvmc-access-token = t",
			[]string{
				"error: vsphere.conf:9:1: [NSXT] user: requires [NSXT] password", "warning: vsphere.conf:9:1: [NSXT] user: is ignored: [NSXT] client-auth-cert-file is set",
				"error: vsphere.conf:10:1: [NSXT] client-auth-cert-file: requires [NSXT] client-auth-key-file",
				"error: vsphere.conf:11:1: [NSXT] secret-name: requires [NSXT] secret-namespace",
				"error: vsphere.conf:12:1: [NSXT] vmc-access-token: requires [NSXT] vmc-auth-host", "warning: vsphere.conf:12:1: [NSXT] vmc-access-token: is ignored: [NSXT] client-auth-cert-file is set",
			},
		},
		"other halves": {
			"each needs the other", head + "host = nsx\nuser = u\npassword = p\nclient-auth-key-file = k\nsecret-namespace = n",
			[]string{
				"error: vsphere.conf:11:1: [NSXT] client-auth-key-file: requires [NSXT] client-auth-cert-file",
				"error: vsphere.conf:12:1: [NSXT] secret-namespace: requires [NSXT] secret-name",
			},
		},
		"scheme": {
			"the host has none", head + "host = https://u:secret@nsx\nuser = u\npassword = p\n",
			[]string{"error: vsphere.conf:8:1: [NSXT] host: want a host name or an IP address, with a port and a path if there are any, and no scheme"},
		},
		"scheme of the token": {
			"nor has that of the token", head + "host = nsx\nvmc-access-token = t\nvmc-auth-host = https://console.example.com/authorize\n",
			[]string{"error: vsphere.conf:10:1: [NSXT] vmc-auth-host: want a host name or an IP address, with a port and a path if there are any, and no scheme"},
		},
		"CA":   {"a file that cannot be read", head + "host = nsx\nuser = u\npassword = p\nca-file = /missing", []string{"error: vsphere.conf:11:1: [NSXT] ca-file: cannot read /missing"}},
		"path": {"another gateway than a tier-1 of this manager", strings.Replace(head, "/infra/tier-1s/t", "/orgs/o/projects/p/infra/tier-1s/t", 1) + "host = nsx\nuser = u\npassword = p", []string{`error: vsphere.conf:6:1: [Route] router-path: "/orgs/o/projects/p/infra/tier-1s/t" is not the path of a tier-1 gateway: want /infra/tier-1s/<id>`}},
		"unused": {
			"nothing needs the manager: a warning", "[Global]\nserver = vc\nuser = u\npassword = p\n[NSXT]\nhost = nsx\n",
			[]string{"warning: vsphere.conf:5:1: [NSXT]: has no effect without [LoadBalancer] or [Route] router-path"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := in(nil)
			env.checkTLS = func(files tlsfiles.Files) error {
				if files.CAFile != "" {
					return errors.New("cannot read " + files.CAFile)
				}

				return nil
			}
			_, _, problems := decode(parse(t, tc.text), env)
			if diff := cmp.Diff(tc.problems, describeProblems(problems)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
