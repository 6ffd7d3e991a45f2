package nodes

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
)

// failureCases are about clouds that fail. Nothing may be concluded from that, and
// the provider must recover by itself.
func failureCases() []testCase {
	outages := harness.Outages[Adapter, *fixture]{
		FromStartName: "is an error", FromStart: brokenFromStart,
		LaterName: "deletes no node", Later: brokenLater,
		Without: func(a Adapter) (coldStart, throttling bool) { return a.Without.ColdStart, a.Without.Throttling },
	}
	cases := outages.Cases()
	for _, failure := range conformance.Failures() {
		cases = append(cases, testCase{
			Name:    fmt.Sprintf("new nodes of a cloud %s are queued again afterwards", failure),
			LeftOut: func(a Adapter) bool { return failure == conformance.Throttling && a.Without.Throttling },
			Run:     func(f *fixture) { queuedAfterOutage(f, failure) },
		})
	}

	return append(cases,
		testCase{Name: "new nodes cost a constant number of calls after an outage", Run: outageCost},
		testCase{Name: "a canceled call returns", Run: canceledReturns},
	)
}

// brokenFromStart: nothing is known, so every result is an error.
func brokenFromStart(f *fixture, failure conformance.Failure) {
	running, stopped, deleted := f.Create(), f.Create(), f.Create()
	f.Cloud.SetPower(f.T, stopped.Ref, conformance.Off)
	f.Cloud.Delete(f.T, deleted.Ref)
	f.InjectFailure(failure)
	f.connect()
	nodes := []*v1.Node{
		harness.NewNode(running.Ref), harness.NewNode(stopped.Ref), harness.NewNode(deleted.Ref),
		harness.NewNode(running.Ref, harness.WithID(""), tainted),
	}
	for range 2 {
		for i, r := range f.query(nodes...) {
			for method, err := range r.errs() {
				what := fmt.Sprintf("%s of node %d (%q)", method, i, nodes[i].Spec.ProviderID)
				if err == nil {
					f.T.Errorf("%s is no error", what)
				}
				f.CheckMeaning(what, failure, err)
			}
		}
	}
	f.Cloud.ClearFaults(f.T)
	f.recovered(running, stopped, deleted)
}

// recovered waits until everything is known again.
func (f *fixture) recovered(running, stopped, deleted machine) {
	f.T.Helper()
	f.initialize(running, harness.WithID(""))
	f.waitShutdown(harness.NewNode(running.Ref), false)
	f.waitShutdown(harness.NewNode(stopped.Ref), true)
	f.waitGone(harness.NewNode(deleted.Ref))
}

// outage has the machines of brokenLater by what happened to them, and their
// nodes.
type outage struct {
	running, stopped, deleted, earlier machine
	nodes                              []*v1.Node
}

// brokenLater: what was known may be returned for a while, but nothing new. The
// nodes of instances that are deleted, one before and one during the failure, are
// not gone: the cloud cannot confirm it.
func brokenLater(f *fixture, failure conformance.Failure) {
	o := outage{running: f.Create(), stopped: f.Create(), deleted: f.Create(), earlier: f.Create()}
	o.nodes = []*v1.Node{
		harness.NewNode(o.running.Ref), harness.NewNode(o.stopped.Ref), harness.NewNode(o.deleted.Ref), harness.NewNode(o.earlier.Ref),
		harness.NewNode(o.running.Ref, harness.WithID("")), harness.NewNode(o.earlier.Ref, harness.WithID("")),
	}
	f.Cloud.SetPower(f.T, o.stopped.Ref, conformance.Off)
	f.Cloud.Delete(f.T, o.earlier.Ref)
	f.connect()
	f.initialize(o.running)
	f.initialize(o.deleted)
	f.waitShutdown(harness.NewNode(o.stopped.Ref), true)

	f.InjectFailure(failure)
	f.Cloud.Delete(f.T, o.deleted.Ref)
	for start := time.Now(); time.Since(start) < 2*f.adapter.MaxStaleness; time.Sleep(f.adapter.MaxStaleness / 20) {
		stale := time.Since(start) > f.adapter.MaxStaleness
		for i, r := range f.query(o.nodes...) {
			if err := o.check(o.nodes[i], r, stale); err != nil {
				f.T.Errorf("node %d (%q), %s: %v", i, o.nodes[i].Spec.ProviderID, failure, err)
			}
			for method, err := range r.errs() {
				if o.nodes[i].Name != o.earlier.NodeName || !errors.Is(err, cloudprovider.InstanceNotFound) {
					f.CheckMeaning(fmt.Sprintf("%s of node %d (%q)", method, i, o.nodes[i].Spec.ProviderID), failure, err)
				}
			}
		}
	}
	f.Cloud.ClearFaults(f.T)
	f.recovered(o.running, o.stopped, o.deleted)
	f.waitGone(harness.NewNode(o.earlier.Ref))
}

// check returns what is wrong with the results for a node during the failure.
func (o *outage) check(node *v1.Node, r results, stale bool) error {
	switch {
	case r.gone():
		return errors.New("it is gone")
	case r.shutdown && (stale || node.Name != o.stopped.NodeName):
		return errors.New("it is shut down")
	case node.Name == o.earlier.NodeName && (r.existsErr == nil && node.Spec.ProviderID != "" || r.metadataErr == nil):
		return fmt.Errorf("it was deleted before and is no error: exists %t, metadata %v", r.exists, r.metadata)
	case node.Name == o.running.NodeName && r.metadata != nil:
		return checkMetadata(r.metadata, o.running.ProviderID, o.running)
	}

	return nil
}

// requeuer is a provider that queues Nodes again.
type requeuer interface {
	SetNodeRequeue(requeue func(nodeName string))
}

// queueLimit is within what time Nodes are queued again once the cloud responds: twice what
// providers promise, since these tests share the processors with others. The backoff after
// rejected credentials may be longer, so that no account is locked.
const queueLimit = 30 * time.Second

// queuedAfterOutage: the backoff of the work queue is longer than an outage, so
// the provider must queue new Nodes again when the cloud responds.
func queuedAfterOutage(f *fixture, failure conformance.Failure) {
	f.connect()
	f.initialize(f.Create())
	queued := f.requeues()
	f.InjectFailure(failure)
	machines := f.CreateMany(3)
	f.failToInitialize(machines)
	f.Cloud.ClearFaults(f.T)
	limit := queueLimit
	if failure == conformance.Refusing {
		limit = f.NoticeTime
	}
	f.initializeQueued(machines, queued, limit)
}

// outageCost: the calls for Nodes that waited through an outage do not grow with
// their number.
func outageCost(f *fixture) {
	f.connect()
	f.initialize(f.Create())
	queued := f.requeues()
	f.InjectFailure(conformance.Unreachable)
	machines := f.CreateMany(f.adapter.Budget.Nodes)
	f.failToInitialize(machines)
	before := f.Cloud.Calls()
	f.Cloud.ClearFaults(f.T)
	f.initializeQueued(machines, queued, queueLimit)
	f.checkBudget(f.adapter.Budget.Initialize, before, "initializing after an outage")
}

// requeues returns a channel with the names of the Nodes that the provider queues
// again.
func (f *fixture) requeues() <-chan string {
	f.T.Helper()
	provider, ok := f.provider.(requeuer)
	if !ok {
		f.T.Fatal("the provider has no SetNodeRequeue(func(nodeName string))")
	}
	queued := make(chan string, 2*f.adapter.Budget.Nodes)
	provider.SetNodeRequeue(func(nodeName string) {
		select {
		case queued <- nodeName:
		default:
		}
	})

	return queued
}

// failToInitialize waits until no new Node of these machines can be initialized.
func (f *fixture) failToInitialize(machines []machine) {
	f.T.Helper()
	harness.Parallel(len(machines), func(i int) {
		f.Eventually("InstanceMetadata of a new node fails", func() error {
			if _, err := f.metadata(harness.NewNode(machines[i].Ref, young, tainted)); err == nil {
				return errors.New("it works")
			}

			return nil
		})
	})
}

// initializeQueued waits until the Nodes of the machines are queued, which must
// happen within the limit, and initializes them.
func (f *fixture) initializeQueued(machines []machine, queued <-chan string, limit time.Duration) {
	f.T.Helper()
	missing := map[string]machine{}
	for _, m := range machines {
		missing[m.NodeName] = m
	}
	deadline := time.After(limit)
	for len(missing) > 0 {
		select {
		case name := <-queued:
			m, ok := missing[name]
			if !ok {
				f.T.Errorf("node %q is queued, which did not wait", name)

				continue
			}
			delete(missing, name)
			f.initialize(m)
		case <-deadline:
			f.T.Fatalf("%d nodes are not queued within %s", len(missing), limit)
		}
	}
}

// canceledReturns: the node controllers cancel their calls when they are stopped.
func canceledReturns(f *fixture) {
	m := f.Create()
	f.Cloud.Delete(f.T, m.Ref)
	f.connect()
	f.initialize(f.Create())
	f.InjectFailure(conformance.Hanging)
	node := harness.NewNode(m.Ref)
	for what, call := range map[string]func(context.Context) error{
		"InstanceExists":   func(ctx context.Context) error { return second(f.nodes.InstanceExists(ctx, node)) },
		"InstanceShutdown": func(ctx context.Context) error { return second(f.nodes.InstanceShutdown(ctx, node)) },
		"InstanceMetadata": func(ctx context.Context) error { return second(f.nodes.InstanceMetadata(ctx, node)) },
	} {
		_ = f.CheckCancels(what, call) // it may know the result
	}
}

// second returns the error of a call.
func second[T any](_ T, err error) error { return err }
