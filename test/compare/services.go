package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
	"github.com/multicloud-ccm/multicloud-ccm/test/scenario"
)

// targets is how many nodes there are where the calls for single Services are counted.
const targets = 3

// writePeriod is how long a change of the Nodes may take until it reaches the cloud.
const writePeriod = 3 * time.Minute

// life measures Services one by one in a cluster of a few nodes that are gone afterwards.
func (m *measurement) life(ctx context.Context) error {
	machines := m.cloud.Machines()[:targets]

	return m.out.Step(fmt.Sprintf("Following a Service of each kind, in a cluster of %d Nodes", targets), func() error {
		if err := m.Register(ctx, machines); err != nil {
			return err
		}
		child, err := m.start("life", single...)
		if err != nil {
			return err
		}
		if err := m.AwaitInitialized(ctx, child, machines); err != nil {
			return err
		}
		if err := m.follow(ctx, child); err != nil {
			return err
		}
		if left := m.cloud.Made(); len(left) > 0 {
			m.out.Note("after all Services were deleted, the cloud still has: %s", strings.Join(left, "; "))
		}

		return m.DeleteNodes(ctx, machines)
	})
}

// follow creates a Service of each kind, restarts the process, has a node join and leave, and
// deletes the Services. There is another Service before all of them.
func (m *measurement) follow(ctx context.Context, child *ccm.CCM) error {
	kinds := scenario.Own(m.provider.LoadBalancers)
	services := []*v1.Service{kinds[0].Service("first")}
	for _, kind := range kinds {
		services = append(services, kind.Service(kind.Name))
	}
	if err := m.createEach(ctx, child, services); err != nil {
		return err
	}
	if err := m.end(ctx, child); err != nil {
		return err
	}
	child, err := m.restart(ctx, len(services))
	if err != nil {
		return err
	}
	if err := m.joinAndLeave(ctx, child, len(services)); err != nil {
		return err
	}
	if err := m.deleteEach(ctx, child, services); err != nil {
		return err
	}

	return m.end(ctx, child)
}

// counted records the calls of some work until there are no more.
func (m *measurement) counted(ctx context.Context, child *ccm.CCM, what metric, work func() error) error {
	before := m.cloud.Calls()
	if err := errors.Join(work(), m.AwaitIdle(ctx, child)); err != nil {
		return err
	}
	m.record(what, m.since(before))

	return nil
}

// createEach creates Services one by one, the first of which is not counted.
func (m *measurement) createEach(ctx context.Context, child *ccm.CCM, services []*v1.Service) error {
	create := func(service *v1.Service) error {
		one := []*v1.Service{service}

		return errors.Join(m.CreateServices(ctx, one), m.AwaitServed(ctx, child, one))
	}
	if err := errors.Join(m.AwaitIdle(ctx, child), create(services[0]), m.AwaitIdle(ctx, child)); err != nil {
		return err
	}
	for _, service := range services[1:] {
		what := calls(fmt.Sprintf("calls to create a Service (%s)", service.Name)).charted()
		if err := m.counted(ctx, child, what, func() error { return create(service) }); err != nil {
			return err
		}
	}

	return nil
}

// restart measures a new process until it has synced all Services, which are unchanged.
func (m *measurement) restart(ctx context.Context, services int) (child *ccm.CCM, err error) {
	before := m.cloud.Calls()
	if child, err = m.start("restart", single...); err != nil {
		return nil, err
	}
	if err := m.AwaitEnsured(ctx, child, services); err != nil {
		return nil, err
	}
	m.record(calls(fmt.Sprintf("calls of a restart with %d Services and %d Nodes", services, targets)), m.since(before))

	return child, nil
}

// joinAndLeave measures a node that joins a cluster with Services, and leaves it.
func (m *measurement) joinAndLeave(ctx context.Context, child *ccm.CCM, services int) error {
	machine := m.cloud.Machines()[targets]
	// Its kubelet has --node-ip: the framework syncs the Services between the provider ID and the
	// addresses of a Node, and not again then.
	machine.Node.NodeIPs = []string{machine.Address}
	one := []scenario.Machine{machine}
	where := fmt.Sprintf("a cluster with %d Services", services)
	join := func() error {
		writes := m.cloud.Writes()
		if err := m.Register(ctx, one); err != nil {
			return err
		}
		if err := m.AwaitInitialized(ctx, child, one); err != nil {
			return err
		}

		return m.awaitWrite(ctx, child, writes)
	}
	leave := func() error {
		writes := m.cloud.Writes()

		return errors.Join(m.DeleteNodes(ctx, one), m.awaitWrite(ctx, child, writes))
	}

	return errors.Join(
		m.counted(ctx, child, calls("calls when a Node joins "+where), join),
		m.counted(ctx, child, calls("calls when a Node leaves "+where), leave),
	)
}

// awaitWrite waits until the cloud is written to, without which a Node has changed nothing.
func (m *measurement) awaitWrite(ctx context.Context, child *ccm.CCM, before scenario.Calls) error {
	for began := time.Now(); m.cloud.Writes().Since(before).Total() == 0; {
		select {
		case <-child.Ended():
			return child.Failure()
		case <-ctx.Done():
			return fmt.Errorf("wait for a write: %w, the log ends with:\n%s", context.Cause(ctx), child.Tail())
		case <-time.After(pollPeriod):
		}
		if time.Since(began) > writePeriod {
			return fmt.Errorf("the Node changed nothing in the cloud for %v, the log ends with:\n%s", writePeriod, child.Tail())
		}
	}

	return nil
}

// deleteEach deletes Services one by one, the first one last.
func (m *measurement) deleteEach(ctx context.Context, child *ccm.CCM, services []*v1.Service) error {
	for _, service := range services[1:] {
		what := calls(fmt.Sprintf("calls to delete a Service (%s)", service.Name))
		err := m.counted(ctx, child, what, func() error { return m.DeleteServices(ctx, child, []*v1.Service{service}) })
		if err != nil {
			return err
		}
	}

	return m.DeleteServices(ctx, child, services[:1])
}

// createAll measures many Services of all kinds in turn that are created at once.
func (m *measurement) createAll(ctx context.Context) error {
	var services []*v1.Service
	kinds := scenario.Own(m.provider.LoadBalancers)
	for i := range m.services {
		kind := kinds[i%len(kinds)]
		services = append(services, kind.Service(fmt.Sprintf("%s-%d", kind.Name, i)))
	}
	what := fmt.Sprintf("Creating %d Services, each of which takes the cloud %v", m.services, m.provisioning)

	return m.out.Step(what, func() error {
		child, err := m.start("services", single...)
		if err != nil {
			return err
		}
		if err := errors.Join(scenario.AwaitUpdates(ctx, child, 1), m.AwaitIdle(ctx, child)); err != nil {
			return err
		}
		m.cloud.SetProvisioning(m.provisioning)
		defer m.cloud.SetProvisioning(0)
		before, began := m.cloud.Calls(), time.Now()
		if err := errors.Join(m.CreateServices(ctx, services), m.awaitAllServed(ctx, child)); err != nil {
			return err
		}
		m.record(seconds(fmt.Sprintf("time until %d Services have an address", m.services)).charted(), time.Since(began).Seconds())
		if err := m.AwaitIdle(ctx, child); err != nil {
			return err
		}
		m.record(calls(fmt.Sprintf("calls to create %d Services at once", m.services)), m.since(before))

		return m.end(ctx, child)
	})
}

// awaitAllServed waits until all Services have an address, however long that takes.
func (m *measurement) awaitAllServed(ctx context.Context, child *ccm.CCM) error {
	for {
		list, err := m.ControlPlane.Client().CoreV1().Services(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("list Services: %w", err)
		}
		served := 0
		for i := range list.Items {
			if scenario.Address(&list.Items[i]) != "" {
				served++
			}
		}
		if served == m.services {
			return nil
		}
		select {
		case <-child.Ended():
			return child.Failure()
		case <-ctx.Done():
			return fmt.Errorf("%d of %d Services have an address: %w, the log ends with:\n%s", served, m.services, context.Cause(ctx), child.Tail())
		case <-time.After(pollPeriod):
		}
	}
}

// resyncAll measures a new process until it has synced all Services, which are unchanged.
func (m *measurement) resyncAll(ctx context.Context) error {
	return m.out.Step("Starting it again, until it has synced all of them", func() error {
		before, writes := m.cloud.Calls(), m.cloud.Writes()
		child, err := m.start("resync", single...)
		if err != nil {
			return err
		}
		if err := errors.Join(m.AwaitEnsured(ctx, child, m.services), scenario.AwaitUpdates(ctx, child, 1), m.AwaitIdle(ctx, child)); err != nil {
			return err
		}
		where := fmt.Sprintf("calls of a restart with %d Services and %d Nodes", m.services, m.nodes)
		m.record(calls(where).charted(), m.since(before))
		m.record(calls(where+", writes of them"), float64(m.cloud.Writes().Since(writes).Total()))
		if err := m.end(ctx, child); err != nil {
			return err
		}
		m.recordMemory(memory(fmt.Sprintf("peak memory with %d Nodes and %d Services", m.nodes, m.services)))

		return nil
	})
}
