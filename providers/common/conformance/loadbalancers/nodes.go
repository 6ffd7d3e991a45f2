package loadbalancers

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/targets"
)

// nodeCases are about the nodes behind load balancers.
func nodeCases() []testCase {
	return []testCase{
		{Name: "UpdateLoadBalancer follows the nodes", Run: func(f *fixture) { followsNodes(f, f.mustUpdate) }},
		{Name: "EnsureLoadBalancer follows the nodes", Run: func(f *fixture) { followsNodes(f, f.mustEnsure) }},
		{Name: "UpdateLoadBalancer of what is not there is an error and creates nothing", Run: updateCreatesNothing},
		{Name: "nodes that cannot be targets do not keep out the others", Run: invalidNodes},
		{Name: "nodes whose instances are gone are removed", Run: goneNodes},
		{Name: "a Service may have a part of the nodes, which stays", Run: partOfNodes},
	}
}

// followsNodes has the nodes of a Service change, down to none.
func followsNodes(f *fixture, follow func(*v1.Service, ...machine)) {
	f.start()
	m := f.CreateMany(4)
	service := f.service("web")
	f.mustEnsure(service, m[0], m[1])
	original := service.DeepCopy()
	before := f.Cloud.Resources()
	for _, nodes := range [][]machine{
		{m[0], m[1], m[2]}, {m[1], m[2]}, {m[0], m[3]}, {m[2]}, {m[0], m[1]},
	} {
		follow(service, nodes...)
		f.resync(service, nodes...)
	}
	f.CheckUnchanged("the cloud", before, f.Cloud.Resources())
	f.mustUpdate(service)
	f.mustUpdate(service, m[0], m[1])
	f.CheckUnchanged("the cloud", before, f.Cloud.Resources())
	if diff := addressDiff(original, service); diff != "" {
		f.T.Error(diff)
	}
	f.mustRemove(service)
	f.CheckNothingLeft()
}

// partOfNodes: of many nodes, some are targets of all ports. Those that join change nothing, and all are replaced
// without an end of the service.
func partOfNodes(f *fixture) {
	f.start()
	m := f.CreateMany(10)
	service := f.service("web")
	service.Annotations[string(targets.AnnotationMaxTargets)] = "4"
	ensure := func(f *fixture, m []machine) {
		f.T.Helper()
		if err := f.tryEnsure(service, harness.NodesOf(m...)); err != nil {
			f.T.Fatal(err)
		}
	}
	ensure(f, m[:8])
	chosen := f.checkPart(service, m[:8], 4, 4)
	all := harness.NodesOf(m...)
	f.CheckWritesNothing("an update for nodes that join", func() { _ = f.persist(func() error { return f.update(service, all) }) })
	f.CheckWritesNothing("a resync by another process", func() { ensure(f.restart(), m) })
	for _, gone := range chosen {
		m = slices.DeleteFunc(m, func(m machine) bool { return m.ProviderID == gone })
		if err := f.persist(func() error { return f.update(service, harness.NodesOf(m...)) }); err != nil {
			f.T.Errorf("update without a target: %v", err)
		}
		f.checkPart(service, m, 3, 4)
	}
	delete(service.Annotations, string(targets.AnnotationMaxTargets))
	f.mustEnsure(service, m...)
	f.mustRemove(service)
	f.CheckNothingLeft()
}

// checkPart fails the case unless all ports have the same targets, between as many machines, and returns their provider
// IDs.
func (f *fixture) checkPart(service *v1.Service, machines []machine, least, most int) []string {
	f.T.Helper()
	lb, ok := f.find(service)
	if !ok || len(lb.Listeners) != len(service.Spec.Ports) {
		f.T.Fatalf("the load balancer of %s is missing or has not all ports: %v", service.Name, lb)
	}
	var first []string
	for i, listener := range lb.Listeners {
		var ids []string
		for _, target := range listener.Targets {
			ids = append(ids, target.ProviderID)
		}
		slices.Sort(ids)
		if i == 0 {
			first = ids
		}
		if !slices.Equal(first, ids) || len(ids) < least || len(ids) > most {
			f.T.Errorf("port %d has the targets %v, want %d to %d, those of all ports: %v", listener.Port, ids, least, most, first)
		}
	}
	for _, id := range first {
		if !slices.ContainsFunc(machines, func(m machine) bool { return m.ProviderID == id }) {
			f.T.Errorf("target %s is no node", id)
		}
	}

	return first
}

// updateCreatesNothing: the Service may have been deleted meanwhile.
func updateCreatesNothing(f *fixture) {
	f.start()
	nodes := harness.NodesOf(f.CreateMany(2)...)
	service := f.service("web")
	late := func(what string) {
		f.T.Helper()
		f.CheckWritesNothing(what, func() {
			if err := f.update(service, nodes); err == nil {
				f.T.Errorf("%s is no error", what)
			}
		})
		f.CheckNothingLeft()
	}
	late("UpdateLoadBalancer before the load balancer")
	if err := f.tryEnsure(service, nodes); err != nil {
		f.T.Fatal(err)
	}
	f.mustRemove(service)
	late("UpdateLoadBalancer after the load balancer")
}

// invalidNodes: the service controller passes all nodes of the cluster.
func invalidNodes(f *fixture) {
	f.start()
	good := f.CreateMany(2)
	for what, invalidNode := range f.invalidNodes() {
		service := f.service("web-" + what)
		nodes := slices.Insert(harness.NodesOf(good...), 1, invalidNode)
		if err := f.ensureInvalidNode(service, nodes); err != nil {
			f.T.Errorf("with a node that is %s: %v", what, err)

			continue
		}
		f.checkAmong(service, good, invalidNode)
		if err := f.persist(func() error { return f.update(service, slices.Insert(harness.NodesOf(good...), 0, invalidNode)) }); err != nil {
			f.T.Errorf("update with a node that is %s: %v", what, err)
		}
		f.checkAmong(service, good, invalidNode)
		f.CheckWritesNothing("a resync with a node that is "+what, func() { _ = f.ensureInvalidNode(service, nodes) })
		f.mustRemove(service)
	}
	f.CheckNothingLeft()
}

// muchLater is a retry delay of a provider that has done all that it can do now.
const muchLater = 10 * time.Second

// ensureInvalidNode ensures the load balancer with a node that is no good target. The
// provider may request to be called much later because of it.
func (f *fixture) ensureInvalidNode(service *v1.Service, nodes []*v1.Node) error {
	f.T.Helper()
	f.store(service)
	defer f.store(service)

	return f.persist(func() error {
		status, err := f.ensure(service, nodes)
		if later, ok := errors.AsType[*api.RetryError](err); ok && later.RetryAfter() >= muchLater {
			return nil
		}
		if err == nil && status != nil {
			service.Status.LoadBalancer = *status
		}

		return err
	})
}

// invalidNodes are nodes that are no good targets.
func (f *fixture) invalidNodes() map[string]*v1.Node {
	f.T.Helper()
	stopped, deleted, unknown := f.Create(), f.Create(), f.Create()
	f.Cloud.SetPower(f.T, stopped.Ref, conformance.Off)
	f.Cloud.Delete(f.T, deleted.Ref)
	nodes := map[string]*v1.Node{
		"stopped":   harness.NodesOf(stopped)[0],
		"deleted":   harness.NodesOf(deleted)[0],
		"malformed": harness.NewNode(f.Create().Ref, harness.WithID(f.adapter.Malformed[0])),
		"nowhere":   harness.NewNode(unknown.Ref, harness.WithID("")),
	}
	for _, id := range harness.ProviderIDs() {
		if scheme, _, _ := strings.Cut(id, ":"); scheme != f.adapter.Provider {
			nodes["of-"+scheme] = harness.NewNode(f.Create().Ref, harness.WithID(id))
		}
	}

	return nodes
}

// checkAmong fails the case if a good machine is no target, or a target is neither
// good nor the invalid node's.
func (f *fixture) checkAmong(service *v1.Service, good []machine, invalidNode *v1.Node) {
	f.T.Helper()
	lb, ok := f.find(service)
	if !ok || len(lb.Listeners) != len(service.Spec.Ports) {
		f.T.Errorf("the load balancer of %s is missing or has not all ports: %v", service.Name, lb)

		return
	}
	machines := map[string]bool{}
	for _, m := range good {
		machines[m.ProviderID] = true
	}
	for _, listener := range lb.Listeners {
		missing := maps.Clone(machines)
		for _, target := range listener.Targets {
			if !machines[target.ProviderID] && strings.HasPrefix(target.ProviderID, f.adapter.Provider+"://") && !f.isOf(invalidNode, target.ProviderID) {
				f.T.Errorf("%s, port %d: %s is no node", service.Name, listener.Port, target.ProviderID)
			}
			delete(missing, target.ProviderID)
		}
		if len(missing) != 0 {
			f.T.Errorf("%s, port %d: %v are missing in %v", service.Name, listener.Port, slices.Sorted(maps.Keys(missing)), listener.Targets)
		}
	}
}

// isOf reports whether an instance may be the invalid node's.
func (f *fixture) isOf(invalidNode *v1.Node, providerID string) bool {
	return invalidNode.Spec.ProviderID == "" || invalidNode.Spec.ProviderID == providerID
}

// goneNodes: an instance may end before its Node. One lives: without any, a provider may not be
// certain that something is missing.
func goneNodes(f *fixture) {
	f.start()
	m := f.CreateMany(3)
	service := f.service("web")
	f.mustEnsure(service, m...)
	f.Cloud.Delete(f.T, m[0].Ref)
	nodes := harness.NodesOf(m...)
	if err := f.persist(func() error { return f.update(service, nodes) }); err != nil {
		f.T.Errorf("with a node whose instance was deleted: %v", err)
	}
	f.checkAmong(service, m[1:], nodes[0])
	f.mustUpdate(service, m[1:]...)
	f.Cloud.Delete(f.T, m[1].Ref)
	f.mustRemove(service)
	f.CheckNothingLeft()
}
