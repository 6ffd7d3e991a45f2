package vsphere

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// serverProblem tells what is wrong with the address of a vCenter, and what to
// write instead. URLs and ports are refused rather than taken apart: Secrets and
// directories name their credentials by this address, so that it has to be the
// one that they have. The text does not repeat a URL, which may hold a password.
func serverProblem(server string) string {
	if _, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(server, "["), "]")); err == nil {
		return ""
	}
	if !strings.ContainsAny(server, ":/@[]?#\\ \t\r\n") {
		return ""
	}
	const problem = "want a host name or an IP address"
	if !strings.Contains(server, "://") {
		server = "https://" + server
	}
	u, err := url.Parse(server)
	if err != nil || u.Hostname() == "" {
		return problem
	}
	if u.Port() == "" {
		return fmt.Sprintf("%s: set server to %q", problem, u.Hostname())
	}
	return fmt.Sprintf("%s: set server to %q and port to %s", problem, u.Hostname(), u.Port())
}
