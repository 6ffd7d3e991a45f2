package nodes

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// TestIdentify goes through the order of AWS-ID-3 for Nodes without providerID.
// None of these needs EC2 to find the instance.
func TestIdentify(t *testing.T) {
	t.Parallel()
	r := awstest.Start(t, sim.Options{})
	s := sourceIn(t, r, Config{SelfName: "self", SelfID: "i-05e1f"}, awstest.Impatient())
	informer := informers.NewSharedInformerFactory(kubetest.NewClientset(), 0).Core().V1().Nodes().Informer()
	index, err := IndexNodes(informer)
	if err != nil {
		t.Fatal(err)
	}
	s.SetNodes(index)
	for _, node := range []*v1.Node{
		kubetest.Node("known", kubetest.ProviderID("aws:///us-west-2a/i-0abc")), kubetest.Node("i-0def.local", kubetest.ProviderID("aws:///us-west-2a/i-0abc")),
		kubetest.Node("foreign", kubetest.ProviderID("gce://p/z/i-0abc")), kubetest.Node("new"),
	} {
		if err := informer.GetStore().Add(node); err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]struct {
		reason string
		ref    instance.Ref
		want   string
		err    bool
	}{
		"provider ID":      {"the provider ID comes first", instance.Ref{ProviderID: "aws:///z/i-0123", NodeName: "self"}, "i-0123", false},
		"self":             {"the own node", instance.Ref{NodeName: "self"}, "i-05e1f", false},
		"resource name":    {"before the first dot", instance.Ref{NodeName: "i-0abc.us-west-2.compute.internal"}, "i-0abc", false},
		"in the informer":  {"the provider ID of the Node", instance.Ref{NodeName: "known"}, "i-0abc", false},
		"name before that": {"the name comes first", instance.Ref{NodeName: "i-0def.local"}, "i-0def", false},
		"foreign":          {"AWS-ID-2: rejected", instance.Ref{NodeName: "foreign"}, "", true},
		"new":              {"only EC2 has it", instance.Ref{NodeName: "new"}, "", false},
		"unknown":          {"only EC2 has it", instance.Ref{NodeName: "unknown"}, "", false},
		"nothing":          {"nothing to look up", instance.Ref{}, "", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := s.identify(tc.ref)
			if got != tc.want || (err != nil) != tc.err {
				t.Errorf("%s: got %q, %v", tc.reason, got, err)
			}
		})
	}
	if calls := r.Interceptor().Total(); calls != 0 {
		t.Errorf("it cost %d calls", calls)
	}
}
