package nodes

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
)

// lifecycleCases are about instances that stop, start and are deleted.
func lifecycleCases() []testCase {
	return []testCase{
		{Name: "a running instance exists and is not shut down", Run: runningExists},
		{Name: "a stopped instance exists and is shut down until it starts", Run: stoppedIsShutDown},
		{
			Name: "a suspended instance exists and is shut down", Run: suspendedIsShutDown,
			LeftOut: func(a Adapter) bool { return a.Without.Suspend },
		},
		{Name: "a deleted instance makes an old node gone", Run: deletedIsGone},
		{Name: "a deleted instance keeps a young node", Run: deletedYoungIsKept},
		{Name: "a node without providerID is never gone", Run: withoutIDIsNeverGone},
		{Name: "a deleted instance is not shut down", Run: deletedIsNotShutDown},
		{Name: "a successor of the same name is another instance", Run: successorIsAnother},
	}
}

func runningExists(f *fixture) {
	m := f.Create()
	f.connect()
	f.initialize(m)
	for _, node := range []*v1.Node{harness.NewNode(m.Ref), harness.NewNode(m.Ref, harness.WithID("")), harness.NewNode(m.Ref, young, tainted)} {
		r := f.query(node)[0]
		if !r.exists || r.existsErr != nil {
			f.T.Errorf("InstanceExists is %t, %v", r.exists, r.existsErr)
		}
		if r.shutdown || r.shutdownErr != nil {
			f.T.Errorf("InstanceShutdown is %t, %v", r.shutdown, r.shutdownErr)
		}
	}
}

// waitShutdown waits until InstanceShutdown is as wanted. The instance exists
// all the time.
func (f *fixture) waitShutdown(node *v1.Node, want bool) {
	f.T.Helper()
	f.Eventually(fmt.Sprintf("InstanceShutdown is %t", want), func() error {
		r := f.query(node)[0]
		if r.gone() {
			f.T.Fatal("an instance is gone because its power changed")
		}
		if r.shutdownErr == nil && r.shutdown != want {
			return fmt.Errorf("it is %t", r.shutdown)
		}

		return errors.Join(r.shutdownErr, r.existsErr)
	})
}

func stoppedIsShutDown(f *fixture) {
	m := f.Create()
	f.connect()
	f.initialize(m)
	node := harness.NewNode(m.Ref)
	f.waitShutdown(node, false)
	f.Cloud.SetPower(f.T, m.Ref, conformance.Off)
	f.waitShutdown(node, true)
	f.Cloud.SetPower(f.T, m.Ref, conformance.On)
	f.waitShutdown(node, false)
	f.describe(m, node)
}

func suspendedIsShutDown(f *fixture) {
	m := f.Create()
	f.connect()
	f.initialize(m)
	f.Cloud.SetPower(f.T, m.Ref, conformance.Suspended)
	f.waitShutdown(harness.NewNode(m.Ref), true)
}

// waitGone waits until the node is gone.
func (f *fixture) waitGone(node *v1.Node) {
	f.T.Helper()
	f.Eventually("the node of a deleted instance is gone", func() error {
		exists, err := f.exists(node)
		if err == nil && exists {
			err = errors.New("it exists")
		}

		return err
	})
}

func deletedIsGone(f *fixture) {
	m, other := f.Create(), f.Create()
	f.connect()
	f.initialize(m)
	f.Cloud.Delete(f.T, m.Ref)
	f.waitGone(harness.NewNode(m.Ref))
	f.initialize(other)
	if exists, err := f.exists(harness.NewNode(other.Ref)); !exists || err != nil {
		f.T.Errorf("InstanceExists of another instance is %t, %v", exists, err)
	}
}

// neverGone waits until the provider knows that the node's instance is missing,
// and then checks that the node is kept without an error: the node lifecycle
// controller logs one at each of its passes.
func (f *fixture) neverGone(node *v1.Node) {
	f.T.Helper()
	kept := func() error {
		exists, err := f.exists(node)
		if !exists && err == nil {
			f.T.Fatal("the node is gone")
		}

		return err
	}
	f.Eventually("InstanceMetadata of a deleted instance is not found", func() error {
		_ = kept()
		if _, err := f.metadata(node); !errors.Is(err, cloudprovider.InstanceNotFound) {
			return fmt.Errorf("it is %w", err)
		}

		return nil
	})
	f.Eventually("a node that is not gone is kept without an error", kept)
	f.Always(func() {
		_ = kept()
		if shutdown, _ := f.shutdown(node); shutdown {
			f.T.Error("the node is shut down")
		}
	})
}

// deletedYoungIsKept: a node may be faster than the cloud's listing.
func deletedYoungIsKept(f *fixture) {
	m := f.Create()
	f.connect()
	f.initialize(m)
	f.Cloud.Delete(f.T, m.Ref)
	f.neverGone(harness.NewNode(m.Ref, young))
}

// withoutIDIsNeverGone: a name that is not found proves nothing about a machine.
func withoutIDIsNeverGone(f *fixture) {
	m := f.Create()
	f.connect()
	f.initialize(m)
	f.Cloud.Delete(f.T, m.Ref)
	f.neverGone(harness.NewNode(m.Ref, harness.WithID("")))
	f.neverGone(harness.NewNode(m.Ref, harness.WithID(""), withUUID("")))
	f.neverGone(harness.NewNode(m.Ref, harness.WithID(""), withName("never-was"), withUUID("never-was")))
}

func deletedIsNotShutDown(f *fixture) {
	m := f.Create()
	f.connect()
	f.initialize(m)
	f.Cloud.Delete(f.T, m.Ref)
	node := harness.NewNode(m.Ref)
	notShutDown := func() {
		if shutdown, _ := f.shutdown(node); shutdown {
			f.T.Fatal("InstanceShutdown of a deleted instance is true")
		}
	}
	f.Eventually("InstanceMetadata of a deleted instance is not found", func() error {
		notShutDown()
		if _, err := f.metadata(node); !errors.Is(err, cloudprovider.InstanceNotFound) {
			return fmt.Errorf("it is %w", err)
		}

		return nil
	})
	f.Always(notShutDown)
}

// successorIsAnother: a name used again must neither keep the old node nor have
// the new one get the old ID.
func successorIsAnother(f *fixture) {
	first := f.CreateNamed("reused")
	f.connect()
	f.initialize(first)
	f.Cloud.Delete(f.T, first.Ref)
	second := f.CreateNamed("reused")
	f.waitGone(harness.NewNode(first.Ref))
	f.initialize(second, harness.WithID(""), young)
}
