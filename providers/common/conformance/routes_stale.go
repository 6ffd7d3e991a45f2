package conformance

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// routeStaleCases are about routes that nodes have left behind.
func routeStaleCases() []routeCase {
	return []routeCase{
		{name: "the route of a node that left is listed and goes", run: nodeLeft},
		{name: "the route of an instance that was deleted is listed and goes", run: instanceDeleted},
		{name: "a range given to another node gets there", run: rangeMoves},
		{name: "a range of a deleted instance given to another node gets there", run: rangeMovesFromDeleted},
		{name: "deleting a route late leaves the one that took its place", run: lateDelete},
		{name: "the route of a stopped node settles", run: stoppedSettles},
	}
}

// settle makes passes as the framework does until one has nothing to do.
func (b *routeFixture) settle() {
	b.t.Helper()
	b.eventually("passes settle", func() error {
		writes := b.cloud.Writes()
		if err := b.pass(); err != nil {
			return err
		}
		if n := b.cloud.Writes() - writes; n != 0 {
			return fmt.Errorf("another %d writes", n)
		}

		return nil
	})
}

// stale fails the case if the route to a range is not listed as one that has to
// go.
func (b *routeFixture) stale(cidr string) {
	b.t.Helper()
	route := b.listed(cidr)
	if route == nil {
		b.t.Fatalf("the route to %s is not listed, so that it would stay for ever", cidr)
	}
	for _, node := range b.nodes {
		if string(route.TargetNode) == node.Name && !route.Blackhole {
			b.t.Errorf("the route to %s is listed as that of the node %s", cidr, node.Name)
		}
	}
}

// nodeLeft: the Node is gone, its instance is not.
func nodeLeft(b *routeFixture) {
	nodes := b.join(3, ipv4)
	b.start()
	b.mustAdd(nodes...)
	b.leave(nodes[0])
	b.stale(nodes[0].Spec.PodCIDR)
	b.settle()
	b.check(nodes[1:]...)
}

// instanceDeleted: the Node is there still for a while.
func instanceDeleted(b *routeFixture) {
	nodes := b.join(3, ipv4)
	b.start()
	b.mustAdd(nodes...)
	b.cloud.Delete(b.t, b.owners[nodes[0].Name].Ref)
	b.mustList()
	b.leave(nodes[0])
	b.stale(nodes[0].Spec.PodCIDR)
	b.settle()
	b.check(nodes[1:]...)
	b.nothingLeftBut(nodes[1:])
}

// nothingLeftBut fails the case if the nodes leave something when they go.
func (b *routeFixture) nothingLeftBut(nodes []*v1.Node) {
	b.t.Helper()
	b.leave(nodes...)
	b.settle()
	b.check()
	b.nothingLeft()
}

// give gives the range of a node to another. The Node left with its range.
func (b *routeFixture) give(from, to *v1.Node) *v1.Node {
	b.t.Helper()
	heir := to.DeepCopy()
	heir.Spec.PodCIDR, heir.Spec.PodCIDRs = from.Spec.PodCIDR, from.Spec.PodCIDRs
	b.leave(from, to)
	b.setNodes(append(b.nodes, heir))

	return heir
}

func rangeMoves(b *routeFixture) {
	nodes := b.join(3, ipv4)
	b.start()
	b.mustAdd(nodes[0], nodes[2])
	heir := b.give(nodes[0], nodes[1])
	b.settle()
	b.check(heir, nodes[2])
}

func rangeMovesFromDeleted(b *routeFixture) {
	nodes := b.join(3, ipv4)
	b.start()
	b.mustAdd(nodes[0], nodes[2])
	b.cloud.Delete(b.t, b.owners[nodes[0].Name].Ref)
	heir := b.give(nodes[0], nodes[1])
	b.settle()
	b.check(heir, nodes[2])
	b.nothingLeftBut([]*v1.Node{heir, nodes[2]})
}

// lateDelete: the framework deletes old routes and makes new ones at the same
// time, so that either may come first.
func lateDelete(b *routeFixture) {
	nodes := b.join(2, ipv4)
	b.start()
	b.mustAdd(nodes[0])
	old := b.listed(nodes[0].Spec.PodCIDR)
	if old == nil {
		b.t.Fatal("the route is not listed")
	}
	heir := b.give(nodes[0], nodes[1])
	b.mustAdd(heir)
	if err := b.remove(old); err != nil {
		b.t.Errorf("DeleteRoute of a route that was replaced: %v", err)
	}
	b.check(heir)
}

// stoppedSettles: a route that is deleted and made again in every pass would cut
// off the node when it starts.
func stoppedSettles(b *routeFixture) {
	nodes := b.join(2, ipv4)
	b.start()
	b.mustAdd(nodes...)
	b.cloud.SetPower(b.t, b.owners[nodes[0].Name].Ref, Off)
	b.settle()
	b.writesNothing("passes after they had settled", func() {
		for range rounds {
			if err := b.pass(); err != nil {
				b.t.Errorf("a pass with a stopped node: %v", err)
			}
		}
	})
	b.cloud.SetPower(b.t, b.owners[nodes[0].Name].Ref, On)
	b.eventually("the routes after the start", func() error {
		if err := b.pass(); err != nil {
			return err
		}
		if len(b.cloud.Routes()) != len(nodes) {
			return errors.New("a route is missing")
		}

		return nil
	})
	b.check(nodes...)
}
