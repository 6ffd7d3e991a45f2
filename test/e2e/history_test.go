package e2e

import (
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// history is what has happened to Nodes and the lease of the leader.
type history struct {
	nodes map[string]nodeState // at the beginning

	stop func()
	done sync.WaitGroup

	mu     sync.Mutex
	ended  bool
	events int
	faults []string
	lease  *coordinationv1.Lease
}

// follow notes each change of Nodes and of the lease.
func (c *cluster) follow(t *testing.T) *history {
	t.Helper()
	h := &history{nodes: map[string]nodeState{}}
	list, err := c.Client().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range list.Items {
		h.nodes[node.Name] = stateOf(&node)
	}
	nodes, err := c.Client().CoreV1().Nodes().Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	leases, err := c.Client().CoordinationV1().Leases(systemNamespace).Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + leaseName})
	if err != nil {
		nodes.Stop()
		t.Fatal(err)
	}
	h.done.Go(func() { h.read(nodes) })
	h.done.Go(func() { h.read(leases) })
	h.stop = sync.OnceFunc(func() {
		h.mu.Lock()
		h.ended = true
		h.mu.Unlock()
		nodes.Stop()
		leases.Stop()
		h.done.Wait()
	})
	t.Cleanup(h.stop)

	return h
}

func (h *history) read(source watch.Interface) {
	for event := range source.ResultChan() {
		h.mu.Lock()
		h.events++
		switch object := event.Object.(type) {
		case *v1.Node:
			h.noteNode(event.Type, object)
		case *coordinationv1.Lease:
			h.noteLease(event.Type, object)
		default:
			if h.ended {
				break // it is stopped
			}
			h.fault("the watch has failed: %v", event.Object)
		}
		h.mu.Unlock()
	}
}

func (h *history) fault(format string, args ...any) {
	h.faults = append(h.faults, fmt.Sprintf(format, args...))
}

// noteNode compares a Node with what it was: a controller that starts leaves it as it is.
func (h *history) noteNode(kind watch.EventType, node *v1.Node) {
	before, now := h.nodes[node.Name], stateOf(node)
	kept := maps.Clone(now.Labels)
	maps.DeleteFunc(kept, func(key, value string) bool { return before.Labels[key] != value })
	switch {
	case kind == watch.Deleted:
		h.fault("node %s was deleted", node.Name)
	case now.has(uninitialized):
		h.fault("node %s has the taint", node.Name)
	case len(kept) != len(before.Labels):
		h.fault("node %s has the labels %v, it had %v", node.Name, now.Labels, before.Labels)
	case now.ProviderID != before.ProviderID:
		h.fault("node %s has the provider ID %s, it had %s", node.Name, now.ProviderID, before.ProviderID)
	case len(now.Addresses) < len(before.Addresses):
		h.fault("node %s has the addresses %v, it had %v", node.Name, now.Addresses, before.Addresses)
	}
}

// noteLease checks that a holder follows another only when that one has released the lease or has
// not renewed it for as long as it is valid.
func (h *history) noteLease(kind watch.EventType, lease *coordinationv1.Lease) {
	before := h.lease
	h.lease = lease
	if kind == watch.Deleted {
		h.fault("the lease was deleted")
	}
	if before == nil || before.Spec.HolderIdentity == nil || *before.Spec.HolderIdentity == "" || lease.Spec.HolderIdentity == nil ||
		*lease.Spec.HolderIdentity == "" || *lease.Spec.HolderIdentity == *before.Spec.HolderIdentity {
		return
	}
	valid := time.Duration(*before.Spec.LeaseDurationSeconds) * time.Second
	if pause := lease.Spec.AcquireTime.Sub(before.Spec.RenewTime.Time); pause < valid {
		h.fault("the lease of %s was taken by %s after %v", *before.Spec.HolderIdentity, *lease.Spec.HolderIdentity, pause)
	}
}

// check ends the history and reports what should not have happened.
func (h *history) check(t *testing.T) {
	t.Helper()
	h.stop()
	if h.events == 0 || h.lease == nil {
		t.Errorf("%d events were noted, the lease is %v", h.events, h.lease)
	}
	for _, fault := range h.faults {
		t.Error(fault)
	}
}
