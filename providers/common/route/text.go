package route

import (
	"net/netip"

	v1 "k8s.io/api/core/v1"
)

// TextOf returns a destination as it is among the ranges of a Node, which the route
// controller compares as text, or in its canonical form. The Node may be nil.
func TextOf(node *v1.Node, destination netip.Prefix) string {
	if node != nil {
		for _, text := range node.Spec.PodCIDRs {
			if parsed, err := netip.ParsePrefix(text); err == nil && parsed.Masked() == destination {
				return text
			}
		}
	}

	return destination.String()
}
