package octavia

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
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
