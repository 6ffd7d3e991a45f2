package scenario

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
)

const (
	// logPeriod is how often a log is read again.
	logPeriod = 200 * time.Millisecond
	// idlePeriod is how long there is no call once some work is over.
	idlePeriod = 2 * time.Second
)

// What the framework logs, in every controller of it, about work that is done.
const (
	updatedAll = "nodes status took"
	ensured    = `reason="EnsuredLoadBalancer"`
)

// Wait lets time pass.
func Wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// AwaitIdle waits until a process makes no more calls.
func (s *Environment) AwaitIdle(ctx context.Context, process *ccm.CCM) error {
	for last := -1; ; {
		now := s.Cloud.Calls().Total()
		if now == last {
			return nil
		}
		last = now
		select {
		case <-process.Ended():
			return process.Failure()
		case <-ctx.Done():
			return fmt.Errorf("wait for no more calls: %w, the last were %s", context.Cause(ctx), s.Cloud.Calls())
		case <-time.After(idlePeriod):
		}
	}
}

// Updates counts how many times a process has updated all nodes. Only its log
// tells.
func Updates(process *ccm.CCM) (int, error) {
	log, err := process.Log()

	return strings.Count(log, updatedAll), err
}

// AwaitUpdates waits until all nodes have been updated n times in all.
func AwaitUpdates(ctx context.Context, process *ccm.CCM, n int) error {
	return awaitLog(ctx, process, updatedAll, n)
}

// AwaitEnsured returns when a process has synced n Services and makes no more calls.
func (s *Environment) AwaitEnsured(ctx context.Context, process *ccm.CCM, n int) error {
	return errors.Join(awaitLog(ctx, process, ensured, n), s.AwaitIdle(ctx, process))
}

// awaitLog waits until the log of a process has a text n times.
func awaitLog(ctx context.Context, process *ccm.CCM, text string, n int) error {
	for {
		log, err := process.Log()
		if err != nil || strings.Count(log, text) >= n {
			return err
		}
		select {
		case <-process.Ended():
			return process.Failure()
		case <-ctx.Done():
			return fmt.Errorf("wait for %q %d times in the log: %w, it ends with:\n%s", text, n, context.Cause(ctx), process.Tail())
		case <-time.After(logPeriod):
		}
	}
}

// SetReady makes the nodes of machines look as if their kubelets had stopped, or run
// again.
func (s *Environment) SetReady(ctx context.Context, machines []Machine, status v1.ConditionStatus) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, m := range machines {
		group.Go(func() error { return controlplane.SetReady(ctx, s.ControlPlane.Client(), m.Node.Name, status) })
	}

	return group.Wait()
}

// CountNodes returns an error if there are not so many nodes.
func (s *Environment) CountNodes(ctx context.Context, want int) error {
	list, err := s.ControlPlane.Client().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	if len(list.Items) != want {
		return fmt.Errorf("%d of %d nodes are left although all their machines exist", len(list.Items), want)
	}

	return nil
}

// DeleteNodes deletes the nodes of machines.
func (s *Environment) DeleteNodes(ctx context.Context, machines []Machine) error {
	var errs []error
	for _, m := range machines {
		errs = append(errs, s.ControlPlane.Client().CoreV1().Nodes().Delete(ctx, m.Node.Name, metav1.DeleteOptions{}))
	}

	return errors.Join(errs...)
}
