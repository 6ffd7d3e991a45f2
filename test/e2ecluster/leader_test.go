//go:build e2ecluster

package e2ecluster

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/test/helm"
)

// pair is the release and a second one for the same Lease, of which one has the leader and the other one a
// standby. Both are on the network of the one node, and so have ports of their own.
type pair [2]*release

// startPair adds the second release, by the other release of Helm. It is uninstalled when the test has
// ended. set has arguments of --set for the first one.
func (c *cluster) startPair(t *testing.T, set ...string) pair {
	t.Helper()
	c.release.apply(t, c.values, append([]string{"provider=vsphere"}, set...)...)
	c.release.awaitPod(t)
	p := pair{c.release, c.newRelease(t, "standby", helm.Three)}
	p[1].apply(t, c.values, "provider=vsphere", "kind=Deployment", "replicas=1", "securePort=10268")
	p[1].awaitPod(t)

	return p
}

// leading waits until the Pods of both releases run and one of them leads. It returns that one and the
// other.
func (p pair) leading(t *testing.T) (leader, standby *release, pod *v1.Pod) {
	t.Helper()
	pods := [2]*v1.Pod{p[0].awaitPod(t), p[1].awaitPod(t)}
	await(t, leaderPatience, "a Pod to lead", func(ctx context.Context) error {
		var all []error
		for i := range pods {
			err := p[i].leads(ctx, pods[i])
			if err == nil {
				leader, standby, pod = p[i], p[1-i], pods[i]

				return nil
			}
			all = append(all, err)
		}

		return errors.Join(all...)
	})

	return leader, standby, pod
}

// scale sets the replicas of a Deployment.
func (r *release) scale(t *testing.T, replicas int) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	_, err := r.client.AppsV1().Deployments(system).Patch(t.Context(), r.workload(), types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// testStopped ends the Pod of the leader without another one in its place, some times: the standby leads.
func (c *cluster) testStopped(t *testing.T) {
	p := c.startPair(t, "kind=Deployment", "replicas=1")
	before := c.state(t)
	for range 5 {
		leader, standby, _ := p.leading(t)
		old, began := c.leader(t), time.Now()
		leader.scale(t, 0)
		o := c.election.next(t, old)
		c.figure(t, "the leader's Pod is ended: the standby leads", o.String()+", "+round(o.began.Sub(began)).String()+" after the change")
		if !o.released {
			t.Error("the Lease was not released")
		}
		leader.gone(t)
		standby.awaitLeader(t, standby.awaitPod(t))
		leader.scale(t, 1)
		c.wantState(t, before)
	}
}

// testDeleted deletes the Pod of the leader, and then by force, which is a deletion of the API object; the
// kubelet still ends the process, with little time. The next leader is the standby, or the Pod that replaces
// the deleted one.
func (c *cluster) testDeleted(t *testing.T) {
	p := c.startPair(t)
	before := c.state(t)
	for _, what := range []string{"deleted", "deleted by force"} {
		var options metav1.DeleteOptions
		if what != "deleted" {
			options.GracePeriodSeconds = new(int64(0))
		}
		_, _, pod := p.leading(t)
		old, began := c.leader(t), time.Now()
		if err := c.client.CoreV1().Pods(system).Delete(t.Context(), pod.Name, options); err != nil {
			t.Fatal(err)
		}
		o := c.election.next(t, old)
		c.figure(t, "the leader's Pod is "+what+": the next one leads", o.String()+", "+round(o.began.Sub(began)).String()+" after the deletion")
		if !o.released && options.GracePeriodSeconds == nil {
			t.Error("the Lease was not released")
		}
		began = time.Now()
		p.leading(t)
		c.measure(t, "until both Pods run again", began)
		c.wantState(t, before)
	}
}

// testKilled kills the process of the leader.
func (c *cluster) testKilled(t *testing.T) { c.testProcess(t, "killed", syscall.SIGKILL) }

// testFrozen stops the process of the leader, as a machine without processor time does: it has the liveness
// probe to end it.
func (c *cluster) testFrozen(t *testing.T) { c.testProcess(t, "stopped", syscall.SIGSTOP) }

// testProcess sends a signal to the process of the leader, which it cannot handle: the Lease expires and the
// next one leads, and the kubelet starts the container again.
func (c *cluster) testProcess(t *testing.T, what string, s syscall.Signal) {
	t.Helper()
	p := c.startPair(t)
	before := c.state(t)
	leader, _, pod := p.leading(t)
	old, began := c.leader(t), time.Now()
	c.signal(t, pod, s)
	leader.awaitRestart(t, pod)
	c.measure(t, "the leader's process is "+what+": its container is started again", began)
	o := c.election.next(t, old)
	c.figure(t, "the leader's process is "+what+": the next one leads", o.String())
	if o.released {
		t.Error("the Lease was released")
	}
	p.leading(t)
	c.wantState(t, before)
}

// signal sends a signal to the process of a Pod.
func (c *cluster) signal(t *testing.T, pod *v1.Pod, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(processOf(t, pod), s); err != nil {
		t.Fatal(err)
	}
}

// awaitRestart waits until the container of a Pod has been started again since the Pod was read.
func (c *cluster) awaitRestart(t *testing.T, pod *v1.Pod) {
	t.Helper()
	await(t, podPatience, "the container of "+pod.Name+" to be started again", func(ctx context.Context) error {
		count, _, err := c.restarts(ctx, pod)
		if err == nil && count == 0 {
			err = errors.New("it was not")
		}

		return err
	})
}
