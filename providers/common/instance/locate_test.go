package instance_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

// FW-CONFIG-14: what a lookup of all Nodes proves.
func TestLocate(t *testing.T) {
	t.Parallel()
	ready := func(id string) *v1.Node { return kubetest.Node(id, kubetest.ProviderID("sim://"+id)) }
	notReady := func(id string) *v1.Node {
		return kubetest.Node(id, kubetest.ProviderID("sim://"+id), kubetest.NotReady())
	}
	unavailable := instance.Failed(apierr.Mark(apierr.ErrUnavailable, errCloud))
	cases := map[string]struct {
		reason  string
		nodes   []*v1.Node
		results map[string]instance.Result
		want    instance.Located
		found   int
		err     error
	}{
		"None": {reason: "there are no Nodes"},
		"Some": {
			reason: "one instance is enough", nodes: []*v1.Node{ready("a"), ready("b"), ready("c")},
			results: map[string]instance.Result{"a": instance.Absent(), "b": found(instance.Running), "c": unavailable},
			want:    instance.Located{Missing: []string{"a"}, Unknown: []string{"c"}}, found: 1,
		},
		"Terminated": {
			reason: "a terminated instance is missing", nodes: []*v1.Node{notReady("a")},
			results: map[string]instance.Result{"a": found(instance.Terminated)}, want: instance.Located{Missing: []string{"a"}},
		},
		"AllMissing": {
			reason: "a kubelet that reports has a machine", nodes: []*v1.Node{notReady("a"), ready("b")},
			want: instance.Located{Missing: []string{"b", "a"}}, err: apierr.ErrNotFound,
		},
		"NotReady": {
			reason: "instances of Nodes that are not Ready may be gone", nodes: []*v1.Node{notReady("a")},
			want: instance.Located{Missing: []string{"a"}},
		},
		"New": {
			reason: "a Node without a provider ID is looked up by name, and proves nothing", nodes: []*v1.Node{kubetest.Node("a")},
			want: instance.Located{Missing: []string{"a"}},
		},
		"Unavailable": {
			reason: "nothing is known", nodes: []*v1.Node{ready("a"), ready("b")},
			results: map[string]instance.Result{"b": unavailable},
			want:    instance.Located{Missing: []string{"a"}, Unknown: []string{"b"}}, err: apierr.ErrUnavailable,
		},
		"Others": {
			reason: "Nodes of other clouds, and those with IDs of none, do not count",
			nodes:  []*v1.Node{kubetest.Node("a", kubetest.ProviderID("aws:///z/i-1")), kubetest.Node("b", kubetest.ProviderID("sim:///x/y"))},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSource(instance.Absent(), instance.Absent())
			s.lookup = func(_ context.Context, refs []instance.Ref) []instance.Result {
				results := make([]instance.Result, len(refs))
				for i, ref := range refs {
					results[i] = instance.Absent()
					if result, ok := tc.results[strings.TrimPrefix(ref.ProviderID, "sim://")]; ok {
						results[i] = result
					}
				}

				return results
			}
			got, err := instance.Locate(t.Context(), provider, s, tc.nodes)
			if diff := cmp.Diff(tc.err, err, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("%s: error (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(instance.Located{}, "Found")); diff != "" || len(got.Found) != tc.found {
				t.Errorf("%s: %d found (-want +got):\n%s", tc.reason, len(got.Found), diff)
			}
		})
	}
}

// A few Nodes are looked up first: what is not known of all others is no error then.
func TestLocateManyNodes(t *testing.T) {
	t.Parallel()
	var nodes []*v1.Node
	for i := range 40 {
		nodes = append(nodes, kubetest.Node(fmt.Sprintf("n%d", i), kubetest.ProviderID(fmt.Sprintf("sim://n%d", i))))
	}
	s := newSource(instance.Absent(), instance.Absent())
	s.lookup = func(_ context.Context, refs []instance.Ref) []instance.Result {
		results := make([]instance.Result, len(refs))
		for i := range refs {
			results[i] = instance.Failed(errCloud)
			if len(refs) <= 16 {
				results[i] = found(instance.Running)
			}
		}

		return results
	}
	got, err := instance.Locate(t.Context(), provider, s, nodes)
	if err != nil || len(got.Found) != 16 || len(got.Unknown) != 24 || s.lookups.Load() != 2 {
		t.Errorf("%d found, %d unknown by %d lookups, %v", len(got.Found), len(got.Unknown), s.lookups.Load(), err)
	}
}
