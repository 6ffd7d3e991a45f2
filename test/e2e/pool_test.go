package e2e

import (
	"context"
	"errors"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// serverLabel is on the Lease of an API server.
const serverLabel = "apiserver.kubernetes.io/identity"

// clusters is shared by all tests; TestMain stops what it holds at the end.
var clusters pool

// pool holds clusters that run and that no test uses. Starting a control plane
// takes as much CPU time as most tests.
type pool struct {
	mu   sync.Mutex
	idle []*cluster
}

// take returns an idle cluster, or nil if there is none.
func (p *pool) take() *cluster {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	last := len(p.idle) - 1
	c := p.idle[last]
	p.idle = p.idle[:last]

	return c
}

// put returns a cluster after a test. A cluster of which the test changed more
// than reset removes is stopped.
func (p *pool) put(c *cluster, failed bool) error {
	ctx, cancel := ending()
	defer cancel()
	if failed || c.changed {
		return c.Stop(ctx)
	}
	if err := c.reset(ctx); err != nil {
		return errors.Join(fmt.Errorf("reset cluster: %w", err), c.Stop(ctx))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, &cluster{ControlPlane: c.ControlPlane, kubeconfig: c.kubeconfig, granted: c.granted})

	return nil
}

// stop stops all idle clusters.
func (p *pool) stop() error {
	ctx, cancel := ending()
	defer cancel()
	var errs []error
	for c := p.take(); c != nil; c = p.take() {
		errs = append(errs, c.Stop(ctx))
	}

	return errors.Join(errs...)
}

// reset deletes what a test and its processes leave behind: Nodes, Events, Leases,
// credentials and the accounts of controllers. It is an error if a Service is left: the test must delete it while
// a process runs that removes its finalizer.
func (c *cluster) reset(ctx context.Context) error {
	core := c.Client().CoreV1()
	errs := []error{core.Nodes().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})}
	for _, namespace := range []string{v1.NamespaceDefault, systemNamespace} {
		errs = append(errs, core.Events(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
	}
	errs = append(errs,
		c.Client().CoordinationV1().Leases(systemNamespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "!" + serverLabel}),
		core.Secrets(secretNamespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}),
		core.ServiceAccounts(systemNamespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "metadata.name!=" + account}))
	if err := errors.Join(errs...); err != nil {
		return err
	}

	return c.awaitReset(ctx)
}

// awaitReset waits until the watch cache of the API server, which informers
// list from, has no object of the test.
func (c *cluster) awaitReset(ctx context.Context) error {
	core := c.Client().CoreV1()
	cached := metav1.ListOptions{ResourceVersion: "0"}
	var last error
	err := wait.PollUntilContextCancel(ctx, period, true, func(ctx context.Context) (bool, error) {
		nodes, err := core.Nodes().List(ctx, cached)
		if err != nil {
			return false, err
		}
		services, err := core.Services(v1.NamespaceAll).List(ctx, cached)
		if err != nil {
			return false, err
		}
		left := len(services.Items)
		for _, service := range services.Items {
			if service.Name == "kubernetes" {
				left--
			}
		}
		last = fmt.Errorf("%d nodes and %d services are left", len(nodes.Items), left)

		return len(nodes.Items)+left == 0, nil
	})
	if err != nil {
		return errors.Join(err, last)
	}

	return nil
}
