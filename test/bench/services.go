package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
	"github.com/multicloud-ccm/multicloud-ccm/test/scenario"
)

// targets is how many nodes there are where the calls for a single Service are
// counted.
const targets = 3

// balancers is what was measured of load balancers.
type balancers struct {
	// creations is one Service of each kind, with two ports and three nodes.
	creations []creation
	// took is how long all Services together took, and all are their calls.
	took time.Duration
	all  scenario.Calls
	// resync are the calls of the next process until it has seen to all of them,
	// writes those among them that may change something.
	resync, writes scenario.Calls
	// createCPU is the CPU time of the process that created all Services, from its start, and resyncCPU
	// that of the next one.
	createCPU, resyncCPU time.Duration
}

// creation is one Service that got a load balancer.
type creation struct {
	kind  scenario.LoadBalancer
	calls scenario.Calls
}

// serviceCloud is the cloud if it has load balancers.
func (b *bench) serviceCloud() (scenario.ServiceCloud, bool) {
	cloud, ok := b.Cloud.(scenario.ServiceCloud)

	return cloud, ok
}

// measureBalancers counts the calls for single Services, in a cluster of a few
// nodes that are gone afterwards.
func (b *bench) measureBalancers(ctx context.Context) error {
	cloud, ok := b.serviceCloud()
	if !ok {
		return nil
	}
	machines := cloud.Machines()[:min(targets, b.nodes)]
	what := fmt.Sprintf("Creating a Service of each kind, in a cluster of %d nodes", len(machines))

	return b.out.Step(what, func() error {
		ctx, cancel := bounded(ctx, patience)
		defer cancel()
		if err := b.Register(ctx, machines); err != nil {
			return err
		}
		process, err := b.Run("balancers", b.binary, "--v=2", "--leader-elect=false")
		if err != nil {
			return err
		}
		if err := b.AwaitInitialized(ctx, process, machines); err != nil {
			return err
		}
		if err := b.createEach(ctx, process); err != nil {
			return err
		}
		if left := cloud.Made(); len(left) > 0 {
			return fmt.Errorf("the Services are gone, but the cloud still has:\n%s", strings.Join(left, "\n"))
		}

		return errors.Join(b.end(ctx, process), b.DeleteNodes(ctx, machines))
	})
}

// createEach creates Services one by one, the first of which is not counted: it
// finds out what is true for all.
func (b *bench) createEach(ctx context.Context, process *ccm.CCM) error {
	kinds := scenario.Own(b.provider.LoadBalancers)
	services := []*v1.Service{kinds[0].Service("first")}
	for _, kind := range kinds {
		services = append(services, kind.Service(kind.Name))
	}
	if err := b.AwaitIdle(ctx, process); err != nil {
		return err
	}
	for i, service := range services {
		before, one := b.Cloud.Calls(), []*v1.Service{service}
		err := errors.Join(b.CreateServices(ctx, one), b.AwaitServed(ctx, process, one), b.AwaitIdle(ctx, process))
		if err != nil {
			return err
		}
		if i > 0 {
			b.balancers.creations = append(b.balancers.creations, creation{kinds[i-1], b.Cloud.Calls().Since(before)})
		}
	}

	return b.DeleteServices(ctx, process, services)
}

// measureServices creates many Services at once, of all kinds in turn, and then
// lets another process find them as they should be.
func (b *bench) measureServices(ctx context.Context) error {
	cloud, ok := b.serviceCloud()
	if !ok {
		return nil
	}
	var services []*v1.Service
	kinds := scenario.Own(b.provider.LoadBalancers)
	for i := range b.services {
		kind := kinds[i%len(kinds)]
		services = append(services, kind.Service(fmt.Sprintf("%s-%d", kind.Name, i)))
	}
	what := fmt.Sprintf("Creating %d Services, each of which takes the cloud %v", b.services, b.provisioning)
	err := b.out.Step(what, func() error { return b.createAll(ctx, cloud, services) })
	if err != nil {
		return err
	}

	return b.out.Step("Starting it again, until it has seen to all of them", func() error { return b.resyncAll(ctx, cloud) })
}

func (b *bench) createAll(ctx context.Context, cloud scenario.ServiceCloud, services []*v1.Service) error {
	ctx, cancel := bounded(ctx, patience+time.Duration(b.services)*b.provisioning)
	defer cancel()
	process, err := b.Run("services", b.binary, "--v=2", "--leader-elect=false")
	if err != nil {
		return err
	}
	if err := errors.Join(process.WaitHealthy(ctx), b.AwaitIdle(ctx, process)); err != nil {
		return err
	}
	cloud.SetProvisioning(b.provisioning)
	defer cloud.SetProvisioning(0)
	before, began := cloud.Calls(), time.Now()
	if err := errors.Join(b.CreateServices(ctx, services), b.AwaitServed(ctx, process, services)); err != nil {
		return err
	}
	b.balancers.took, b.balancers.all = time.Since(began), cloud.Calls().Since(before)
	if b.balancers.createCPU, err = cpuTime(process.PID()); err != nil {
		return err
	}

	return b.end(ctx, process)
}

// resyncAll runs a process that starts without state until it has checked every
// Service.
func (b *bench) resyncAll(ctx context.Context, cloud scenario.ServiceCloud) error {
	ctx, cancel := bounded(ctx, patience)
	defer cancel()
	before, writes := cloud.Calls(), cloud.Writes()
	process, err := b.Run("resync", b.binary, "--v=2", "--leader-elect=false")
	if err != nil {
		return err
	}
	if err := b.AwaitEnsured(ctx, process, b.services); err != nil {
		return err
	}
	b.balancers.resync, b.balancers.writes = cloud.Calls().Since(before), cloud.Writes().Since(writes)
	if b.balancers.resyncCPU, err = cpuTime(process.PID()); err != nil {
		return err
	}

	return b.end(ctx, process)
}
