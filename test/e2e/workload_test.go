package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// workload runs the Pods of a DaemonSet, one on each host, as its controller does: a Pod of
// an old template is replaced, the old one ends before the new one starts, and the next host has
// its turn only when that works.
type workload struct {
	namespace, name string
	hosts           []*host
	pods            map[*host]*pod
}

func (c *cluster) runDaemonSet(t *testing.T, namespace, name string, hosts ...*host) *workload {
	t.Helper()
	w := &workload{namespace: namespace, name: name, hosts: hosts, pods: map[*host]*pod{}}
	w.rollOut(t)

	return w
}

// fingerprint is the same for equal templates.
func fingerprint(t *testing.T, template v1.PodTemplateSpec) string {
	t.Helper()
	text, err := json.Marshal(template)
	if err != nil {
		t.Fatal(err)
	}

	return string(text)
}

func (w *workload) daemonSet(t *testing.T) *appsv1.DaemonSet {
	t.Helper()
	set, err := w.hosts[0].Client().AppsV1().DaemonSets(w.namespace).Get(t.Context(), w.name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	update := set.Spec.UpdateStrategy
	if update.Type != appsv1.RollingUpdateDaemonSetStrategyType || update.RollingUpdate.MaxUnavailable.IntValue() != 1 || update.RollingUpdate.MaxSurge.IntValue() != 0 {
		t.Fatalf("Pods are not replaced one after the other: %+v", update)
	}

	return set
}

// try replaces Pods of old templates until one does not start. It returns that one, nil if all start.
func (w *workload) try(t *testing.T) *pod {
	t.Helper()
	template := w.daemonSet(t).Spec.Template
	for _, h := range w.hosts {
		old := w.pods[h]
		if old != nil && old.template == fingerprint(t, template) {
			old.wantRunning(t)

			continue
		}
		if old != nil {
			old.stop(t)
		}
		w.pods[h] = h.start(t, w.namespace, template)
		if !w.pods[h].awaitStarted(t) {
			return w.pods[h]
		}
	}

	return nil
}

// rollOut replaces all Pods of old templates.
func (w *workload) rollOut(t *testing.T) {
	t.Helper()
	if failed := w.try(t); failed != nil {
		t.Fatal(failed.process.Failure())
	}
}

// finish ends the Pods of a workload that has been deleted, together with its permissions: the lease
// of the leader is not released then.
func (w *workload) finish(t *testing.T) {
	t.Helper()
	_, err := w.hosts[0].Client().AppsV1().DaemonSets(w.namespace).Get(t.Context(), w.name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Fatalf("the DaemonSet %s is still there: %v", w.name, err)
	}
	for _, h := range w.hosts {
		w.pods[h].unauthorized = true
		w.pods[h].stop(t)
	}
}

// leader waits for a Pod of the workload to lead, and returns it.
func (w *workload) leader(t *testing.T) *pod {
	t.Helper()
	var leader *pod
	await(t, "a leader of "+w.name, func(context.Context) error {
		for _, h := range w.hosts {
			if leader = w.pods[h]; leader.process.Failure() == nil && leader.leads(t) {
				return nil
			}
		}

		return errors.New("there is none")
	})

	return leader
}
