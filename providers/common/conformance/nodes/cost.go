package nodes

import (
	"errors"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
)

// costCases are about many nodes at a time.
func costCases() []testCase {
	return []testCase{
		{Name: "initializing many nodes costs a constant number of calls", Run: initializeCost},
		{Name: "a steady pass over many nodes costs a constant number of calls", Run: steadyCost},
		{Name: "a lifecycle pass over many nodes costs a constant number of calls", Run: lifecycleCost},
		{Name: "results under load are those of the node in question", Run: mixedLoad},
	}
}

// checkBudget fails the case if more calls were made since than the limit.
func (f *fixture) checkBudget(limit, since int, what string) {
	f.T.Helper()
	f.CheckCalls(limit, since, fmt.Sprintf("%s of %d nodes", what, f.adapter.Budget.Nodes))
}

// cluster makes as many machines as the budget is for, connects the provider and
// initializes all their nodes, every second one without a providerID.
func (f *fixture) cluster() []machine {
	f.T.Helper()
	machines := make([]machine, f.adapter.Budget.Nodes)
	for i := range machines {
		machines[i] = f.Create()
	}
	f.connect()
	harness.Parallel(len(machines), func(i int) {
		node := harness.NewNode(machines[i].Ref, tainted)
		if i%2 == 0 {
			node.Spec.ProviderID = ""
		}
		if err := f.initializeWithBackoff(machines[i], node); err != nil {
			f.T.Errorf("node %d: %v", i, err)
		}
	})

	return machines
}

// initializeWithBackoff queries the node's metadata as the work queue does: again
// after an error, each time later.
func (f *fixture) initializeWithBackoff(m machine, node *v1.Node) error {
	f.T.Helper()
	deadline := time.Now().Add(f.NoticeTime)
	for pause := 5 * time.Millisecond; ; pause *= 2 {
		got, err := f.metadata(node)
		if err == nil && got != nil {
			return checkMetadata(got, m.ProviderID, m)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not initialized within %s: %v, %w", f.NoticeTime, got, err)
		}
		time.Sleep(pause)
	}
}

func initializeCost(f *fixture) {
	before := f.Cloud.Calls()
	f.cluster()
	f.checkBudget(f.adapter.Budget.Initialize, before, "initializing")
}

func steadyCost(f *fixture) {
	machines := f.cluster()
	before := f.Cloud.Calls()
	harness.Parallel(len(machines), func(i int) {
		got, err := f.metadata(harness.NewNode(machines[i].Ref))
		if err == nil && got != nil {
			err = checkMetadata(got, machines[i].ProviderID, machines[i])
		}
		if err != nil {
			f.T.Errorf("node %d: %v", i, err)
		}
	})
	f.checkBudget(f.adapter.Budget.Steady, before, "a steady pass")
}

func lifecycleCost(f *fixture) {
	machines := f.cluster()
	before := f.Cloud.Calls()
	harness.Parallel(len(machines), func(i int) {
		node := harness.NewNode(machines[i].Ref)
		if exists, err := f.exists(node); !exists || err != nil {
			f.T.Errorf("node %d: exists %t, %v", i, exists, err)
		}
		if shutdown, err := f.shutdown(node); shutdown || err != nil {
			f.T.Errorf("node %d: shut down %t, %v", i, shutdown, err)
		}
	})
	f.checkBudget(f.adapter.Budget.Lifecycle, before, "a lifecycle pass")
}

// mixedLoad makes all queries about every kind of node at the same time, each Node
// object by several callers that change their results, for the race detector.
func mixedLoad(f *fixture) {
	running, stopped, deleted, foreign := f.CreateMany(6), f.CreateMany(3), f.CreateMany(3), f.CreateMany(2)
	for _, m := range stopped {
		f.Cloud.SetPower(f.T, m.Ref, conformance.Off)
	}
	f.connect()
	for _, m := range running {
		f.initialize(m)
	}
	for _, m := range stopped {
		f.waitShutdown(harness.NewNode(m.Ref), true)
	}
	for _, m := range deleted {
		f.initialize(m)
		f.Cloud.Delete(f.T, m.Ref)
	}

	var wg sync.WaitGroup
	query := func(node *v1.Node, check func(r results) (complete bool, err error)) {
		for range 3 {
			wg.Go(func() { f.queryOften(node, check) })
		}
	}
	for _, m := range running {
		query(harness.NewNode(m.Ref), func(r results) (bool, error) { return checkRunning(r, m) })
	}
	for _, m := range stopped {
		query(harness.NewNode(m.Ref), checkStopped)
	}
	for _, m := range deleted {
		query(harness.NewNode(m.Ref), checkDeleted)
	}
	for _, m := range foreign {
		query(f.foreign(m)[0], checkUntouched)
	}
	wg.Wait()
}

// queryOften makes all queries about the node until the results were complete
// several times, and changes them. An error is no result; a wrong result fails the
// case at once.
func (f *fixture) queryOften(node *v1.Node, check func(r results) (complete bool, err error)) {
	f.T.Helper()
	deadline := time.Now().Add(f.NoticeTime)
	for good := 0; good < harness.Rounds; {
		r := f.query(node)[0]
		complete, err := check(r)
		switch {
		case err != nil:
			f.T.Errorf("node %q: %v", node.Spec.ProviderID, err)

			return
		case complete:
			good++
		case time.Now().After(deadline):
			f.T.Errorf("node %q: no results within %s: %v", node.Spec.ProviderID, f.NoticeTime, r.errs())

			return
		}
		use(r.metadata)
	}
}

// use changes metadata as the node controllers do.
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

// The checks return whether the results are complete, and what is wrong with those
// that there are.

func checkRunning(r results, m machine) (complete bool, err error) {
	if r.gone() || r.shutdown {
		return false, fmt.Errorf("running: gone %t, shut down %t", r.gone(), r.shutdown)
	}
	if r.metadata == nil {
		return false, nil
	}

	return r.exists && r.shutdownErr == nil, checkMetadata(r.metadata, m.ProviderID, m)
}

func checkStopped(r results) (complete bool, err error) {
	if r.gone() || !r.shutdown && r.shutdownErr == nil {
		return false, fmt.Errorf("stopped: gone %t, shut down %t", r.gone(), r.shutdown)
	}

	return r.exists && r.shutdown, nil
}

func checkDeleted(r results) (complete bool, err error) {
	if r.shutdown {
		return false, errors.New("deleted: shut down")
	}

	return true, nil
}

func checkUntouched(r results) (complete bool, err error) {
	if !r.exists || r.shutdown || r.metadata == nil || r.metadata.ProviderID != "" {
		return false, fmt.Errorf("foreign: exists %t, shutdown %t, metadata %v", r.exists, r.shutdown, r.metadata)
	}

	return true, nil
}
