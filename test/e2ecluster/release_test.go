//go:build e2ecluster

package e2ecluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
	"github.com/multicloud-ccm/multicloud-ccm/test/helm"
)

// release is a release of the chart.
type release struct {
	*cluster

	helm helm.Installation
	// notes are those of all revisions, and there reports whether it is installed.
	notes string
	there bool
}

// newRelease returns a release that is not installed. It is uninstalled when the test has ended.
func (c *cluster) newRelease(t *testing.T, name, program string) *release {
	t.Helper()
	chart, err := helm.Path()
	if err != nil {
		t.Fatal(err)
	}
	r := &release{cluster: c, helm: helm.Installation{
		Program: program, Name: name, Namespace: system, Chart: chart, Kubeconfig: c.kubeconfig, Home: t.TempDir(),
	}}
	t.Cleanup(func() { r.end(t) })

	return r
}

// end uninstalls what a test has left, and waits until its Pods have ended.
func (r *release) end(t *testing.T) {
	t.Helper()
	if !r.there {
		return
	}
	ctx := within(t, patience)
	closed(t, r.helm.Uninstall(ctx))
	closed(t, wait.PollUntilContextCancel(ctx, period, true, func(ctx context.Context) (bool, error) {
		pods, err := r.pods(ctx)

		return len(pods) == 0, err
	}))
}

// apply installs or upgrades the release. set has arguments of --set.
func (r *release) apply(t *testing.T, values map[string]any, set ...string) {
	t.Helper()
	do := r.helm.Install
	if r.there {
		do = r.helm.Upgrade
	}
	notes, err := do(within(t, patience), values, set...)
	if err != nil {
		t.Fatal(err)
	}
	r.there = true
	r.notes += notes
}

// settle installs or upgrades the release to the node's provider and the kind DaemonSet, and waits
// for a leader that runs.
func (r *release) settle(t *testing.T) *v1.Pod {
	t.Helper()
	r.apply(t, r.values, "provider=vsphere")

	return r.awaitLeader(t, r.awaitPod(t))
}

func (r *release) uninstall(t *testing.T) {
	t.Helper()
	if err := r.helm.Uninstall(within(t, patience)); err != nil {
		t.Fatal(err)
	}
	r.there = false
}

// revision is the number of the deployed revision.
func (r *release) revision(t *testing.T) int {
	t.Helper()
	list, err := r.client.CoreV1().Secrets(system).List(t.Context(), metav1.ListOptions{
		LabelSelector: "owner=helm,status=deployed,name=" + r.helm.Name,
	})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%d revisions of %s are deployed: %v", len(list.Items), r.helm.Name, err)
	}
	number, err := strconv.Atoi(list.Items[0].Labels["version"])
	if err != nil {
		t.Fatal(err)
	}

	return number
}

// pods are those of the workload.
func (r *release) pods(ctx context.Context) ([]v1.Pod, error) {
	list, err := r.client.CoreV1().Pods(system).List(ctx, metav1.ListOptions{
		LabelSelector: "app.kubernetes.io/name=" + ccm.Name + ",app.kubernetes.io/instance=" + r.helm.Name,
	})
	if err != nil {
		return nil, err
	}

	return list.Items, nil
}

// workload is the name of the DaemonSet or Deployment.
func (r *release) workload() string { return r.helm.Name + "-" + ccm.Name }

// rolledOut returns an error if there is not one workload whose rollout has ended.
func (r *release) rolledOut(ctx context.Context) error {
	name := r.workload()
	daemons, err := r.client.AppsV1().DaemonSets(system).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		return err
	}
	for i := range daemons.Items {
		d := &daemons.Items[i]
		if s := d.Status; s.ObservedGeneration != d.Generation || s.UpdatedNumberScheduled != 1 || s.NumberAvailable != 1 {
			return fmt.Errorf("the DaemonSet has the status %+v", s)
		}
	}
	deployments, err := r.client.AppsV1().Deployments(system).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		return err
	}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		if s := d.Status; s.ObservedGeneration != d.Generation || s.UpdatedReplicas != 1 || s.AvailableReplicas != 1 || s.Replicas != 1 {
			return fmt.Errorf("the Deployment has the status %+v", s)
		}
	}
	if workloads := len(daemons.Items) + len(deployments.Items); workloads != 1 {
		return fmt.Errorf("there are %d workloads", workloads)
	}

	return nil
}

// awaitPod waits until the workload is rolled out and has one Pod, which runs.
func (r *release) awaitPod(t *testing.T) *v1.Pod {
	t.Helper()
	var pod v1.Pod
	await(t, podPatience, "the Pod of "+r.helm.Name, func(ctx context.Context) error {
		if err := r.rolledOut(ctx); err != nil {
			return err
		}
		pods, err := r.pods(ctx)
		if err != nil {
			return err
		}
		if len(pods) != 1 {
			return fmt.Errorf("there are %d", len(pods))
		}
		pod = pods[0]
		if !ready(&pod) {
			return fmt.Errorf("its status is %+v", pod.Status)
		}

		return nil
	})

	return &pod
}

// ready reports whether the container of a Pod has started by its probe.
func ready(pod *v1.Pod) bool {
	return pod.DeletionTimestamp == nil && len(pod.Status.ContainerStatuses) == 1 && pod.Status.ContainerStatuses[0].Ready
}

// awaitLeader waits until the container of a Pod is the leader, and returns the Pod.
func (r *release) awaitLeader(t *testing.T, pod *v1.Pod) *v1.Pod {
	t.Helper()
	await(t, leaderPatience, "Pod "+pod.Name+" to lead", func(ctx context.Context) error { return r.leads(ctx, pod) })

	return pod
}

// leads returns an error if the container of a Pod has not become the leader since it was started.
func (c *cluster) leads(ctx context.Context, pod *v1.Pod) error {
	log, err := c.log(ctx, pod.Name)
	if err == nil && !strings.Contains(strings.ToLower(log), "successfully acquired lease") {
		err = errNoLeader
	}

	return err
}

// log is that of the running container.
func (c *cluster) log(ctx context.Context, pod string) (string, error) {
	stream, err := c.client.CoreV1().Pods(system).GetLogs(pod, &v1.PodLogOptions{}).Stream(ctx)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(stream)

	return string(text), errors.Join(err, stream.Close())
}

// gone waits until no Pod of the release is left.
func (r *release) gone(t *testing.T) {
	t.Helper()
	await(t, podPatience, "the Pods of "+r.helm.Name+" to end", func(ctx context.Context) error {
		pods, err := r.pods(ctx)
		if err == nil && len(pods) > 0 {
			err = fmt.Errorf("there are %d", len(pods))
		}

		return err
	})
}

// restarts is how often the container of a Pod was started again since the Pod was read, and its last
// exit code.
func (c *cluster) restarts(ctx context.Context, pod *v1.Pod) (count int32, code int32, err error) {
	found, err := c.client.CoreV1().Pods(system).Get(ctx, pod.Name, metav1.GetOptions{})
	if err != nil {
		return 0, 0, err
	}
	if found.UID != pod.UID || len(found.Status.ContainerStatuses) != 1 {
		return 0, 0, fmt.Errorf("it has been replaced: %+v", found.Status)
	}
	status := found.Status.ContainerStatuses[0]
	if last := status.LastTerminationState.Terminated; last != nil {
		code = last.ExitCode
	}

	return status.RestartCount - pod.Status.ContainerStatuses[0].RestartCount, code, nil
}

// without returns values without some of them.
func without(values map[string]any, keys ...string) map[string]any {
	rest := maps.Clone(values)
	maps.DeleteFunc(rest, func(key string, _ any) bool { return slices.Contains(keys, key) })

	return rest
}
