//go:build e2ecluster

package e2ecluster

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// testImage installs the chart: the kubelet runs the image as its Pod, confined as the chart says,
// with the cloud-config of its Secret and the API server that it finds in the cluster. The Pod
// initializes the node that it runs on.
func (c *cluster) testImage(t *testing.T) {
	began := time.Now()
	c.release.apply(t, c.values, "provider=vsphere")
	c.initialized(t, c.node)
	c.measure(t, "helm install until the taint of the node is gone", began)
	pod := c.release.awaitPod(t)
	c.measure(t, "helm install until the startup probe has succeeded", began)
	c.release.awaitLeader(t, pod)

	s := c.state(t)
	internal := v1.NodeAddress{Type: v1.NodeInternalIP, Address: required(t, addressVariable)}
	if !strings.HasPrefix(s.ProviderID, "vsphere://") || !slices.Contains(s.Addresses, internal) || len(s.Taints) > 0 {
		t.Errorf("node %s is not initialized: %+v", c.node, s)
	}
	wantConfined(t, processOf(t, pod))
	c.wantPod(t, pod)
	log, err := c.log(within(t, patience), pod.Name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(log) {
		if low := strings.ToLower(line); strings.Contains(low, "forbidden") || strings.Contains(low, "panic") {
			t.Errorf("the log has: %s", line)
		}
	}

	began = time.Now()
	if _, err := c.release.helm.Run(within(t, podPatience), nil, "test", c.release.helm.Name); err != nil {
		t.Error(err)
	}
	c.measure(t, "helm test", began)
}

// wantPod checks what a Pod of the release is.
func (c *cluster) wantPod(t *testing.T, pod *v1.Pod) {
	t.Helper()
	container, status := pod.Spec.Containers[0], pod.Status.ContainerStatuses[0]
	image := c.values["image"].(map[string]any)
	if want := image["registry"].(string) + "/" + image["repository"].(string) + ":" + image["tag"].(string); container.Image != want {
		t.Errorf("the image is %s, want %s", container.Image, want)
	}
	if !pod.Spec.HostNetwork || pod.Spec.NodeName != c.node || status.RestartCount != 0 || status.Started == nil || !*status.Started {
		t.Errorf("the Pod is not one of the host network, or was restarted: %+v", pod.Status)
	}
	for _, argument := range container.Args {
		if strings.HasPrefix(argument, "--kubeconfig") {
			t.Errorf("the argument %s names another cluster than that of the Pod", argument)
		}
	}
	if container.StartupProbe == nil || container.LivenessProbe == nil {
		t.Errorf("the container lacks a probe: %+v", container)
	}
	volume := slices.IndexFunc(pod.Spec.Volumes, func(v v1.Volume) bool { return v.Secret != nil && v.Name == "cloud-config" })
	if volume < 0 {
		t.Fatalf("the Pod has no volume of a Secret: %+v", pod.Spec.Volumes)
	}
	if _, err := c.client.CoreV1().Secrets(system).Get(t.Context(), pod.Spec.Volumes[volume].Secret.SecretName, metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}
