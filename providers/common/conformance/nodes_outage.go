package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
)

// outageCases are about clouds that do not answer as they should. Nothing may
// be concluded from that, and nobody needs to help afterwards.
func outageCases() []nodeCase {
	var cases []nodeCase
	for _, failure := range []Failure{Unreachable, Hanging, Refusing, Throttling} {
		noThrottling := func(without Capabilities) bool { return failure == Throttling && without.Throttling }
		cases = append(cases,
			nodeCase{
				name:    fmt.Sprintf("a cloud %s from the start is an error, then recovers", failure),
				leftOut: func(without Capabilities) bool { return without.ColdStart || noThrottling(without) },
				run:     func(b *fixture) { brokenFromStart(b, failure) },
			},
			nodeCase{
				name:    fmt.Sprintf("a cloud %s later says nothing, then recovers", failure),
				leftOut: noThrottling,
				run:     func(b *fixture) { brokenLater(b, failure) },
			},
			nodeCase{
				name:    fmt.Sprintf("new nodes of a cloud %s are queued again afterwards", failure),
				leftOut: noThrottling,
				run:     func(b *fixture) { queuedAfterOutage(b, failure) },
			},
		)
	}

	return append(cases,
		nodeCase{name: "new nodes cost a constant number of calls after an outage", run: outageCost},
		nodeCase{name: "a caller that gives up is let go", run: callerGivesUp},
	)
}

// brokenFromStart: nothing is known, so every answer is an error.
func brokenFromStart(b *fixture, failure Failure) {
	running, stopped, deleted := b.create(), b.create(), b.create()
	b.cloud.SetPower(b.t, stopped.Ref, Off)
	b.cloud.Delete(b.t, deleted.Ref)
	b.breakCloud(failure)
	b.connect()
	nodes := []*v1.Node{
		newNode(running.Ref), newNode(stopped.Ref), newNode(deleted.Ref),
		newNode(running.Ref, withID(""), tainted),
	}
	for range 2 {
		for i, r := range b.ask(nodes...) {
			for question, err := range r.errs() {
				if err == nil {
					b.t.Errorf("%s of node %d (%q) is no error", question, i, nodes[i].Spec.ProviderID)
				}
			}
		}
	}
	b.cloud.Heal(b.t)
	b.recovered(running, stopped, deleted)
}

// recovered waits until everything is known again.
func (b *fixture) recovered(running, stopped, deleted machine) {
	b.t.Helper()
	b.initialize(running, withID(""))
	b.waitShutdown(newNode(running.Ref), false)
	b.waitShutdown(newNode(stopped.Ref), true)
	b.waitGone(newNode(deleted.Ref))
}

// outage is what brokenLater knows: machines by what became of them, and their
// nodes.
type outage struct {
	running, stopped, deleted, earlier machine
	nodes                              []*v1.Node
}

// brokenLater: what was known may be said for a while, but nothing new. The
// instances that are deleted, one before and one during the outage, are not
// gone: who could have said so?
func brokenLater(b *fixture, failure Failure) {
	o := outage{running: b.create(), stopped: b.create(), deleted: b.create(), earlier: b.create()}
	o.nodes = []*v1.Node{
		newNode(o.running.Ref), newNode(o.stopped.Ref), newNode(o.deleted.Ref), newNode(o.earlier.Ref),
		newNode(o.running.Ref, withID("")), newNode(o.earlier.Ref, withID("")),
	}
	b.cloud.SetPower(b.t, o.stopped.Ref, Off)
	b.cloud.Delete(b.t, o.earlier.Ref)
	b.connect()
	b.initialize(o.running)
	b.initialize(o.deleted)
	b.waitShutdown(newNode(o.stopped.Ref), true)

	b.breakCloud(failure)
	b.cloud.Delete(b.t, o.deleted.Ref)
	for start := time.Now(); time.Since(start) < 2*b.suite.Memory; time.Sleep(b.suite.Memory / 20) {
		forgotten := time.Since(start) > b.suite.Memory
		for i, r := range b.ask(o.nodes...) {
			if err := o.check(o.nodes[i], r, forgotten); err != nil {
				b.t.Errorf("node %d (%q), %s: %v", i, o.nodes[i].Spec.ProviderID, failure, err)
			}
		}
	}
	b.cloud.Heal(b.t)
	b.recovered(o.running, o.stopped, o.deleted)
	b.waitGone(newNode(o.earlier.Ref))
}

// check says what is wrong with the replies for a node during an outage.
func (o *outage) check(node *v1.Node, r replies, forgotten bool) error {
	switch {
	case r.gone():
		return errors.New("it is gone")
	case r.shutdown && (forgotten || node.Name != o.stopped.NodeName):
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

// queueLimit is how soon Nodes are queued again once the cloud responds. Refused
// credentials may have a pause that is longer, so that no account is locked.
const queueLimit = 15 * time.Second

// queuedAfterOutage: the framework's queue backs off for longer than an outage
// takes, so the provider must queue new Nodes again when the cloud responds.
func queuedAfterOutage(b *fixture, failure Failure) {
	b.connect()
	b.initialize(b.create())
	queued := b.requeues()
	b.breakCloud(failure)
	machines := b.createMany(3)
	b.failToInitialize(machines)
	b.cloud.Heal(b.t)
	limit := queueLimit
	if failure == Refusing {
		limit = b.suite.Patience
	}
	b.initializeQueued(machines, queued, limit)
}

// outageCost: the calls for Nodes that waited through an outage do not grow with
// their number.
func outageCost(b *fixture) {
	b.connect()
	b.initialize(b.create())
	queued := b.requeues()
	b.breakCloud(Unreachable)
	machines := b.createMany(b.suite.Budget.Nodes)
	b.failToInitialize(machines)
	before := b.cloud.Calls()
	b.cloud.Heal(b.t)
	b.initializeQueued(machines, queued, queueLimit)
	b.within(b.suite.Budget.Initialize, before, "initializing after an outage")
}

// requeues returns a channel with the names of the Nodes that the provider queues
// again.
func (b *fixture) requeues() <-chan string {
	b.t.Helper()
	provider, ok := b.provider.(requeuer)
	if !ok {
		b.t.Fatal("the provider has no SetNodeRequeue(func(nodeName string))")
	}
	queued := make(chan string, 2*b.suite.Budget.Nodes)
	provider.SetNodeRequeue(func(nodeName string) {
		select {
		case queued <- nodeName:
		default:
		}
	})

	return queued
}

// failToInitialize waits until no new Node of these machines can be initialized.
func (b *fixture) failToInitialize(machines []machine) {
	b.t.Helper()
	parallel(len(machines), func(i int) {
		b.eventually("InstanceMetadata of a new node fails", func() error {
			if _, err := b.metadata(newNode(machines[i].Ref, young, tainted)); err == nil {
				return errors.New("it works")
			}

			return nil
		})
	})
}

// initializeQueued waits until the Nodes of the machines are queued, which must
// happen within the limit, and initializes them.
func (b *fixture) initializeQueued(machines []machine, queued <-chan string, limit time.Duration) {
	b.t.Helper()
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
				b.t.Errorf("node %q is queued, which did not wait", name)

				continue
			}
			delete(missing, name)
			b.initialize(m)
		case <-deadline:
			b.t.Fatalf("%d nodes are not queued within %s", len(missing), limit)
		}
	}
}

// callerGivesUp: the framework cancels its calls when it is stopped.
func callerGivesUp(b *fixture) {
	m := b.create()
	b.cloud.Delete(b.t, m.Ref)
	b.connect()
	b.initialize(b.create())
	b.breakCloud(Hanging)
	node := newNode(m.Ref)
	for name, question := range map[string]func(context.Context){
		"InstanceExists":   func(ctx context.Context) { _, _ = b.nodes.InstanceExists(ctx, node) },
		"InstanceShutdown": func(ctx context.Context) { _, _ = b.nodes.InstanceShutdown(ctx, node) },
		"InstanceMetadata": func(ctx context.Context) { _, _ = b.nodes.InstanceMetadata(ctx, node) },
	} {
		ctx, cancel := context.WithCancel(b.t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			question(ctx)
		}()
		time.Sleep(step) // let it get to the cloud
		cancel()
		select {
		case <-done:
		case <-time.After(b.cancelBound()):
			b.t.Errorf("%s goes on after its caller gave up", name)
		}
	}
}
