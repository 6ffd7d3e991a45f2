package vsphere

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// serverProblem returns what is wrong with the address of a vCenter, and what to
// write instead. URLs and ports are errors rather than taken apart: Secrets and
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

// checkTwice warns of sections that are of one vCenter, unless each has datacenters
// of its own.
func (r *resolver) checkTwice() {
	type address struct {
		server string
		port   Port
	}
	first := map[address]string{}
	for _, name := range slices.Sorted(maps.Keys(r.config.VirtualCenter)) {
		entry := r.config.VirtualCenter[name]
		at := address{server: hostOf(entry.Server), port: entry.Port}
		before, twice := first[at]
		if !twice || at.server == "" {
			first[at] = name

			continue
		}
		if !distinct(entry.Datacenters, r.config.VirtualCenter[before].Datacenters) {
			r.Problems.Warnf(r.At(r.serverKey(name)), "%s is the same vCenter as %s: remove one of them or give them different datacenters",
				r.Spell(entryName(name, "")), r.Spell(entryName(before, "")))
		}
	}
}

// hostOf is the one way of writing a host.
func hostOf(server string) string {
	server = strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(server), "["), "]"))
	if addr, err := netip.ParseAddr(server); err == nil {
		return addr.Unmap().String()
	}

	return strings.TrimSuffix(server, ".")
}

// distinct reports whether both lists name something, and nothing in common.
func distinct(a, b []string) bool {
	return len(a) > 0 && len(b) > 0 && !slices.ContainsFunc(a, func(name string) bool { return slices.Contains(b, name) })
}
