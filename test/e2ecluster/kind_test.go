//go:build e2ecluster

package e2ecluster

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/multicloud-ccm/multicloud-ccm/test/inventory"
)

// testKind changes the kind of the workload by an upgrade, and back. Its Pods have the same port of the
// host, so that the new one waits for the old one to end.
func (c *cluster) testKind(t *testing.T) {
	c.release.settle(t)
	before := c.state(t)
	for _, kind := range []string{"Deployment", "DaemonSet"} {
		old, began := c.leader(t), time.Now()
		c.release.apply(t, c.values, "provider=vsphere", "kind="+kind, "replicas=1")
		pod := c.release.awaitLeader(t, c.release.awaitPod(t))
		c.measure(t, "helm upgrade to a "+kind+" until its Pod leads", began)
		o := c.election.next(t, old)
		c.figure(t, "the Pod of the "+kind+" leads", o.String())
		if owner := pod.OwnerReferences[0].Kind; (owner == "DaemonSet") != (kind == "DaemonSet") {
			t.Errorf("the Pod belongs to a %s", owner)
		}
		if !o.released {
			t.Error("the Lease was not released")
		}
		c.wantState(t, before)
	}
	c.join(t, "vsphere")
}

// testUninstall uninstalls the release, twice. Helm deletes the permissions at once, while the Pod still
// ends, which then cannot release its Lease; without the workload, nothing is in the way.
func (c *cluster) testUninstall(t *testing.T) {
	pod := c.release.settle(t)
	before, old := c.state(t), c.leader(t)
	last, err := c.client.CoreV1().Pods(system).GetLogs(pod.Name, &v1.PodLogOptions{Follow: true}).Stream(within(t, podPatience))
	if err != nil {
		t.Fatal(err)
	}
	c.release.uninstall(t)
	c.release.gone(t)
	c.explain(t, last)
	c.wantNoted(t)
	c.wantState(t, before)
	began := time.Now()
	c.release.settle(t)
	c.measure(t, "helm install after helm uninstall until its Pod leads", began)
	c.figure(t, "the Pod leads after helm uninstall", c.election.after(t, old).String())

	old = c.leader(t)
	c.release.deleteWorkload(t)
	if holder, err := c.election.leader(); err == nil {
		t.Errorf("the Lease is not released, but held by %s", holder)
	}
	c.release.uninstall(t)
	began = time.Now()
	c.release.settle(t)
	c.measure(t, "helm install after the workload was deleted first until its Pod leads", began)
	if o := c.election.after(t, old); !o.released {
		t.Error("the Lease was not released")
	}
	c.wantState(t, before)
	c.release.uninstall(t)
	c.release.gone(t)
	c.wantNoted(t)
	c.wantState(t, before)
}

// explain prints what the last lines of a process say about the Lease.
func (c *cluster) explain(t *testing.T, log io.ReadCloser) {
	t.Helper()
	text, err := io.ReadAll(log)
	if err := errors.Join(err, log.Close()); err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(string(text)) {
		if low := strings.ToLower(line); strings.Contains(low, "release lease") || strings.Contains(low, "lease released") {
			t.Logf("the process that has ended: %s", line)
		}
	}
}

// deleteWorkload deletes the DaemonSet as kubectl delete --cascade=foreground does: it is there until its
// Pods have ended.
func (r *release) deleteWorkload(t *testing.T) {
	t.Helper()
	daemons := r.client.AppsV1().DaemonSets(system)
	if err := daemons.Delete(t.Context(), r.workload(), metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)}); err != nil {
		t.Fatal(err)
	}
	await(t, podPatience, "the DaemonSet to be deleted", func(ctx context.Context) error {
		_, err := daemons.Get(ctx, r.workload(), metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err == nil:
			return errors.New("it is there")
		}

		return err
	})
}

// wantNoted waits until nothing is left but what the notes of the chart name.
func (c *cluster) wantNoted(t *testing.T) {
	t.Helper()
	await(t, patience, "the objects of the release to be deleted", func(ctx context.Context) error {
		now, err := inventory.List(ctx, c.config)
		if err != nil {
			return err
		}
		if left := inventory.Unnoted(c.release.notes, now.Since(c.before)); len(left) > 0 {
			return errors.New(strings.Join(left, "\n"))
		}

		return nil
	})
}
