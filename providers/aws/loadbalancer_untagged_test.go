package aws

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// AWS-CLUSTER-8: instances that lose the tag of the cluster, for example by a tag
// policy, stay targets with their rules; the Service has an Event. Nodes that join
// without the tag are targets, too.
func TestInstancesWithoutTheTagServe(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := balance(t, uncached)
			svc := web(options...)
			b.ensure(svc)
			rules, registered := b.rules(b.seed.NodeGroup), b.registered(webName)
			for _, id := range b.ids {
				b.SetTags(id, nil)
			}
			b.drainEvents()
			if err := b.sync(svc); err != nil {
				t.Errorf("a sync: %v", err)
			}
			if diff := cmp.Diff(rules, b.rules(b.seed.NodeGroup)); diff != "" {
				t.Errorf("rules: -before +after\n%s", diff)
			}
			if diff := cmp.Diff(registered, b.registered(webName)); diff != "" {
				t.Errorf("targets: -before +after\n%s", diff)
			}
			events := b.drainEvents()
			if !slices.ContainsFunc(events, func(event string) bool { return strings.Contains(event, string(request.Untagged)) }) {
				t.Errorf("no Event %s: %v", request.Untagged, events)
			}
			joined := b.seed.AddNodes(1)[0]
			b.SetTags(joined, nil)
			b.nodes = append(b.nodes, nodesOf(joined)...)
			if err := b.update(svc); err != nil || !slices.Contains(b.registered(webName), joined) {
				t.Errorf("a node that joins: %v, registered are %v", err, b.registered(webName))
			}
			b.reachable(webName)
		})
	}
}

// AWS-LB-10: a Node of another region is no target, and nothing else is different:
// no error, no Event, and what is not needed any more is removed.
func TestNodeOfAnotherRegionChangesNothing(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := balance(t, uncached)
			pool := b.group("pool", map[string]string{sim.ClusterTag(demo): "owned"})
			joined := b.seed.AddNode(sim.InstanceSpec{InterfaceSpec: sim.InterfaceSpec{Groups: []string{pool}}})
			far := kubetest.Node("far", kubetest.ProviderID("aws:///eu-central-1a/i-0123456789abcdef0"))
			b.nodes = append(nodesOf(append(b.ids, joined)...), far)
			svc := web(options...)
			if err := b.sync(svc); err != nil {
				t.Errorf("the first sync: %v", err)
			}
			b.nodes = append(nodesOf(b.ids...), far)
			if err := b.sync(svc); err != nil {
				t.Errorf("after the pool is gone: %v", err)
			}
			if rules := b.rules(pool); len(rules) > 0 {
				t.Errorf("rules of the pool without nodes: %v", rules)
			}
			if events := b.drainEvents(); len(events) > 0 {
				t.Errorf("Events: %v", events)
			}
		})
	}
}
