package conformance

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// lifecycleCases are about instances that stop, start and go.
func lifecycleCases() []nodeCase {
	return []nodeCase{
		{name: "a running instance exists and is not shut down", run: runningExists},
		{name: "a stopped instance exists and is shut down until it starts", run: stoppedIsShutDown},
		{
			name: "a suspended instance exists and is shut down", run: suspendedIsShutDown,
			leftOut: func(without Capabilities) bool { return without.Suspend },
		},
		{name: "a deleted instance makes an old node gone", run: deletedIsGone},
		{name: "a deleted instance keeps a young node", run: deletedYoungIsKept},
		{name: "a node without providerID is never gone", run: withoutIDIsNeverGone},
		{name: "a deleted instance is not shut down", run: deletedIsNotShutDown},
		{name: "a successor of the same name is another instance", run: successorIsAnother},
	}
}

func runningExists(b *fixture) {
	m := b.create()
	b.connect()
	b.initialize(m)
	for _, node := range []*v1.Node{newNode(m.Ref), newNode(m.Ref, withID("")), newNode(m.Ref, young, tainted)} {
		r := b.ask(node)[0]
		if !r.exists || r.existsErr != nil {
			b.t.Errorf("InstanceExists is %t, %v", r.exists, r.existsErr)
		}
		if r.shutdown || r.shutdownErr != nil {
			b.t.Errorf("InstanceShutdown is %t, %v", r.shutdown, r.shutdownErr)
		}
	}
}

// waitShutdown waits until InstanceShutdown is as wanted. The instance exists
// all the time.
func (b *fixture) waitShutdown(node *v1.Node, want bool) {
	b.t.Helper()
	b.eventually(fmt.Sprintf("InstanceShutdown is %t", want), func() error {
		r := b.ask(node)[0]
		if r.gone() {
			b.t.Fatal("an instance is gone because its power changed")
		}
		if r.shutdownErr == nil && r.shutdown != want {
			return fmt.Errorf("it is %t", r.shutdown)
		}

		return errors.Join(r.shutdownErr, r.existsErr)
	})
}

func stoppedIsShutDown(b *fixture) {
	m := b.create()
	b.connect()
	b.initialize(m)
	node := newNode(m.Ref)
	b.waitShutdown(node, false)
	b.cloud.SetPower(b.t, m.Ref, Off)
	b.waitShutdown(node, true)
	b.cloud.SetPower(b.t, m.Ref, On)
	b.waitShutdown(node, false)
	b.describe(m, node)
}

func suspendedIsShutDown(b *fixture) {
	m := b.create()
	b.connect()
	b.initialize(m)
	b.cloud.SetPower(b.t, m.Ref, Suspended)
	b.waitShutdown(newNode(m.Ref), true)
}

// waitGone waits until the node is gone.
func (b *fixture) waitGone(node *v1.Node) {
	b.t.Helper()
	b.eventually("the node of a deleted instance is gone", func() error {
		exists, err := b.exists(node)
		if err == nil && exists {
			err = errors.New("it exists")
		}

		return err
	})
}

func deletedIsGone(b *fixture) {
	m, other := b.create(), b.create()
	b.connect()
	b.initialize(m)
	b.cloud.Delete(b.t, m.Ref)
	b.waitGone(newNode(m.Ref))
	b.initialize(other)
	if exists, err := b.exists(newNode(other.Ref)); !exists || err != nil {
		b.t.Errorf("InstanceExists of another instance is %t, %v", exists, err)
	}
}

// neverGone waits until it is known that the node's instance is missing, and
// then checks that the node is kept without an error: the framework logs one at
// each of its passes.
func (b *fixture) neverGone(node *v1.Node) {
	b.t.Helper()
	kept := func() error {
		exists, err := b.exists(node)
		if !exists && err == nil {
			b.t.Fatal("the node is gone")
		}

		return err
	}
	b.eventually("InstanceMetadata of a deleted instance is not found", func() error {
		_ = kept()
		if _, err := b.metadata(node); !errors.Is(err, cloudprovider.InstanceNotFound) {
			return fmt.Errorf("it is %w", err)
		}

		return nil
	})
	b.eventually("a node that is not gone is kept without an error", kept)
	b.always(func() {
		_ = kept()
		if shutdown, _ := b.shutdown(node); shutdown {
			b.t.Error("the node is shut down")
		}
	})
}

// deletedYoungIsKept: a node may be faster than the cloud's listing.
func deletedYoungIsKept(b *fixture) {
	m := b.create()
	b.connect()
	b.initialize(m)
	b.cloud.Delete(b.t, m.Ref)
	b.neverGone(newNode(m.Ref, young))
}

// withoutIDIsNeverGone: a name that is not found says nothing about a machine.
func withoutIDIsNeverGone(b *fixture) {
	m := b.create()
	b.connect()
	b.initialize(m)
	b.cloud.Delete(b.t, m.Ref)
	b.neverGone(newNode(m.Ref, withID("")))
	b.neverGone(newNode(m.Ref, withID(""), withUUID("")))
	b.neverGone(newNode(m.Ref, withID(""), withName("never-was"), withUUID("never-was")))
}

func deletedIsNotShutDown(b *fixture) {
	m := b.create()
	b.connect()
	b.initialize(m)
	b.cloud.Delete(b.t, m.Ref)
	node := newNode(m.Ref)
	notShutDown := func() {
		if shutdown, _ := b.shutdown(node); shutdown {
			b.t.Fatal("InstanceShutdown of a deleted instance is true")
		}
	}
	b.eventually("InstanceMetadata of a deleted instance is not found", func() error {
		notShutDown()
		if _, err := b.metadata(node); !errors.Is(err, cloudprovider.InstanceNotFound) {
			return fmt.Errorf("it is %w", err)
		}

		return nil
	})
	b.always(notShutDown)
}

// successorIsAnother: a name used again must neither keep the old node nor give
// the new one the old ID.
func successorIsAnother(b *fixture) {
	first := b.createNamed("reused")
	b.connect()
	b.initialize(first)
	b.cloud.Delete(b.t, first.Ref)
	second := b.createNamed("reused")
	b.waitGone(newNode(first.Ref))
	b.initialize(second, withID(""), young)
}
