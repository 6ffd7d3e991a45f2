//go:build e2ecluster

package e2ecluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// observation is how long a node stays not ready: the controller checks such Nodes every five
// seconds.
const observation = 30 * time.Second

// testNotReady stops the kubelet. Its Node stays, since its machine exists, and keeps everything when
// the kubelet has come back; the Pod of the controller has run all the time.
func (c *cluster) testNotReady(t *testing.T) {
	stop, start := required(t, stopVariable), required(t, startVariable)
	pod := c.release.settle(t)
	before, leader := c.state(t), c.leader(t)

	began := time.Now()
	if err := execute(within(t, patience), stop, c.node); err != nil {
		t.Fatal(err)
	}
	back := false
	t.Cleanup(func() {
		if !back {
			closed(t, execute(within(t, patience), start, c.node))
		}
	})
	c.awaitReady(t, false)
	c.measure(t, "stopped kubelet until the Node is not ready", began)
	for end := time.Now().Add(observation); time.Now().Before(end); time.Sleep(time.Second) {
		if now := c.state(t); now.UID != before.UID || now.ProviderID != before.ProviderID {
			t.Fatalf("the Node has changed: %+v", now)
		}
	}
	began = time.Now()
	if err := execute(within(t, patience), start, c.node); err != nil {
		t.Fatal(err)
	}
	back = true
	c.awaitReady(t, true)
	c.measure(t, "started kubelet until the Node is ready and has no taint", began)
	c.wantState(t, before)
	c.release.awaitPod(t)
	if count, _, err := c.restarts(t.Context(), pod); err != nil || count != 0 || c.leader(t) != leader {
		t.Errorf("the Pod was restarted %d times, or does not lead: %v", count, err)
	}
	c.join(t, "vsphere")
}

// awaitReady waits until the Node is ready, without a taint, or is not ready.
func (c *cluster) awaitReady(t *testing.T, want bool) {
	t.Helper()
	await(t, podPatience, fmt.Sprintf("node %s to be ready: %v", c.node, want), func(ctx context.Context) error {
		node, err := c.client.CoreV1().Nodes().Get(ctx, c.node, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == v1.NodeReady && (condition.Status == v1.ConditionTrue) == want && (len(node.Spec.Taints) == 0 || !want) {
				return nil
			}
		}

		return errors.New("it is as before")
	})
}
