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

// FW-CONFIG-14, FW-CONFIG-17: what a lookup of all Nodes proves.
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
		// confirm are the results of requests for one instance, absent by default, and
		// confirmed is how many of them there are.
		confirm   map[string]instance.Result
		confirmed int64
		want      instance.Located
		found     int
		err       error
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
			want: instance.Located{Missing: []string{"b", "a"}}, err: apierr.ErrNotFound, confirmed: 1,
		},
		"ManyMissing": {
			reason: "a few confirmations are enough", nodes: []*v1.Node{ready("a"), ready("b"), ready("c"), ready("d")},
			want: instance.Located{Missing: []string{"a", "b", "c", "d"}}, err: apierr.ErrNotFound, confirmed: 3,
		},
		"NotListed": {
			reason: "a list is no proof", nodes: []*v1.Node{ready("a"), ready("b")}, confirm: map[string]instance.Result{"b": found(instance.Running)},
			want: instance.Located{Missing: []string{"a"}}, found: 1, confirmed: 2,
		},
		"NotConfirmed": {
			reason: "nothing is known", nodes: []*v1.Node{ready("a"), ready("b")}, confirm: map[string]instance.Result{"b": unavailable},
			want: instance.Located{Missing: []string{"a"}, Unknown: []string{"b"}}, err: apierr.ErrUnavailable, confirmed: 2,
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
			result := func(of map[string]instance.Result, ref instance.Ref) instance.Result {
				if result, ok := of[strings.TrimPrefix(ref.ProviderID, "sim://")]; ok {
					return result
				}

				return instance.Absent()
			}
			s.lookup = func(_ context.Context, ref instance.Ref) instance.Result { return result(tc.results, ref) }
			s.confirm = func(_ context.Context, ref instance.Ref) instance.Result { return result(tc.confirm, ref) }
			got, err := instance.Locate(t.Context(), provider, s, tc.nodes)
			if diff := cmp.Diff(tc.err, err, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("%s: error (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(instance.Located{}, "Found")); diff != "" || len(got.Found) != tc.found {
				t.Errorf("%s: %d found (-want +got):\n%s", tc.reason, len(got.Found), diff)
			}
			if n := s.confirms.Load(); n != tc.confirmed {
				t.Errorf("%s: %d confirmations, want %d", tc.reason, n, tc.confirmed)
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
	s.lookup = func(context.Context, instance.Ref) instance.Result {
		if s.lookups.Load() > 16 {
			return instance.Failed(errCloud)
		}

		return found(instance.Running)
	}
	got, err := instance.Locate(t.Context(), provider, s, nodes)
	if err != nil || len(got.Found) != 16 || len(got.Unknown) != 24 || s.lookups.Load() != 40 {
		t.Errorf("%d found, %d unknown by %d lookups, %v", len(got.Found), len(got.Unknown), s.lookups.Load(), err)
	}
}
