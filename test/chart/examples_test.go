package chart

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/multicloud-ccm/multicloud-ccm/test/helm"
)

const examples = top + "/docs/examples"

// manifests runs `make manifests` and returns the path of the file.
func manifests(t *testing.T, dir, provider string, args ...string) string {
	t.Helper()
	args = append([]string{"-C", top, "--no-print-directory", "manifests", "PROVIDER=" + provider, "MANIFESTS=" + dir}, args...)
	if output, err := command(t, "make", args...).CombinedOutput(); err != nil {
		t.Fatalf("make manifests: %v:\n%s", err, output)
	}

	return filepath.Join(dir, provider+".yaml")
}

// Plain manifests conform, with values and without, and are what Helm installs.
func TestManifests(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var files []string
	for _, provider := range providers {
		files = append(files, manifests(t, dir, provider))
	}
	values, err := filepath.Abs(filepath.Join(top, helm.Chart, "ci", "openstack-values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	withValues := manifests(t, t.TempDir(), "openstack", "VALUES="+values)
	conform(t, append(files, withValues)...)
	text, err := os.ReadFile(withValues)
	if err != nil {
		t.Fatal(err)
	}
	installed := objects(t, render(t, values))
	maps.DeleteFunc(installed, func(_ string, object *unstructured.Unstructured) bool {
		return object.GetAnnotations()["helm.sh/hook"] != ""
	})
	want, got := slices.Sorted(maps.Keys(installed)), slices.Sorted(maps.Keys(objects(t, text)))
	if !slices.Equal(want, got) {
		t.Errorf("make manifests renders %q, Helm installs %q", got, want)
	}
}

// A Kustomize user sets the image and makes the Secret that the manifests name.
func TestKustomize(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(examples, "kustomize"))); err != nil {
		t.Fatal(err)
	}
	manifests(t, dir, "openstack")
	output, err := helm.Run(t.Context(), "kubectl", "", "kustomize", dir)
	if err != nil {
		t.Fatal(err)
	}
	all := objects(t, output)
	if all["Secret/kube-system/ccm-openstack"] == nil {
		t.Errorf("there is no Secret ccm-openstack: %q", slices.Sorted(maps.Keys(all)))
	}
	if !strings.Contains(string(output), "image: registry.example.com/multicloud-controller-manager:v0.1.0\n") ||
		!strings.Contains(string(output), "secretName: ccm-openstack\n") {
		t.Errorf("the workload has another image or Secret:\n%s", output)
	}
	conformText(t, output)
}

// The values in an Application of Argo CD and in a HelmRelease of Flux render, and both
// objects conform to their own schemas.
func TestGitOps(t *testing.T) {
	t.Parallel()
	for name, example := range map[string]struct {
		file, object string
		values       []string
		chart        []string
	}{
		"ArgoCD": {
			file: "argocd/application.yaml", object: "Application/argocd/multicloud-controller-manager",
			values: []string{"spec", "source", "helm", "valuesObject"}, chart: []string{"spec", "source", "path"},
		},
		"Flux": {
			file: "flux/release.yaml", object: "HelmRelease/kube-system/multicloud-controller-manager",
			values: []string{"spec", "values"}, chart: []string{"spec", "chart", "spec", "chart"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(examples, example.file)
			conform(t, path)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			object := objects(t, text)[example.object]
			if object == nil {
				t.Fatalf("%s has no %s", path, example.object)
			}
			if chart, _, _ := unstructured.NestedString(object.Object, example.chart...); chart != helm.Chart {
				t.Errorf("the chart is %q, want %q", chart, helm.Chart)
			}
			values, ok, err := unstructured.NestedMap(object.Object, example.values...)
			if !ok || err != nil {
				t.Fatalf("values: %v, %v", ok, err)
			}
			file, err := yaml.Marshal(values)
			if err != nil {
				t.Fatal(err)
			}
			for _, program := range programs {
				conformText(t, template(t, helm.Release{Program: program, Values: string(file)}))
			}
		})
	}
}

// A HelmRelease of Flux is rolled back if it fails, and its test is part of it. Flux does not remediate the
// last failure by default unless it retries
// (https://fluxcd.io/flux/components/helm/helmreleases/#configuring-failure-handling).
func TestFluxRollsBack(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(examples, "flux", "release.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	release := objects(t, text)["HelmRelease/kube-system/multicloud-controller-manager"]
	want := map[string]any{"strategy": "rollback", "remediateLastFailure": true}
	got, _, _ := unstructured.NestedMap(release.Object, "spec", "upgrade", "remediation")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("remediation (-want +got):\n%s", diff)
	}
	if enabled, _, _ := unstructured.NestedBool(release.Object, "spec", "test", "enable"); !enabled {
		t.Error("the test is off")
	}
}

// conformText checks a manifest against the schemas.
func conformText(t *testing.T, manifest []byte) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(file, manifest, 0o600); err != nil {
		t.Fatal(err)
	}
	conform(t, file)
}
