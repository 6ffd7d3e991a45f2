package e2e

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
	"github.com/multicloud-ccm/multicloud-ccm/test/helm"
)

// Without the network of the host, the Pods meet the strictest standard of Pod Security,
// whatever the provider; with it they are privileged.
func TestChartPodSecurity(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	for _, level := range []string{"restricted", "baseline", "privileged"} {
		c.makeNamespace(t, level, "pod-security.kubernetes.io/enforce: "+level)
		if _, err := c.ServiceAccountKubeconfig(t.Context(), level, account); err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]struct {
		reason    string
		set       []string
		namespace string
		refused   string
	}{
		"DaemonSet":   {reason: "no field asks for more", set: []string{"hostNetwork=false"}, namespace: "restricted"},
		"Deployment":  {reason: "no field asks for more", set: []string{"hostNetwork=false", "kind=Deployment"}, namespace: "restricted"},
		"Metrics":     {reason: "no port of the host is used", set: []string{"hostNetwork=false", "metrics.enabled=true"}, namespace: "restricted"},
		"HostNetwork": {reason: "the documentation has it", namespace: "baseline", refused: "hostNetwork"},
		"Privileged":  {reason: "the documentation has it", namespace: "privileged"},
	}
	for _, provider := range []string{"aws", "openstack", "vsphere"} {
		for name, tc := range cases {
			t.Run(provider+name, func(t *testing.T) {
				set := append([]string{"provider=" + provider, "cloudConfig.existingSecret.name=cloud-config"}, tc.set...)
				manifest, err := helm.Release{Program: helm.Four, Namespace: tc.namespace, Set: set}.Template(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, pod := range podsOf(t, manifest) {
					_, err := c.Client().CoreV1().Pods(tc.namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
					host := tc.refused != "" && pod.Spec.HostNetwork
					if host != apierrors.IsForbidden(err) || host && !strings.Contains(err.Error(), tc.refused) || !host && err != nil {
						t.Errorf("%s: Pod %s in namespace %s: %v", tc.reason, pod.Name, tc.namespace, err)
					}
				}
			})
		}
	}
}

// podsOf returns the Pods of a manifest: those of the workload and of the hook, as their
// controllers make them, and that of the test.
func podsOf(t *testing.T, manifest []byte) []*v1.Pod {
	t.Helper()
	objects, err := controlplane.Parse(manifest)
	if err != nil {
		t.Fatal(err)
	}
	var pods []*v1.Pod
	for _, object := range objects {
		content := object.Object
		switch object.GetKind() {
		case "DaemonSet", "Deployment", "Job":
			content = content["spec"].(map[string]any)["template"].(map[string]any)
		case "Pod":
		default:
			continue
		}
		pod := &v1.Pod{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, pod); err != nil {
			t.Fatal(err)
		}
		pod.Name = object.GetName()
		pods = append(pods, pod)
	}
	if len(pods) != 3 {
		t.Fatalf("there are %d Pods, want those of the workload, of the hook and of the test", len(pods))
	}

	return pods
}
