package conformance

import (
	"errors"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// workers is how many nodes are served at a time, as the binary does.
const workers = 20

// costCases are about many nodes at a time.
func costCases() []nodeCase {
	return []nodeCase{
		{name: "initializing many nodes costs a constant number of calls", run: initializeCost},
		{name: "a steady pass over many nodes costs a constant number of calls", run: steadyCost},
		{name: "a lifecycle pass over many nodes costs a constant number of calls", run: lifecycleCost},
		{name: "answers under load are those of the node that was asked for", run: mixedLoad},
	}
}

// parallel does the work for every number below n, several at a time.
func parallel(n int, work func(i int)) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(workers, n) {
		wg.Go(func() {
			for i := range next {
				work(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// within fails the case if more calls were made since than the limit.
func (b *fixture) within(limit, since int, what string) {
	b.t.Helper()
	got := b.cloud.Calls() - since
	if got > limit {
		b.t.Errorf("%s of %d nodes cost %d calls, the budget is %d", what, b.suite.Budget.Nodes, got, limit)
	}
	b.t.Logf("%s of %d nodes: %d calls", what, b.suite.Budget.Nodes, got)
}

// cluster makes as many machines as the budget is for, connects the provider and
// initializes all their nodes, every second one without a providerID.
func (b *fixture) cluster() []machine {
	b.t.Helper()
	machines := make([]machine, b.suite.Budget.Nodes)
	for i := range machines {
		machines[i] = b.create()
	}
	b.connect()
	parallel(len(machines), func(i int) {
		node := newNode(machines[i].Ref, tainted)
		if i%2 == 0 {
			node.Spec.ProviderID = ""
		}
		if err := b.initializeWithBackOff(machines[i], node); err != nil {
			b.t.Errorf("node %d: %v", i, err)
		}
	})

	return machines
}

// initializeWithBackOff asks for the node's metadata as the framework's queue
// does: again after a failure, each time later.
func (b *fixture) initializeWithBackOff(m machine, node *v1.Node) error {
	b.t.Helper()
	deadline := time.Now().Add(b.suite.Patience)
	for pause := 5 * time.Millisecond; ; pause *= 2 {
		got, err := b.metadata(node)
		if err == nil && got != nil {
			return checkMetadata(got, m.ProviderID, m)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not initialized within %s: %v, %w", b.suite.Patience, got, err)
		}
		time.Sleep(pause)
	}
}

func initializeCost(b *fixture) {
	before := b.cloud.Calls()
	b.cluster()
	b.within(b.suite.Budget.Initialize, before, "initializing")
}

func steadyCost(b *fixture) {
	machines := b.cluster()
	before := b.cloud.Calls()
	parallel(len(machines), func(i int) {
		got, err := b.metadata(newNode(machines[i].Ref))
		if err == nil && got != nil {
			err = checkMetadata(got, machines[i].ProviderID, machines[i])
		}
		if err != nil {
			b.t.Errorf("node %d: %v", i, err)
		}
	})
	b.within(b.suite.Budget.Steady, before, "a steady pass")
}

func lifecycleCost(b *fixture) {
	machines := b.cluster()
	before := b.cloud.Calls()
	parallel(len(machines), func(i int) {
		node := newNode(machines[i].Ref)
		if exists, err := b.exists(node); !exists || err != nil {
			b.t.Errorf("node %d: exists %t, %v", i, exists, err)
		}
		if shutdown, err := b.shutdown(node); shutdown || err != nil {
			b.t.Errorf("node %d: shut down %t, %v", i, shutdown, err)
		}
	})
	b.within(b.suite.Budget.Lifecycle, before, "a lifecycle pass")
}

// mixedLoad asks everything about every kind of node at the same time, each Node
// object by several callers who use their answers as their own. The race
// detector watches.
func mixedLoad(b *fixture) {
	running, stopped, deleted, foreign := b.createMany(6), b.createMany(3), b.createMany(3), b.createMany(2)
	for _, m := range stopped {
		b.cloud.SetPower(b.t, m.Ref, Off)
	}
	b.connect()
	for _, m := range running {
		b.initialize(m)
	}
	for _, m := range stopped {
		b.waitShutdown(newNode(m.Ref), true)
	}
	for _, m := range deleted {
		b.initialize(m)
		b.cloud.Delete(b.t, m.Ref)
	}

	var wg sync.WaitGroup
	ask := func(node *v1.Node, check func(r replies) (complete bool, err error)) {
		for range 3 {
			wg.Go(func() { b.askOften(node, check) })
		}
	}
	for _, m := range running {
		ask(newNode(m.Ref), func(r replies) (bool, error) { return checkRunning(r, m) })
	}
	for _, m := range stopped {
		ask(newNode(m.Ref), checkStopped)
	}
	for _, m := range deleted {
		ask(newNode(m.Ref), checkDeleted)
	}
	for _, m := range foreign {
		ask(b.foreign(m)[0], checkUntouched)
	}
	wg.Wait()
}

// askOften asks everything about the node until the answers were complete
// several times, and uses them up. An error is no answer; a wrong answer is
// wrong at once.
func (b *fixture) askOften(node *v1.Node, check func(r replies) (complete bool, err error)) {
	b.t.Helper()
	deadline := time.Now().Add(b.suite.Patience)
	for good := 0; good < rounds; {
		r := b.ask(node)[0]
		complete, err := check(r)
		switch {
		case err != nil:
			b.t.Errorf("node %q: %v", node.Spec.ProviderID, err)

			return
		case complete:
			good++
		case time.Now().After(deadline):
			b.t.Errorf("node %q: not answered within %s: %v", node.Spec.ProviderID, b.suite.Patience, r.errs())

			return
		}
		use(r.metadata)
	}
}

// createMany makes instances.
func (b *fixture) createMany(n int) []machine {
	b.t.Helper()
	machines := make([]machine, n)
	for i := range machines {
		machines[i] = b.create()
	}

	return machines
}

// use does to metadata what the framework does.
func use(m *cloudprovider.InstanceMetadata) {
	if m == nil {
		return
	}
	for i := range m.NodeAddresses {
		m.NodeAddresses[i].Address += "-used"
	}
	_ = append(m.NodeAddresses, v1.NodeAddress{Type: v1.NodeHostName, Address: "used"})
	m.ProviderID = "used"
}

// The checks say whether the replies are all there, and what is wrong in those
// that are.

func checkRunning(r replies, m machine) (complete bool, err error) {
	if r.gone() || r.shutdown {
		return false, fmt.Errorf("running: gone %t, shut down %t", r.gone(), r.shutdown)
	}
	if r.metadata == nil {
		return false, nil
	}

	return r.exists && r.shutdownErr == nil, checkMetadata(r.metadata, m.ProviderID, m)
}

func checkStopped(r replies) (complete bool, err error) {
	if r.gone() || !r.shutdown && r.shutdownErr == nil {
		return false, fmt.Errorf("stopped: gone %t, shut down %t", r.gone(), r.shutdown)
	}

	return r.exists && r.shutdown, nil
}

func checkDeleted(r replies) (complete bool, err error) {
	if r.shutdown {
		return false, errors.New("deleted: shut down")
	}

	return true, nil
}

func checkUntouched(r replies) (complete bool, err error) {
	if !r.exists || r.shutdown || r.metadata == nil || r.metadata.ProviderID != "" {
		return false, fmt.Errorf("foreign: exists %t, shutdown %t, metadata %v", r.exists, r.shutdown, r.metadata)
	}

	return true, nil
}
