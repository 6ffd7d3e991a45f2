package scenario

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
)

const (
	// passes is how many times the process has looked at all nodes that are not
	// ready.
	passes = "cloud_node_lifecycle_controller_monitor_nodes_duration_seconds_count"
	// metricPeriod is how often a metric is looked at that has to change.
	metricPeriod = 100 * time.Millisecond
)

// Nodes are nodes by name.
type Nodes = map[string]*v1.Node

// Await watches the nodes until nothing is wrong with them any more. It gives
// up when the process ends or makes no progress, or ctx ends; the error then has what was
// wrong last.
func (s *Environment) Await(ctx context.Context, process *ccm.CCM, wrong func(Nodes) error) error {
	nodes := watched[*v1.Node]{stage: s, resource: "nodes", example: &v1.Node{}}

	return nodes.until(ctx, process, wrong)
}

// object is what can be watched.
type object interface {
	runtime.Object
	GetName() string
}

// watched are all objects of a kind, in a namespace if the kind has any.
type watched[T object] struct {
	stage               *Environment
	resource, namespace string
	example             T
}

// until returns when nothing is wrong with the objects, by name, any more.
func (w watched[T]) until(ctx context.Context, process *ccm.CCM, wrong func(map[string]T) error) error {
	calls := func() string { return "" }
	if w.stage.Cloud != nil {
		calls = func() string { return strconv.Itoa(w.stage.Cloud.Calls().Total()) }
	}
	ctx, cancel := process.WhileRunning(ctx, calls)
	defer cancel()

	objects := map[string]T{}
	last := errors.New("nothing was seen")
	client := w.stage.ControlPlane.Client().CoreV1().RESTClient()
	source := cache.NewListWatchFromClient(client, w.resource, w.namespace, fields.Everything())
	synced := func(store cache.Store) (bool, error) {
		for _, item := range store.List() {
			if found, ok := item.(T); ok {
				objects[found.GetName()] = found
			}
		}
		last = wrong(objects)

		return last == nil, nil
	}
	_, err := watchtools.UntilWithSync(ctx, source, w.example, synced, func(event watch.Event) (bool, error) {
		found, ok := event.Object.(T)
		if !ok {
			return false, nil // a bookmark or the end of a watch
		}
		objects[found.GetName()] = found
		if event.Type == watch.Deleted {
			delete(objects, found.GetName())
		}
		last = wrong(objects)

		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for %s: %w: %w", w.resource, context.Cause(ctx), errors.Join(last, logTail(process)))
	}

	return nil
}

// logTail is what the log of a process ends with while it runs; a failure has it
// already.
func logTail(process *ccm.CCM) error {
	select {
	case <-process.Ended():
		return nil
	default:
	}

	return fmt.Errorf("the log of %s ends with:\n%s", ccm.Name, process.Tail())
}

// AwaitInitialized waits until the nodes of all these machines are initialized and
// have what their machines have. The taint goes a moment before the addresses come.
func (s *Environment) AwaitInitialized(ctx context.Context, process *ccm.CCM, machines []Machine) error {
	rest := machines

	return s.Await(ctx, process, func(nodes Nodes) error {
		for ; len(rest) > 0; rest = rest[1:] {
			if err := rest[0].initialized(nodes); err != nil {
				return err
			}
		}

		return nil
	})
}

func (m Machine) initialized(nodes Nodes) error {
	switch node := nodes[m.Node.Name]; {
	case node == nil:
		return fmt.Errorf("node %s is not there", m.Node.Name)
	case uninitialized(node):
		return fmt.Errorf("node %s is not initialized", m.Node.Name)
	default:
		return errors.Join(m.Check(node), controlplane.CheckComplete(node))
	}
}

// uninitialized reports whether a node still waits for its cloud.
func uninitialized(node *v1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(taint v1.Taint) bool {
		return taint.Key == cloudproviderapi.TaintExternalCloudProvider
	})
}

// Passes returns how many times a process has looked at all nodes that are not
// ready.
func (s *Environment) Passes(ctx context.Context, process *ccm.CCM) (int, error) {
	return s.Metric(ctx, process, passes)
}

// AwaitPasses returns when a process has looked n times more, from beginning to
// end.
func (s *Environment) AwaitPasses(ctx context.Context, process *ccm.CCM, n int) error {
	ctx, cancel := process.WhileRunning(ctx)
	defer cancel()
	before, err := s.Passes(ctx, process)
	if err != nil {
		return err
	}
	for now := before; now < before+n+1; { // the first one may have begun before
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %d passes over the nodes: %w: saw %d", n, context.Cause(ctx), now-before)
		case <-time.After(metricPeriod):
		}
		if now, err = s.Passes(ctx, process); err != nil {
			return err
		}
	}

	return nil
}

// Metric adds up the samples of a metric that have all labels, each written as
// name="value".
func (s *Environment) Metric(ctx context.Context, process *ccm.CCM, name string, labels ...string) (int, error) {
	page, err := process.Get(ctx, s.ControlPlane.RESTConfig(), "/metrics")
	if err != nil {
		return 0, fmt.Errorf("read metric %s: %w", name, err)
	}

	return sumSamples(page, name, labels)
}

func sumSamples(page, name string, labels []string) (int, error) {
	var total float64
	lines := bufio.NewScanner(strings.NewReader(page))
	for lines.Scan() {
		sample, value, ok := strings.Cut(lines.Text(), " ")
		series, _, _ := strings.Cut(sample, "{")
		if !ok || series != name || !containsAll(sample, labels) {
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, fmt.Errorf("read metric %s: %w", name, err)
		}
		total += number
	}

	return int(total), lines.Err()
}

func containsAll(text string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}

	return true
}
