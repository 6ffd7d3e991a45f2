package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
	"github.com/multicloud-ccm/multicloud-ccm/test/scenario"
)

const (
	// monitorPeriod is how often the binary looks at nodes that are not ready.
	// The default of 5 s is long to watch.
	monitorPeriod = "1s"
	// looks is how many times it looks while the cloud is away.
	looks = 3
)

// demo is one run of the demo.
type demo struct {
	*scenario.Environment

	out      *scenario.Printer
	provider scenario.Provider
	binary   string
	process  *ccm.CCM
}

// all runs every step.
func (s *demo) all(ctx context.Context) error {
	for _, step := range []func(context.Context) error{s.prepare, s.initialize, s.services, s.outage} {
		if err := step(ctx); err != nil {
			return err
		}
	}

	return nil
}

// prepare creates a cluster whose nodes wait for their cloud.
func (s *demo) prepare(ctx context.Context) error {
	s.out.Title("A cluster with uninitialized nodes (%s)", s.provider.Name)
	err := s.out.Step("Starting etcd and kube-apiserver", func() error { return s.StartControlPlane(ctx) })
	if err != nil {
		return err
	}
	err = s.out.Step("Starting a simulated cloud", func() error { return s.StartCloud(s.provider.Demo) })
	if err != nil {
		return err
	}
	s.out.Note("%s", s.Cloud.Description())
	err = s.out.Step(fmt.Sprintf("Registering %d nodes, like their kubelets", len(s.Cloud.Machines())), func() error { return s.Register(ctx, s.Cloud.Machines()) })
	if err != nil {
		return err
	}

	return s.table(ctx)
}

// initialize is the main job.
func (s *demo) initialize(ctx context.Context) error {
	s.out.Title("The cloud-config names the provider, and the nodes are initialized")
	s.out.Line("%s (credentials are valid only in the simulated cloud):", filepath.Base(s.ConfigPath()))
	s.out.Text(s.Cloud.Config())
	if environment := s.Cloud.Environment(); len(environment) > 0 {
		s.out.Line("environment variables for the simulated cloud:")
		s.out.Text(strings.Join(environment, "\n"))
	}

	flags := []string{"--leader-elect=false", "--node-monitor-period=" + monitorPeriod} // it is the only replica
	s.out.Line("%s --cloud-config=%s %s", filepath.Base(s.binary), filepath.Base(s.ConfigPath()), strings.Join(flags, " "))
	err := s.out.Step("Starting it, until every node is initialized", func() error {
		var err error
		if s.process, err = s.Run(ccm.Name, s.binary, append(flags, "--v=2")...); err != nil {
			return err
		}

		return s.AwaitInitialized(ctx, s.process, s.Cloud.Machines())
	})
	if err != nil {
		return err
	}
	calls := s.Cloud.Calls()
	s.out.Note("%s to the cloud for all nodes: %s", howMany(calls), calls)

	return s.table(ctx)
}

// howMany formats how many calls there were.
func howMany(calls scenario.Calls) string {
	if polls := calls.TotalPolls(); polls > 0 {
		return fmt.Sprintf("%d calls, and %d long polls that wait for changes,", calls.Total(), polls)
	}

	return fmt.Sprintf("%d calls", calls.Total())
}

// outage shows that a cloud that is away deletes nothing, and what becomes of a node whose machine is
// switched off.
func (s *demo) outage(ctx context.Context) error {
	kept, lost := s.machine(3), s.machine(4)
	s.out.Title("The API of the cloud becomes unreachable while two nodes are not ready")
	err := s.out.Step(fmt.Sprintf("%s and %s are not ready: %d checks without a response", kept, lost, looks), func() error {
		err := errors.Join(s.Cloud.SetReachable(false), s.setPower(ctx, lost, false), s.setReady(ctx, kept, v1.ConditionUnknown))
		if err != nil {
			return err
		}

		return s.AwaitPasses(ctx, s.process, looks)
	})
	if err != nil {
		return err
	}
	if err := s.countNodes(ctx); err != nil {
		return err
	}
	err = s.out.Step(fmt.Sprintf("The API is reachable again: %s is powered off", lost), func() error {
		if err := s.Cloud.SetReachable(true); err != nil {
			return err
		}

		return s.awaitTaint(ctx, lost, true)
	})
	if err != nil {
		return err
	}
	s.out.Note("the same process kept running: it was not restarted")
	if err := s.table(ctx); err != nil {
		return err
	}
	s.out.Line("")

	return s.out.Step(fmt.Sprintf("%s is powered on: the taint is removed", lost), func() error {
		if err := s.setPower(ctx, lost, true); err != nil {
			return err
		}

		return s.awaitTaint(ctx, lost, false)
	})
}

// keep leaves everything running until the context ends.
func (s *demo) keep(ctx context.Context) error {
	kubectl, err := controlplane.Locate("kubectl")
	if err != nil {
		kubectl = `"$(tools/build kubectl)"` // not worth a minute of every first run
	}
	s.out.Title("Everything is left running until Ctrl-C")
	s.out.Line("export KUBECONFIG=%s", s.ControlPlane.Kubeconfig())
	s.out.Line("%s get nodes -o wide -L topology.kubernetes.io/zone", kubectl)
	s.out.Line("%s get events -A", kubectl)
	if len(s.provider.LoadBalancers) > 0 {
		s.out.Line("%s create service loadbalancer web --tcp=80:8080", kubectl)
	}
	s.out.Line("less %s", s.process.LogPath())
	select {
	case <-ctx.Done():
		return nil
	case <-s.process.Ended():
		return s.process.Failure()
	}
}

// machine is the name of the ith machine, or of the last one.
func (s *demo) machine(i int) string {
	machines := s.Cloud.Machines()

	return machines[min(i, len(machines)-1)].Node.Name
}

// setPower switches a machine; its kubelet stops or starts with it.
func (s *demo) setPower(ctx context.Context, name string, on bool) error {
	status := v1.ConditionUnknown
	if on {
		status = v1.ConditionTrue
	}

	return errors.Join(s.Cloud.SetPower(name, on), s.setReady(ctx, name, status))
}

func (s *demo) setReady(ctx context.Context, name string, status v1.ConditionStatus) error {
	return controlplane.SetReady(ctx, s.ControlPlane.Client(), name, status)
}

// awaitTaint waits until a node has the shutdown taint, or has it no more.
func (s *demo) awaitTaint(ctx context.Context, name string, want bool) error {
	return s.Await(ctx, s.process, func(nodes scenario.Nodes) error {
		node := nodes[name]
		if node == nil {
			return fmt.Errorf("node %s does not exist", name)
		}
		got := false
		for _, taint := range node.Spec.Taints {
			got = got || taint.Key == cloudproviderapi.TaintNodeShutdown
		}
		if got != want {
			return fmt.Errorf("shutdown taint of node %s: %t, want %t", name, got, want)
		}

		return nil
	})
}

// countNodes proves that no node was deleted.
func (s *demo) countNodes(ctx context.Context) error {
	list, err := s.nodes(ctx)
	if err != nil {
		return err
	}
	want := len(s.Cloud.Machines())
	if len(list) != want {
		return fmt.Errorf("%d of %d nodes are left: the others were deleted during the outage", len(list), want)
	}
	s.out.Note("%d of %d nodes are still there, with their taints: an outage deletes no node", len(list), want)

	return nil
}

// table prints all nodes.
func (s *demo) table(ctx context.Context) error {
	nodes, err := s.nodes(ctx)
	if err != nil {
		return err
	}
	s.out.Line("\n%s", strings.TrimSuffix(nodeTable(nodes), "\n"))

	return nil
}

// nodes reads all nodes in the order of their names.
func (s *demo) nodes(ctx context.Context) ([]v1.Node, error) {
	list, err := s.ControlPlane.Client().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}

	return list.Items, nil
}
