package conformance

import (
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// clouds are providerIDs as several clouds write them.
var clouds = []string{
	"aws:///us-east-1a/i-0123456789abcdef0",
	"openstack:///0e7c5a4e-6f2a-4b57-9c7e-5a0f3c1d2b6a",
	"openstack://RegionOne/0e7c5a4e-6f2a-4b57-9c7e-5a0f3c1d2b6a",
	"vsphere://42278b4e-dd2f-1c4a-9d5e-0f6b8f1c2a3d",
	"gce://project/us-central1-a/machine",
	"kind://docker/kind/kind-control-plane",
}

// ownershipCases are about nodes that are not this cloud's.
func ownershipCases() []nodeCase {
	return []nodeCase{
		{name: "a node of another cloud costs nothing and is left alone", run: foreignIsLeftAlone},
		{name: "a node of another cloud is left alone in an outage", run: foreignInOutage},
		{name: "a malformed providerID is an error", run: malformedIsError},
	}
}

// foreign are the nodes of other clouds that look most like one of ours: all
// but the providerID is that of our machine.
func (b *fixture) foreign(m machine) []*v1.Node {
	var nodes []*v1.Node
	for _, id := range clouds {
		if !strings.HasPrefix(id, b.suite.Provider+"://") {
			nodes = append(nodes, newNode(m.Ref, withID(id)), newNode(m.Ref, withID(id), tainted))
		}
	}

	return nodes
}

// checkForeign asks everything about the nodes and wants to hear nothing.
func (b *fixture) checkForeign(nodes []*v1.Node) {
	b.t.Helper()
	for i, r := range b.ask(nodes...) {
		node := nodes[i]
		id := node.Spec.ProviderID
		for question, err := range r.errs() {
			if err != nil {
				b.t.Errorf("%s of %s: %v", question, id, err)
			}
		}
		if r.gone() {
			b.t.Errorf("the node %s is gone", id)
		}
		if r.shutdown {
			b.t.Errorf("the node %s is shut down", id)
		}
		var want *cloudprovider.InstanceMetadata
		if len(node.Spec.Taints) == 0 {
			want = &cloudprovider.InstanceMetadata{}
		}
		if diff := cmp.Diff(want, r.metadata); diff != "" {
			b.t.Errorf("InstanceMetadata of %s (-want +got):\n%s", id, diff)
		}
	}
}

func foreignIsLeftAlone(b *fixture) {
	m := b.create()
	b.connect()
	b.initialize(m)
	b.cloud.SetPower(b.t, m.Ref, Off)
	b.waitShutdown(newNode(m.Ref), true)
	calls := b.cloud.Calls()
	b.checkForeign(b.foreign(m))
	if got := b.cloud.Calls() - calls; got != 0 {
		b.t.Errorf("nodes of other clouds cost %d calls", got)
	}
}

func foreignInOutage(b *fixture) {
	m := b.create()
	b.connect()
	b.initialize(m)
	b.breakCloud(Unreachable)
	b.cloud.Delete(b.t, m.Ref)
	b.always(func() { b.checkForeign(b.foreign(m)) })
}

// malformedIsError: a typing error must not delete a node.
func malformedIsError(b *fixture) {
	m := b.create()
	b.connect()
	b.initialize(m)
	for _, id := range slices.Concat(b.suite.Malformed, []string{"no ID of any cloud", "://" + m.NodeName}) {
		for _, node := range []*v1.Node{newNode(m.Ref, withID(id)), newNode(m.Ref, withID(id), tainted)} {
			r := b.ask(node)[0]
			for question, err := range r.errs() {
				if err == nil {
					b.t.Errorf("%s of %q is no error", question, id)
				}
			}
			if r.exists || r.shutdown || r.metadata != nil {
				b.t.Errorf("%q: exists %t, shutdown %t, metadata %v", id, r.exists, r.shutdown, r.metadata)
			}
		}
	}
}
