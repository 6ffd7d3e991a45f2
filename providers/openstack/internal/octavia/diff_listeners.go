package octavia

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// forwardedFor is the header with the address of the client.
const forwardedFor = "X-Forwarded-For"

// repairText is the text of an update that changes nothing.
const repairText = "nothing, since it is in ERROR"

// hasFailed reports whether the last change of a part has failed, so that what serves may
// differ from what it says. Another change repairs it.
func (f *differ) hasFailed(status client.ProvisioningStatus) bool {
	return status == client.ProvisioningError && f.seen.LoadBalancer.Provisioning == client.ProvisioningActive
}

// diffListener plans to create, change or replace the listener of the port.
func (t *target) diffListener() {
	l := t.listener
	switch {
	case l == nil:
		t.addIsolated(t.createListener())
	case l.Protocol != string(t.port.Listener.Protocol):
		t.addIsolated(t.replaceListener().Removal())
	default:
		update, text := listenerUpdate(l, &t.port.Listener)
		if text == "" && !t.moves() && t.hasFailed(l.Provisioning) {
			update.ConnectionLimit, text = client.Set(l.ConnectionLimit), repairText
		}
		if text != "" {
			t.addIsolated(t.updateListener(update, text))
		}
		if t.moves() {
			t.addIsolated(t.moveListener())
		}
	}
}

// keepPolicies makes the port keep the protocol of its listener, and that of the pool, if the
// listener has L7 policies and would be deleted for another one: users make them, and they
// would be lost. The rest of the port follows the Service.
func (t *target) keepPolicies() {
	l, want := t.listener, &t.port.Listener
	if l == nil || l.Protocol == string(want.Protocol) || len(l.Policies) == 0 {
		return
	}
	text := fmt.Sprintf("Port %s keeps the protocol %s instead of %s: listener %s (%s) has %d L7 policies, which would be lost with it. Delete them first",
		t.port.key(), l.Protocol, want.Protocol, l.Name, l.ID, len(l.Policies))
	t.findings.Warnings = append(t.findings.Warnings, service.Warn(ListenerKept, "%s", text))
	t.findings.Gaps = append(t.findings.Gaps, service.Gap{Key: "protocol of listener " + l.ID, Text: text})
	kept := *t.port
	kept.Listener.Protocol, kept.Listener.TLSRef = features.Protocol(l.Protocol), ""
	switch {
	case t.attached != nil:
		kept.Pool.Protocol = features.Protocol(t.attached.Protocol)
	case !features.ValidPair(kept.Listener.Protocol, kept.Pool.Protocol):
		kept.Pool.Protocol = features.UsualPool(kept.Listener.Protocol)
	}
	t.port = &kept
}

// listenerUpdate returns the change of a listener, and its text, which is empty if there is
// nothing to change. The name, and what users have set, stays.
func listenerUpdate(seen *client.Listener, want *DesiredListener) (client.ListenerUpdate, string) {
	var update client.ListenerUpdate
	var texts []string
	say := func(format string, args ...any) { texts = append(texts, fmt.Sprintf(format, args...)) }
	if missing := lists.Without(want.Tags, seen.Tags); len(missing) > 0 {
		update.Tags = client.Set(slices.Concat(seen.Tags, missing))
		say("tags + %s", plan.Commas(missing))
	}
	if seen.ConnectionLimit != int(want.ConnectionLimit) {
		update.ConnectionLimit = client.Set(int(want.ConnectionLimit))
		say("connection limit %d", want.ConnectionLimit)
	}
	if strings.EqualFold(seen.InsertHeaders[forwardedFor], "true") != want.ForwardedFor && features.HasHeaders(want.Protocol) {
		update.InsertHeaders = client.Set(headers(seen.InsertHeaders, want))
		say("header %s %t", forwardedFor, want.ForwardedFor)
	}
	if want.TLSRef != "" && seen.TLSContainerRef != want.TLSRef {
		update.TLSContainerRef = client.Set(want.TLSRef)
		say("certificate %s", want.TLSRef)
	}
	if want.AllowedCIDRs != nil && !sameClients(seen.AllowedCIDRs, want.AllowedCIDRs) {
		update.AllowedCIDRs = client.Set(prefixTexts(want.AllowedCIDRs))
		say("allowed CIDRs %s", plan.Words(want.AllowedCIDRs))
	}
	if want.Timeouts != nil {
		texts = append(texts, updateTimeouts(&update, seen, want.Timeouts)...)
	}

	return update, strings.Join(texts, ", ")
}

// headers returns the headers of a wanted listener, with those that users insert, as far as
// its protocol has them.
func headers(seen map[string]string, want *DesiredListener) map[string]string {
	all := map[string]string{}
	for name, value := range seen {
		if name != forwardedFor && features.HasHeader(want.Protocol, name) {
			all[name] = value
		}
	}
	if want.ForwardedFor {
		all[forwardedFor] = "true"
	}

	return all
}

// updateTimeouts sets the timeouts that differ, and returns their texts. Octavia has none
// that a provider does not have.
func updateTimeouts(update *client.ListenerUpdate, seen *client.Listener, want *request.Timeouts) []string {
	var texts []string
	for _, timeout := range []struct {
		name string
		seen *int
		want int32
		set  *client.Change[int]
	}{
		{"client data", seen.TimeoutClientData, want.ClientData, &update.TimeoutClientData},
		{"member connect", seen.TimeoutMemberConnect, want.MemberConnect, &update.TimeoutMemberConnect},
		{"member data", seen.TimeoutMemberData, want.MemberData, &update.TimeoutMemberData},
		{"TCP inspect", seen.TimeoutTCPInspect, want.TCPInspect, &update.TimeoutTCPInspect},
	} {
		if timeout.seen != nil && *timeout.seen != int(timeout.want) {
			*timeout.set = client.Set(int(timeout.want))
			texts = append(texts, fmt.Sprintf("%s timeout %d ms", timeout.name, timeout.want))
		}
	}

	return texts
}

// sameClients reports whether a listener allows the wanted clients. None in the list means
// all (octavia: api-ref, allowed_cidrs).
func sameClients(seen []string, want []netip.Prefix) bool {
	parsed := make([]netip.Prefix, 0, len(seen))
	for _, text := range seen {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return false
		}
		parsed = append(parsed, prefix)
	}

	return slices.Equal(normalized(parsed), normalized(want))
}

// normalized returns ranges without duplicates and without those that the range of all
// clients of their family has, sorted. It returns none for all clients.
func normalized(prefixes []netip.Prefix) []netip.Prefix {
	var open []bool // families, IPv6 or not, all of whose clients are allowed
	for _, prefix := range prefixes {
		if prefix.Bits() == 0 {
			open = append(open, prefix.Addr().Is6())
		}
	}
	var kept []netip.Prefix
	restricted := false
	for _, prefix := range prefixes {
		if prefix.Bits() == 0 || !slices.Contains(open, prefix.Addr().Is6()) {
			kept = append(kept, prefix.Masked())
			restricted = restricted || prefix.Bits() > 0
		}
	}
	if !restricted {
		return nil
	}
	slices.SortFunc(kept, netip.Prefix.Compare)

	return slices.Compact(kept)
}

func prefixTexts(prefixes []netip.Prefix) []string { return lists.Map(prefixes, netip.Prefix.String) }
