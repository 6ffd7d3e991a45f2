package service

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

func TestSelectNodes(t *testing.T) {
	t.Parallel()
	nodes := []*v1.Node{
		kubetest.Node("c", kubetest.Labeled("pool", "blue"), kubetest.Labeled("disk", "ssd")),
		kubetest.Node("a", kubetest.Labeled("pool", "blue")),
		kubetest.Node("b", kubetest.Labeled("pool", "red"), kubetest.Labeled("disk", "")),
	}
	cases := map[string]struct {
		reason string
		labels map[string]string
		want   []string
	}{
		"All":      {"no labels, all Nodes in order", nil, []string{"c", "a", "b"}},
		"Value":    {"the value counts", map[string]string{"pool": "blue"}, []string{"c", "a"}},
		"AnyValue": {"an empty value matches any", map[string]string{"disk": ""}, []string{"c", "b"}},
		"AllKeys":  {"every label", map[string]string{"pool": "blue", "disk": "ssd"}, []string{"c"}},
		"NoMatch":  {"no Node", map[string]string{"pool": "green"}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, node := range SelectNodes(nodes, tc.labels) {
				got = append(got, node.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
		})
	}
	if len(nodes) != 3 || nodes[2] == nil {
		t.Errorf("the list that was passed has changed: %v", nodes)
	}
}

func TestSkippedNodes(t *testing.T) {
	t.Parallel()
	if got := SkippedNodes(nil, "x"); got != nil {
		t.Errorf("without Nodes: got %v", got)
	}
	names := []string{"h", "g", "f", "e", "d", "c", "b", "a"}
	want := []Warning{{Reason: NodeSkipped, Message: "Nodes get nothing from the load balancer, because they are off: a, b, c, d, e and 3 more"}}
	if diff := cmp.Diff(want, SkippedNodes(names, "they are off")); diff != "" || names[0] != "h" {
		t.Errorf("an Event names a few Nodes, and does not sort the list of the caller: %s", diff)
	}
}
