package octavia

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
)

// Reasons of warnings about what users have made.
const (
	// PoolKept is the reason for a pool that is not deleted, since a user has made it or
	// uses it in an L7 policy.
	PoolKept service.Reason = "LoadBalancerPoolKept"
	// ListenerKept is the reason for a listener that keeps its protocol, since a user has
	// made L7 policies for it.
	ListenerKept service.Reason = "LoadBalancerListenerKept"
)

// optionTexts are the words by which refusals name options (octavia: api/drivers;
// ovn-octavia-provider: driver.py). The first that fits counts.
var optionTexts = []struct {
	option features.Option
	words  []string
}{
	{features.AllowedCIDRs, []string{"allowed_cidrs", "allowed cidrs"}},
	{features.Timeouts, []string{"timeout_client_data", "timeout_member_connect", "timeout_member_data", "timeout_tcp_inspect"}},
	{features.MonitorPorts, []string{"monitor options", "monitor_port", "monitor_address"}},
	{features.HTTPMonitors, []string{"http health monitor", "http healthmonitor"}},
	{features.SCTPMonitors, []string{"sctp health monitor", "sctp healthmonitor"}},
	{features.Persistence, []string{"session persistence", "session_persistence"}},
	{features.MixedFamilies, []string{"mixing ipv4"}},
	{features.AvailabilityZones, []string{"availability zone", "availability_zone"}},
	{features.Tags, []string{"tags"}},
}

// unsupported are the words by which a refusal with 400 says that an option is not
// supported at all. Others are about its value.
var unsupported = []string{"unknown attribute", "does not support", "doesn't support", "not supported"}

// refusedOption returns the option that a provider does not support, according to an
// error.
func refusedOption(err error) (features.Option, bool) {
	if err == nil || !change.IsOptionRefusal(err) {
		return "", false
	}
	text := strings.ToLower(change.Message(err))
	if e, ok := errors.AsType[*client.Error](err); ok && e.Status == http.StatusBadRequest && !hasAny(text, unsupported) {
		return "", false
	}
	for _, row := range optionTexts {
		if hasAny(text, row.words) {
			return row.option, true
		}
	}

	return "", false
}

func hasAny(text string, words []string) bool {
	for _, word := range words {
		if strings.Contains(text, word) {
			return true
		}
	}

	return false
}

// isAboutAlgorithm reports whether a refusal is about the algorithm of a pool: Octavia names
// the field, drivers the algorithm (ovn-octavia-provider: driver.py).
func isAboutAlgorithm(err error) bool {
	return strings.Contains(strings.ToLower(change.Message(err)), "algorithm")
}

// tolerate sends a request of the port, and again without the options that the provider
// refuses. It leaves them out of the following requests of all ports, too.
func (t *target) tolerate(ctx context.Context, env *change.Env, send func(context.Context) error) error {
	for {
		err := send(ctx)
		option, ok := refusedOption(err)
		if !ok || !t.leaveOut(option, t) {
			return err
		}
		env.RefuseOption(t.seen.LoadBalancer.Provider, option, err)
	}
}

// leaveOut drops an option from all ports, and reports whether that changes the port of a
// target.
func (f *differ) leaveOut(option features.Option, of *target) bool {
	f.refused = append(f.refused, option)
	known := f.desired.Features.Without(f.refused...)
	isVIP := hasFamily(f.seen.LoadBalancer)
	result := false
	for _, t := range f.targets {
		p, changed := t.port.without(option, known, isVIP)
		t.port = &p
		result = result || changed && t == of
	}

	return result
}

// hasFamily returns a function that reports whether a load balancer has an address of the
// family of another one. It reports true if its addresses are not known.
func hasFamily(lb *client.LoadBalancerInfo) func(netip.Addr) bool {
	texts := []string{lb.VIPAddress}
	for _, vip := range lb.AdditionalVIPs {
		texts = append(texts, vip.Address)
	}
	families := map[bool]bool{}
	for _, text := range texts {
		if addr, err := netip.ParseAddr(text); err == nil {
			families[addr.Is4()] = true
		}
	}

	return func(addr netip.Addr) bool { return len(families) == 0 || families[addr.Is4()] }
}

// mentions reports whether a text names an address or an ID: not as the part of a longer
// one.
func mentions(text, name string) bool {
	if name == "" {
		return false
	}
	inside := "0123456789"
	between := "."
	if !isIPv4(name) {
		inside, between = inside+"abcdefABCDEF", ":-"
	}
	for at := 0; ; {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return false
		}
		from, to := at+i, at+i+len(name)
		if !goesOn(reversed(text[:from]), inside, between) && !goesOn(text[to:], inside, between) {
			return true
		}
		at = from + 1
	}
}

func isIPv4(name string) bool {
	addr, err := netip.ParseAddr(name)

	return err == nil && addr.Is4()
}

// reversed returns the end of a text, last character first.
func reversed(text string) string {
	end := []byte(text[max(len(text)-2, 0):])
	slices.Reverse(end)

	return string(end)
}

// goesOn reports whether a text begins with a character that addresses consist of, perhaps
// after one that is between these.
func goesOn(text, inside, between string) bool {
	if text != "" && strings.IndexByte(between, text[0]) >= 0 {
		text = text[1:]
	}

	return text != "" && strings.IndexByte(inside, text[0]) >= 0
}
