package routes

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
)

// staleCases are about routes that nodes have left behind.
func staleCases() []testCase {
	return []testCase{
		{Name: "the route of a node that left is listed and deleted", Run: nodeLeft},
		{Name: "the route of an instance that was deleted is listed and deleted", Run: instanceDeleted},
		{Name: "a range assigned to another node is routed there", Run: rangeMoves},
		{Name: "a range of a deleted instance assigned to another node is routed there", Run: rangeMovesFromDeleted},
		{Name: "deleting a route late leaves the one that replaced it", Run: lateDelete},
		{Name: "the route of a stopped node settles", Run: stoppedSettles},
	}
}

// settle makes passes as the route controller does until one has nothing to do.
func (f *fixture) settle() {
	f.T.Helper()
	f.Eventually("passes settle", func() error {
		writes := f.Cloud.Writes()
		if err := f.pass(); err != nil {
			return err
		}
		if n := f.Cloud.Writes() - writes; n != 0 {
			return fmt.Errorf("another %d writes", n)
		}

		return nil
	})
}

// stale fails the case if the route to a range is not listed as one that has to
// go.
func (f *fixture) stale(cidr string) {
	f.T.Helper()
	route := f.listed(cidr)
	if route == nil {
		f.T.Fatalf("the route to %s is not listed, so it would stay forever", cidr)
	}
	for _, node := range f.nodes {
		if string(route.TargetNode) == node.Name && !route.Blackhole {
			f.T.Errorf("the route to %s is listed as that of the node %s", cidr, node.Name)
		}
	}
}

// nodeLeft: the Node is gone, its instance is not.
func nodeLeft(f *fixture) {
	nodes := f.join(3, ipv4)
	f.start()
	f.mustAdd(nodes...)
	f.leave(nodes[0])
	f.stale(nodes[0].Spec.PodCIDR)
	f.settle()
	f.check(nodes[1:]...)
}

// instanceDeleted: the Node still exists for a while.
func instanceDeleted(f *fixture) {
	nodes := f.join(3, ipv4)
	f.start()
	f.mustAdd(nodes...)
	f.Cloud.Delete(f.T, f.owners[nodes[0].Name].Ref)
	f.mustList()
	f.leave(nodes[0])
	f.stale(nodes[0].Spec.PodCIDR)
	f.settle()
	f.check(nodes[1:]...)
	f.nothingLeftBut(nodes[1:])
}

// nothingLeftBut fails the case if the nodes leave something when they go.
func (f *fixture) nothingLeftBut(nodes []*v1.Node) {
	f.T.Helper()
	f.leave(nodes...)
	f.settle()
	f.check()
	f.CheckNothingLeft()
}

// reassign assigns the range of a node that left to another.
func (f *fixture) reassign(from, to *v1.Node) *v1.Node {
	f.T.Helper()
	owner := to.DeepCopy()
	owner.Spec.PodCIDR, owner.Spec.PodCIDRs = from.Spec.PodCIDR, from.Spec.PodCIDRs
	f.leave(from, to)
	f.setNodes(append(f.nodes, owner))

	return owner
}

func rangeMoves(f *fixture) {
	nodes := f.join(3, ipv4)
	f.start()
	f.mustAdd(nodes[0], nodes[2])
	owner := f.reassign(nodes[0], nodes[1])
	f.settle()
	f.check(owner, nodes[2])
}

func rangeMovesFromDeleted(f *fixture) {
	nodes := f.join(3, ipv4)
	f.start()
	f.mustAdd(nodes[0], nodes[2])
	f.Cloud.Delete(f.T, f.owners[nodes[0].Name].Ref)
	owner := f.reassign(nodes[0], nodes[1])
	f.settle()
	f.check(owner, nodes[2])
	f.nothingLeftBut([]*v1.Node{owner, nodes[2]})
}

// lateDelete: the route controller deletes old routes and creates new ones at the
// same time, so either may come first.
func lateDelete(f *fixture) {
	nodes := f.join(2, ipv4)
	f.start()
	f.mustAdd(nodes[0])
	old := f.listed(nodes[0].Spec.PodCIDR)
	if old == nil {
		f.T.Fatal("the route is not listed")
	}
	owner := f.reassign(nodes[0], nodes[1])
	f.mustAdd(owner)
	if err := f.remove(old); err != nil {
		f.T.Errorf("DeleteRoute of a route that was replaced: %v", err)
	}
	f.check(owner)
}

// stoppedSettles: a route that is deleted and created again in every pass would
// isolate the node when it starts.
func stoppedSettles(f *fixture) {
	nodes := f.join(2, ipv4)
	f.start()
	f.mustAdd(nodes...)
	f.Cloud.SetPower(f.T, f.owners[nodes[0].Name].Ref, conformance.Off)
	f.settle()
	f.CheckWritesNothing("passes after they had settled", func() {
		for range harness.Rounds {
			if err := f.pass(); err != nil {
				f.T.Errorf("a pass with a stopped node: %v", err)
			}
		}
	})
	f.Cloud.SetPower(f.T, f.owners[nodes[0].Name].Ref, conformance.On)
	f.Eventually("the routes after the start", func() error {
		if err := f.pass(); err != nil {
			return err
		}
		if len(f.Cloud.Routes()) != len(nodes) {
			return errors.New("a route is missing")
		}

		return nil
	})
	f.check(nodes...)
}
