package nodes

import (
	"errors"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
)

// ownershipCases are about nodes that are not this cloud's.
func ownershipCases() []testCase {
	return []testCase{
		{Name: "a node of another cloud costs nothing and is left alone", Run: foreignIsLeftAlone},
		{Name: "a node of another cloud is left alone in an outage", Run: foreignInOutage},
		{Name: "a malformed providerID is an error", Run: malformedIsError},
		{
			Name: "an instance of another region, project or server is an error", Run: elsewhereIsError,
			LeftOut: func(a Adapter) bool { return a.Without.Places },
		},
	}
}

// foreign returns nodes of other clouds that are the most like one of ours: all but
// the providerID is that of our machine.
func (f *fixture) foreign(m machine) []*v1.Node {
	var nodes []*v1.Node
	for _, id := range harness.ProviderIDs() {
		if !strings.HasPrefix(id, f.adapter.Provider+"://") {
			nodes = append(nodes, harness.NewNode(m.Ref, harness.WithID(id)), harness.NewNode(m.Ref, harness.WithID(id), tainted))
		}
	}

	return nodes
}

// checkForeign makes all queries about the nodes, whose results must be empty.
func (f *fixture) checkForeign(nodes []*v1.Node) {
	f.T.Helper()
	for i, r := range f.query(nodes...) {
		node := nodes[i]
		id := node.Spec.ProviderID
		for method, err := range r.errs() {
			if err != nil {
				f.T.Errorf("%s of %s: %v", method, id, err)
			}
		}
		if r.gone() {
			f.T.Errorf("the node %s is gone", id)
		}
		if r.shutdown {
			f.T.Errorf("the node %s is shut down", id)
		}
		var want *cloudprovider.InstanceMetadata
		if len(node.Spec.Taints) == 0 {
			want = &cloudprovider.InstanceMetadata{}
		}
		if diff := cmp.Diff(want, r.metadata); diff != "" {
			f.T.Errorf("InstanceMetadata of %s (-want +got):\n%s", id, diff)
		}
	}
}

func foreignIsLeftAlone(f *fixture) {
	m := f.Create()
	f.connect()
	f.initialize(m)
	f.Cloud.SetPower(f.T, m.Ref, conformance.Off)
	f.waitShutdown(harness.NewNode(m.Ref), true)
	calls := f.Cloud.Calls()
	f.checkForeign(f.foreign(m))
	if got := f.Cloud.Calls() - calls; got != 0 {
		f.T.Errorf("nodes of other clouds cost %d calls", got)
	}
}

func foreignInOutage(f *fixture) {
	m := f.Create()
	f.connect()
	f.initialize(m)
	f.InjectFailure(conformance.Unreachable)
	f.Cloud.Delete(f.T, m.Ref)
	f.Always(func() { f.checkForeign(f.foreign(m)) })
}

// malformedIsError: a typing error must not delete a node.
func malformedIsError(f *fixture) {
	m := f.Create()
	f.connect()
	f.initialize(m)
	for _, id := range slices.Concat(f.adapter.Malformed, []string{"no ID of any cloud", "://" + m.NodeName}) {
		f.checkErrors(m, id)
	}
}

// checkErrors fails the case unless every query about a Node of the machine that has
// this providerID instead is an error, and not that it is missing.
func (f *fixture) checkErrors(m machine, id string) {
	f.T.Helper()
	for _, node := range []*v1.Node{harness.NewNode(m.Ref, harness.WithID(id)), harness.NewNode(m.Ref, harness.WithID(id), tainted)} {
		r := f.query(node)[0]
		for method, err := range r.errs() {
			if err == nil || errors.Is(err, cloudprovider.InstanceNotFound) {
				f.T.Errorf("%s of %q is no error: %v", method, id, err)
			}
		}
		if r.exists || r.shutdown || r.metadata != nil {
			f.T.Errorf("%q: exists %t, shutdown %t, metadata %v", id, r.exists, r.shutdown, r.metadata)
		}
	}
}

// elsewhereIsError: no request goes to where the instance could be, so nothing is
// known about it, whether there is one of the same ID here or not.
func elsewhereIsError(f *fixture) {
	here, deleted := f.Create(), f.Create()
	f.connect()
	f.initialize(here)
	f.initialize(deleted)
	f.Cloud.Delete(f.T, deleted.Ref)
	f.waitGone(harness.NewNode(deleted.Ref))
	for _, m := range []machine{here, deleted} {
		ids := f.adapter.Elsewhere(m.ProviderID)
		if len(ids) == 0 {
			f.T.Fatal("Adapter.Elsewhere returns no providerID")
		}
		for _, id := range ids {
			f.Always(func() { f.checkErrors(m, id) })
		}
	}
}
