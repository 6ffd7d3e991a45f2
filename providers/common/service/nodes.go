package service

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// NodeSkipped is the reason of the warning about Nodes that get no traffic from the
// load balancer.
const NodeSkipped Reason = "NodeSkipped"

// SelectNodes returns the Nodes that have every label, in the same order. A label
// with an empty value matches any value.
func SelectNodes(nodes []*v1.Node, labels map[string]string) []*v1.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(node *v1.Node) bool {
		for key, want := range labels {
			got, ok := node.Labels[key]
			if !ok || want != "" && got != want {
				return true
			}
		}

		return false
	})
}

// SkippedNodes returns the warning about Nodes, by name, that get no traffic, nil
// without any. It names a few of them.
func SkippedNodes(names []string, why string) []Warning {
	if len(names) == 0 {
		return nil
	}

	return []Warning{Warn(NodeSkipped, "Nodes get nothing from the load balancer, because %s: %s",
		why, plan.FewCommas(slices.Sorted(slices.Values(names))))}
}
