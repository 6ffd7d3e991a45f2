package conformance

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"
)

// balancerNodeCases are about the nodes behind load balancers.
func balancerNodeCases() []balancerCase {
	return []balancerCase{
		{name: "UpdateLoadBalancer follows the nodes", run: func(b *balancerFixture) { followsNodes(b, b.mustUpdate) }},
		{name: "EnsureLoadBalancer follows the nodes", run: func(b *balancerFixture) { followsNodes(b, b.mustEnsure) }},
		{name: "UpdateLoadBalancer of what is not there is an error and makes nothing", run: updateMakesNothing},
		{name: "nodes that cannot be targets do not keep out the others", run: oddNodes},
		{name: "nodes whose instances are gone are taken out", run: goneNodes},
	}
}

// followsNodes has the nodes of a Service change, down to none.
func followsNodes(b *balancerFixture, follow func(*v1.Service, ...machine)) {
	b.start()
	m := b.createMany(4)
	service := b.service("web")
	b.mustEnsure(service, m[0], m[1])
	original := service.DeepCopy()
	before := b.cloud.Leftovers()
	for _, nodes := range [][]machine{
		{m[0], m[1], m[2]}, {m[1], m[2]}, {m[0], m[3]}, {m[2]}, {m[0], m[1]},
	} {
		follow(service, nodes...)
		b.resync(service, nodes...)
	}
	b.unchanged("the cloud", before, b.cloud.Leftovers())
	b.mustUpdate(service)
	b.mustUpdate(service, m[0], m[1])
	b.unchanged("the cloud", before, b.cloud.Leftovers())
	if diff := addresses(original, service); diff != "" {
		b.t.Error(diff)
	}
	b.mustRemove(service)
	b.nothingLeft()
}

// updateMakesNothing: the Service may have been deleted meanwhile.
func updateMakesNothing(b *balancerFixture) {
	b.start()
	nodes := nodesOf(b.createMany(2)...)
	service := b.service("web")
	late := func(what string) {
		b.t.Helper()
		b.writesNothing(what, func() {
			if err := b.update(service, nodes); err == nil {
				b.t.Errorf("%s is no error", what)
			}
		})
		b.nothingLeft()
	}
	late("UpdateLoadBalancer before the load balancer")
	if err := b.tryEnsure(service, nodes); err != nil {
		b.t.Fatal(err)
	}
	b.mustRemove(service)
	late("UpdateLoadBalancer after the load balancer")
}

// oddNodes: the framework gives all nodes of the cluster, whatever they are.
func oddNodes(b *balancerFixture) {
	b.start()
	good := b.createMany(2)
	for what, odd := range b.odd() {
		service := b.service("web-" + what)
		nodes := slices.Insert(nodesOf(good...), 1, odd)
		if err := b.ensureOdd(service, nodes); err != nil {
			b.t.Errorf("with a node that is %s: %v", what, err)

			continue
		}
		b.checkAmong(service, good, odd)
		if err := b.persist(func() error { return b.update(service, slices.Insert(nodesOf(good...), 0, odd)) }); err != nil {
			b.t.Errorf("update with a node that is %s: %v", what, err)
		}
		b.checkAmong(service, good, odd)
		b.writesNothing("a resync with a node that is "+what, func() { _ = b.ensureOdd(service, nodes) })
		b.mustRemove(service)
	}
	b.nothingLeft()
}

// muchLater is a time after which a provider is called again not because it is about
// to be done: all that it can do now is done.
const muchLater = 10 * time.Second

// ensureOdd ensures the load balancer with a node that is no good target. The
// provider may want to be called much later for its sake.
func (b *balancerFixture) ensureOdd(service *v1.Service, nodes []*v1.Node) error {
	b.t.Helper()
	b.store(service)
	defer b.store(service)

	return b.persist(func() error {
		status, err := b.ensure(service, nodes)
		if later, ok := errors.AsType[*api.RetryError](err); ok && later.RetryAfter() >= muchLater {
			return nil
		}
		if err == nil && status != nil {
			service.Status.LoadBalancer = *status
		}

		return err
	})
}

// odd are nodes that are no good targets.
func (b *balancerFixture) odd() map[string]*v1.Node {
	b.t.Helper()
	stopped, deleted, unknown := b.create(), b.create(), b.create()
	b.cloud.SetPower(b.t, stopped.Ref, Off)
	b.cloud.Delete(b.t, deleted.Ref)
	odd := map[string]*v1.Node{
		"stopped":   nodesOf(stopped)[0],
		"deleted":   nodesOf(deleted)[0],
		"malformed": newNode(b.create().Ref, withID(b.suite.Malformed[0])),
		"nowhere":   newNode(unknown.Ref, withID("")),
	}
	for _, id := range clouds {
		if scheme, _, _ := strings.Cut(id, ":"); scheme != b.suite.Provider {
			odd["of-"+scheme] = newNode(b.create().Ref, withID(id))
		}
	}

	return odd
}

// checkAmong fails the case if a good machine is no target, or something is one
// that is neither good nor the odd node's.
func (b *balancerFixture) checkAmong(service *v1.Service, good []machine, odd *v1.Node) {
	b.t.Helper()
	lb, ok := b.find(service)
	if !ok || len(lb.Listeners) != len(service.Spec.Ports) {
		b.t.Errorf("the load balancer of %s is missing or has not all ports: %v", service.Name, lb)

		return
	}
	machines := map[string]bool{}
	for _, m := range good {
		machines[m.ProviderID] = true
	}
	for _, listener := range lb.Listeners {
		missing := maps.Clone(machines)
		for _, target := range listener.Targets {
			if !machines[target.ProviderID] && strings.HasPrefix(target.ProviderID, b.suite.Provider+"://") && !b.isOf(odd, target.ProviderID) {
				b.t.Errorf("%s, port %d: %s is no node", service.Name, listener.Port, target.ProviderID)
			}
			delete(missing, target.ProviderID)
		}
		if len(missing) != 0 {
			b.t.Errorf("%s, port %d: %v are missing in %v", service.Name, listener.Port, slices.Sorted(maps.Keys(missing)), listener.Targets)
		}
	}
}

// isOf says that an instance may be taken for the odd node's.
func (b *balancerFixture) isOf(odd *v1.Node, providerID string) bool {
	return odd.Spec.ProviderID == "" || odd.Spec.ProviderID == providerID
}

// goneNodes: an instance may end before its Node.
func goneNodes(b *balancerFixture) {
	b.start()
	m := b.createMany(3)
	service := b.service("web")
	b.mustEnsure(service, m...)
	b.cloud.Delete(b.t, m[0].Ref)
	nodes := nodesOf(m...)
	if err := b.persist(func() error { return b.update(service, nodes) }); err != nil {
		b.t.Errorf("with a node whose instance was deleted: %v", err)
	}
	b.checkAmong(service, m[1:], nodes[0])
	b.mustUpdate(service, m[1:]...)
	b.cloud.Delete(b.t, m[1].Ref)
	b.cloud.Delete(b.t, m[2].Ref)
	b.mustRemove(service)
	b.nothingLeft()
}
