package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
	"github.com/multicloud-ccm/multicloud-ccm/test/process"
	"github.com/multicloud-ccm/multicloud-ccm/test/scenario"
)

const (
	// budgetPeriod is what budgets call a steady period, and what the binary's
	// defaults make of it: one update of every node, and 60 looks at those that
	// are not ready.
	budgetPeriod = 5 * time.Minute
	looks        = 60
	// lifecycleLooks is how many looks at nodes that are not ready are counted.
	lifecycleLooks = 3
	// patience bounds each wait, on top of the time that is measured.
	patience = process.Longest
	// updatePeriod is in which an update that was under way is in the log.
	updatePeriod = 200 * time.Millisecond
)

// plan defines what to measure.
type plan struct {
	provider scenario.Provider
	binary   string
	// nodes join the cluster, notReady of them become not ready later.
	nodes, notReady int
	// foreign machines are in the cloud beside those of the nodes.
	foreign int
	// latency of each call to the cloud.
	latency time.Duration
	// steady is how long a steady period of five minutes takes here. The binary
	// goes through all nodes as often as in five minutes; what comes by the clock
	// alone, such as long polls, comes less often.
	steady time.Duration
	// services get load balancers at once, each of which the cloud takes that
	// long to create.
	services     int
	provisioning time.Duration
	// churn is how many nodes are replaced in the end.
	churn int
	// profiles is a directory for profiles of CPU time and heap, if any.
	profiles string
	// flags are further ones of the process that initializes all nodes.
	flags string
}

// result is what was measured.
type result struct {
	plan

	// firstNode and allNodes are initialized so long after the process started.
	firstNode, allNodes time.Duration
	initialize          scenario.Calls

	steadyTook  time.Duration
	steadyCalls scenario.Calls
	nodeUpdates int
	steadyLooks int
	lifecycle   scenario.Calls
	existsCalls int // how often it was checked whether a node's machine exists
	lookedCount int
	balancers   balancers
	// startCPU is what the process has used until all nodes were initialized, steadyCPU what one has used
	// in the steady period.
	startCPU, steadyCPU time.Duration
	// startAPICPU is what the API server has used meanwhile.
	startAPICPU time.Duration
	peakRSS     int64
	// heapBefore and heapAfter are the sizes of the heap before and after nodes were replaced.
	heapBefore, heapAfter int64
	binarySize            int64
}

// bench is a measurement while it runs.
type bench struct {
	*scenario.Environment

	out *scenario.Printer
	result
}

// measure runs a plan. It is an error if any node does not get what its
// machine has, or is deleted.
func measure(ctx context.Context, out *scenario.Printer, p plan) (r result, err error) {
	p.notReady = min(p.notReady, p.nodes)
	info, err := os.Stat(p.binary)
	if err != nil {
		return result{}, fmt.Errorf("measure: %w, run: make build", err)
	}
	if err := process.DropFromCache(p.binary); err != nil {
		return result{}, err
	}
	environment, err := scenario.NewEnvironment()
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, environment.Close(ctx, false)) }()
	b := &bench{Environment: environment, out: out, result: result{plan: p, binarySize: info.Size()}}
	for _, part := range []func(context.Context) error{b.prepare, b.measureBalancers, b.measureStart, b.measureSteady, b.measureServices, b.measureChurn} {
		if err := part(ctx); err != nil {
			return result{}, err
		}
	}

	return b.result, nil
}

func (b *bench) prepare(ctx context.Context) error {
	err := b.out.Step("Starting etcd and kube-apiserver", func() error { return b.StartControlPlane(ctx) })
	if err != nil {
		return err
	}
	what := fmt.Sprintf("Starting a simulated cloud that takes %v for each call", b.latency)
	err = b.out.Step(what, func() error {
		return b.StartCloud(func() (scenario.Cloud, error) { return b.provider.Fleet(b.nodes, b.latency) })
	})
	if err != nil {
		return err
	}
	if err := b.addForeign(); err != nil {
		return err
	}
	b.out.Note("%s", b.Cloud.Description())

	return nil
}

// addForeign adds the machines that are no nodes of the cluster.
func (b *bench) addForeign() error {
	if b.foreign == 0 {
		return nil
	}
	shared, ok := b.Cloud.(scenario.Shared)
	if !ok {
		return fmt.Errorf("-foreign=%d: the simulated cloud of provider %s has no machines of others", b.foreign, b.provider.Name)
	}

	return b.out.Step(fmt.Sprintf("Adding %d machines of others", b.foreign), func() error { return shared.AddForeign(b.foreign) })
}

// measureStart measures a process with default flags, from its start until all
// nodes are initialized.
func (b *bench) measureStart(ctx context.Context) error {
	err := b.out.Step(fmt.Sprintf("Registering %d nodes", b.nodes), func() error { return b.Register(ctx, b.Cloud.Machines()) })
	if err != nil {
		return err
	}
	var process *ccm.CCM
	before := b.Cloud.Calls()
	err = b.out.Step("Starting the binary, until all nodes are initialized", func() (err error) {
		ctx, cancel := bounded(ctx, patience)
		defer cancel()
		idle, err := cpuTime(b.ControlPlane.APIServerPID())
		if err != nil {
			return err
		}
		began := time.Now()
		if process, err = b.Run("initialize", b.binary, strings.Fields(b.flags)...); err != nil {
			return err
		}
		var profiled errgroup.Group
		profiled.Go(func() error {
			return errors.Join(process.WaitLog(ctx, scenario.Initialized), b.profileCPU(ctx, process, "initialize", initializePeriod))
		})
		defer func() { err = errors.Join(err, profiled.Wait()) }()
		first, last, err := scenario.Initializations(ctx, process, b.nodes)
		if err != nil {
			return err
		}
		b.firstNode, b.allNodes, b.initialize = first.Sub(began), last.Sub(began), b.Cloud.Calls().Since(before)
		used, err := cpuTime(b.ControlPlane.APIServerPID())
		b.startAPICPU = used - idle

		return err
	})
	if err != nil {
		return err
	}
	if b.startCPU, err = cpuTime(process.PID()); err != nil {
		return err
	}

	return errors.Join(b.AwaitInitialized(ctx, process, b.Cloud.Machines()), b.end(ctx, process))
}

// measureSteady measures the next process: what it does while nothing happens,
// and then while many nodes are not ready.
func (b *bench) measureSteady(ctx context.Context) error {
	process, err := b.Run("steady", b.binary, "--v=2", "--leader-elect=false",
		"--node-status-update-frequency="+b.steady.String(), "--node-monitor-period="+(b.steady/looks).String())
	if err != nil {
		return err
	}
	err = b.out.Step("Starting it again, until it has updated every node once", func() error {
		return errors.Join(b.awaitUpdates(ctx, process, 1), b.AwaitIdle(ctx, process))
	})
	if err != nil {
		return err
	}
	what := fmt.Sprintf("Letting nothing happen, for the work of %v in %v", budgetPeriod, b.steady)
	if err := b.out.Step(what, func() error { return b.measureSilence(ctx, process) }); err != nil {
		return err
	}
	what = fmt.Sprintf("Letting %d nodes be not ready", b.notReady)
	if err := b.out.Step(what, func() error { return b.measureLifecycle(ctx, process) }); err != nil {
		return err
	}
	if err := b.CountNodes(ctx, b.nodes); err != nil {
		return err
	}

	return b.end(ctx, process)
}

func (b *bench) measureSilence(ctx context.Context, process *ccm.CCM) error {
	log, err := process.Log()
	if err != nil {
		return err
	}
	updates, err := scenario.Updates(process)
	if err != nil {
		return err
	}
	looked, err := b.Passes(ctx, process)
	if err != nil {
		return err
	}
	used, err := cpuTime(process.PID())
	if err != nil {
		return err
	}
	var profiled errgroup.Group
	profiled.Go(func() error { return b.profileCPU(ctx, process, "steady", b.steady) })
	began, before := time.Now(), b.Cloud.Calls()
	if err := errors.Join(scenario.Wait(ctx, b.steady), b.awaitUpdates(ctx, process, updates+1), profiled.Wait()); err != nil {
		return err
	}
	b.steadyCalls, b.steadyTook = b.Cloud.Calls().Since(before), time.Since(began)
	if b.steadyCPU, err = cpuTime(process.PID()); err != nil {
		return err
	}
	b.steadyCPU -= used
	if b.nodeUpdates, err = scenario.Updates(process); err != nil {
		return err
	}
	b.nodeUpdates -= updates
	b.steadyLooks, err = b.Passes(ctx, process)
	b.steadyLooks -= looked

	return errors.Join(err, updatesFailed(process, len(log)))
}

// measureLifecycle measures looks at nodes that are not ready. It does so again if
// the nodes were updated meanwhile, which has calls of its own.
func (b *bench) measureLifecycle(ctx context.Context, process *ccm.CCM) error {
	ctx, cancel := bounded(ctx, patience)
	defer cancel()
	updates, err := scenario.Updates(process)
	if err != nil {
		return err
	}
	if err := b.SetReady(ctx, b.Cloud.Machines()[:b.notReady], v1.ConditionUnknown); err != nil {
		return err
	}
	for {
		if err := b.measureLooks(ctx, process); err != nil {
			return err
		}
		if err := scenario.Wait(ctx, updatePeriod); err != nil {
			return err
		}
		now, err := scenario.Updates(process)
		if err != nil || now == updates {
			return err
		}
		updates = now
	}
}

// measureLooks measures some looks at nodes that are not ready. While they become so, a few are looked up alone.
func (b *bench) measureLooks(ctx context.Context, process *ccm.CCM) error {
	before := b.Cloud.Calls()
	looked, err := b.Passes(ctx, process)
	if err != nil {
		return err
	}
	existsCalls, err := b.countExistsCalls(ctx, process)
	if err != nil {
		return err
	}
	if err := b.AwaitPasses(ctx, process, lifecycleLooks); err != nil {
		return err
	}
	b.lifecycle = b.Cloud.Calls().Since(before)
	if b.existsCalls, err = b.countExistsCalls(ctx, process); err != nil {
		return err
	}
	b.existsCalls -= existsCalls
	b.lookedCount, err = b.Passes(ctx, process)
	b.lookedCount -= looked

	return err
}

// countExistsCalls returns how often the framework has checked whether a machine exists.
func (b *bench) countExistsCalls(ctx context.Context, process *ccm.CCM) (int, error) {
	return b.Metric(ctx, process, "cloud_node_lifecycle_controller_cloud_provider_calls_total", `operation="instance_exists"`)
}

// end stops a process and records its peak memory.
func (b *bench) end(ctx context.Context, process *ccm.CCM) error {
	peak, err := process.PeakRSS()
	if err != nil {
		return err
	}
	b.peakRSS = max(b.peakRSS, peak)

	return b.Stop(ctx, process)
}

// awaitUpdates waits until all nodes have been updated n times in all.
func (b *bench) awaitUpdates(ctx context.Context, process *ccm.CCM, n int) error {
	ctx, cancel := bounded(ctx, b.steady+patience)
	defer cancel()

	return scenario.AwaitUpdates(ctx, process, n)
}

// updatesFailed is an error if a log has nodes that could not be updated,
// from an offset on: such updates cost no calls, but are worth nothing.
func updatesFailed(process *ccm.CCM, offset int) error {
	log, err := process.Log()
	if err != nil {
		return err
	}
	if n := strings.Count(log[offset:], "Error getting instance metadata"); n > 0 {
		return fmt.Errorf("%d updates of a node failed, the log ends with:\n%s", n, process.Tail())
	}

	return nil
}

func bounded(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done after %v", limit))
}
