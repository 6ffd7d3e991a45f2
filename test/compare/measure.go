package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
	"github.com/multicloud-ccm/multicloud-ccm/test/process"
	"github.com/multicloud-ccm/multicloud-ccm/test/scenario"
)

const (
	// longest bounds each part of a run.
	longest = 30 * time.Minute
	// passPeriod is a little more than what passes between the end of a check of nodes that are
	// not ready and the first call of the next one: --node-monitor-period is 5 seconds by default.
	passPeriod = 8 * time.Second
	pollPeriod = 200 * time.Millisecond
)

// single are the arguments of a process that waits for no lease.
var single = []string{"--v=2", "--leader-elect=false"}

// measurement is a controller in a cluster and a cloud of its own.
type measurement struct {
	*scenario.Environment
	plan

	controller controller
	out        *scenario.Printer
	cloud      scenario.ServiceCloud
	record     func(metric, float64)
	peak       int64
}

// compare measures both controllers in turns, and reports after each round.
func compare(ctx context.Context, out *scenario.Printer, p plan, both [2]controller, report func(*results) error) error {
	r := &results{}
	for round := range p.rounds {
		for side, c := range both {
			out.Title("Round %d of %d: %s", round+1, p.rounds, c.name)
			m := measurement{plan: p, controller: c, out: out, record: r.recorder(side)}
			if err := m.run(ctx, round < p.serviceRounds); err != nil {
				return fmt.Errorf("measure %s: %w", c.name, err)
			}
		}
		if err := report(r); err != nil {
			return err
		}
	}

	return nil
}

// run measures everything once.
func (m *measurement) run(ctx context.Context, withServices bool) (err error) {
	if err := process.DropFromCache(m.controller.binary); err != nil {
		return err
	}
	if m.Environment, err = scenario.NewEnvironment(); err != nil {
		return err
	}
	defer func() {
		keep := err != nil && ctx.Err() == nil
		if keep {
			m.out.Note("The logs are in %s.", m.Dir())
		}
		err = errors.Join(err, m.Close(ctx, keep))
	}()
	parts := []func(context.Context) error{m.prepare, m.life, m.initialize, m.update}
	if withServices {
		parts = append(parts, m.createAll, m.resyncAll)
	}
	for _, part := range parts {
		if err := m.bounded(ctx, part); err != nil {
			return err
		}
	}

	return nil
}

func (m *measurement) bounded(ctx context.Context, part func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, longest, fmt.Errorf("not done after %v", longest))
	defer cancel()

	return part(ctx)
}

func (m *measurement) prepare(ctx context.Context) error {
	return m.out.Step("Starting a control plane and a simulated cloud", func() error {
		if err := m.StartControlPlane(ctx); err != nil {
			return err
		}
		err := m.StartCloud(func() (scenario.Cloud, error) { return m.provider.Fleet(m.nodes, m.latency) })
		if err != nil {
			return err
		}
		var ok bool
		if m.cloud, ok = m.Cloud.(scenario.ServiceCloud); !ok {
			return errors.New("the cloud has no load balancers")
		}

		return os.WriteFile(m.ConfigPath(), []byte(m.controller.config(m.Cloud.Config())), 0o600)
	})
}

// start starts a process of the controller.
func (m *measurement) start(name string, args ...string) (*ccm.CCM, error) {
	return m.Run(name, m.controller.binary, slices.Concat(m.controller.args, args)...)
}

// end stops a process and notes its peak memory.
func (m *measurement) end(ctx context.Context, child *ccm.CCM) error {
	peak, err := child.PeakRSS()
	if err != nil {
		return err
	}
	m.peak = max(m.peak, peak)

	return m.Stop(ctx, child)
}

// recordMemory records the peak memory of the processes since the last time.
func (m *measurement) recordMemory(what metric) {
	m.record(what, float64(m.peak)/(1<<20))
	m.peak = 0
}

// initialize measures a process with its default flags until all nodes are initialized.
func (m *measurement) initialize(ctx context.Context) error {
	nodes := fmt.Sprintf("%d Nodes", m.nodes)

	return m.out.Step("Initializing "+nodes, func() error {
		if err := m.Register(ctx, m.cloud.Machines()); err != nil {
			return err
		}
		m.peak = 0
		before, began := m.cloud.Calls(), time.Now()
		child, err := m.start("initialize", "--v=2")
		if err != nil {
			return err
		}
		first, last, err := scenario.Initializations(ctx, child, m.nodes)
		if err != nil {
			return err
		}
		m.record(calls("calls to initialize "+nodes).charted(), m.since(before))
		m.record(seconds("time to initialize the first Node"), first.Sub(began).Seconds())
		m.record(seconds("time to initialize "+nodes).charted(), last.Sub(began).Seconds())

		return errors.Join(m.AwaitInitialized(ctx, child, m.cloud.Machines()), m.end(ctx, child))
	})
}

// since counts the calls since an earlier time.
func (m *measurement) since(before scenario.Calls) float64 {
	return float64(m.cloud.Calls().Since(before).Total())
}

// update measures an update of all nodes, with what else comes from the end of the one
// before on, and a check of nodes that are not ready.
func (m *measurement) update(ctx context.Context) error {
	child, err := m.start("update", append(single, "--node-status-update-frequency="+m.period.String())...)
	if err != nil {
		return err
	}
	var ended time.Time
	err = m.out.Step("Updating all Nodes", func() error {
		if err := errors.Join(scenario.AwaitUpdates(ctx, child, 1), m.AwaitIdle(ctx, child)); err != nil {
			return err
		}
		before := m.cloud.Calls()
		if err := scenario.AwaitUpdates(ctx, child, 2); err != nil {
			return err
		}
		ended = time.Now()
		m.record(calls("calls to update all Nodes, every 5 min").charted(), m.since(before))

		return nil
	})
	if err != nil {
		return err
	}
	what := fmt.Sprintf("Checking %d NotReady Nodes", m.notReady)
	if err := m.out.Step(what, func() error { return m.check(ctx, child, ended) }); err != nil {
		return err
	}
	if err := m.end(ctx, child); err != nil {
		return err
	}
	m.recordMemory(memory(fmt.Sprintf("peak memory with %d Nodes", m.nodes)).charted())

	return nil
}

// check measures a check of nodes that are not ready, right after an update of all nodes
// has ended. It must be over before the next update begins, or it is measured again.
func (m *measurement) check(ctx context.Context, child *ccm.CCM, ended time.Time) error {
	machines := m.cloud.Machines()[:min(m.notReady, m.nodes)]
	if err := m.SetReady(ctx, machines, v1.ConditionUnknown); err != nil {
		return err
	}
	for {
		updates, err := scenario.Updates(child)
		if err != nil {
			return err
		}
		measured, err := m.pass(ctx, child)
		if err != nil {
			return err
		}
		if time.Since(ended) < m.period {
			m.record(calls(fmt.Sprintf("calls to check %d NotReady Nodes, every 5 s", m.notReady)).charted(), measured)

			return errors.Join(m.CountNodes(ctx, m.nodes), m.SetReady(ctx, machines, v1.ConditionTrue))
		}
		if err := scenario.AwaitUpdates(ctx, child, updates+1); err != nil {
			return err
		}
		ended = time.Now()
	}
}

// pass counts the calls from one pause between checks to the next one, after which there were
// calls.
func (m *measurement) pass(ctx context.Context, child *ccm.CCM) (float64, error) {
	if err := m.AwaitIdle(ctx, child); err != nil {
		return 0, err
	}
	before := m.cloud.Calls()
	for began := time.Now(); m.since(before) == 0 && time.Since(began) < passPeriod; {
		if err := scenario.Wait(ctx, pollPeriod); err != nil {
			return 0, err
		}
	}

	err := m.AwaitIdle(ctx, child)

	return m.since(before), err
}
