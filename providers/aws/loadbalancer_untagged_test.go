package aws

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

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

// AWS-CLUSTER-8: an instance that gets the tag of another cluster instead of the own one
// keeps its place and its rules, and one that joins with it gets neither.
func TestInstanceOfAnotherClusterGetsNothingNew(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := balance(t, uncached)
			pool, theirs := b.group("pool", map[string]string{sim.ClusterTag(demo): "owned"}), b.group("theirs", nil)
			inPool := b.seed.AddNode(sim.InstanceSpec{InterfaceSpec: sim.InterfaceSpec{Groups: []string{pool}}})
			b.nodes = append(b.nodes, nodesOf(inPool)...)
			svc := web(options...)
			b.ensure(svc)
			registered, rules := b.registered(webName), b.rules(pool)
			if len(rules) == 0 || len(registered) != 4 {
				t.Fatalf("before: rules %v, registered %v", rules, registered)
			}
			joined := b.seed.AddNode(sim.InstanceSpec{InterfaceSpec: sim.InterfaceSpec{Groups: []string{theirs}}})
			b.nodes = append(b.nodes, nodesOf(joined)...)
			for _, id := range []string{inPool, joined} {
				b.SetTags(id, map[string]string{sim.ClusterTag("other"): "owned"})
			}
			b.drainEvents()
			for name, sync := range map[string]func(*v1.Service) error{"update": b.update, "sync": b.sync} {
				if err := sync(svc); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if diff := cmp.Diff(registered, b.registered(webName)); diff != "" {
					t.Errorf("%s: targets: -before +after\n%s", name, diff)
				}
				if diff := cmp.Diff(rules, b.rules(pool)); diff != "" {
					t.Errorf("%s: rules: -before +after\n%s", name, diff)
				}
				if rules := b.rules(theirs); len(rules) > 0 {
					t.Errorf("%s: rules of a group of the other cluster: %v", name, rules)
				}
			}
			if events := b.drainEvents(); !slices.ContainsFunc(events, func(event string) bool { return strings.Contains(event, "the tag of another cluster") }) {
				t.Errorf("Events: %v", events)
			}
			b.nodes = nodesOf(b.ids...)
			if err := b.sync(svc); err != nil || len(b.rules(pool)) > 0 || len(b.registered(webName)) != 3 {
				t.Errorf("without the Nodes: %v, rules %v, registered %v", err, b.rules(pool), b.registered(webName))
			}
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
