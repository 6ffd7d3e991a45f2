package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const pod = `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    resources: {limits: {cpu: 2, memory: 64Mi}}
    livenessProbe: {httpGet: {port: https}}
`

// One schema of each origin and version refuses what it does not have.
func TestCheck(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason   string
		manifest string
		// want is in each fault, and versions are those with a fault.
		want     []string
		versions []string
	}{
		"Valid": {
			reason:   "numbers and strings are both right for quantities and ports, and empty documents are none",
			manifest: "---\n" + pod + "---\n---\n" + strings.ReplaceAll(pod, "https", "443"),
		},
		"UnknownField": {
			reason:   "a typo at any depth is an error",
			manifest: strings.ReplaceAll(pod, "httpGet", "httpget"),
			want:     []string{"Pod web: ", "livenessProbe", "httpget"},
			versions: versions(kubernetesModule),
		},
		"WrongType": {
			reason:   "a string is no number",
			manifest: pod + "  terminationGracePeriodSeconds: long\n",
			want:     []string{"Pod web: ", "terminationGracePeriodSeconds"},
			versions: versions(kubernetesModule),
		},
		"SecondDocument": {
			reason:   "every document is checked",
			manifest: pod + "---\n" + strings.ReplaceAll(pod, "name: web", "named: web"),
			want:     []string{"named"},
			versions: versions(kubernetesModule),
		},
		"DuplicateKey": {
			reason:   "of two equal keys one is lost",
			manifest: pod + "kind: Pod\n",
			want:     []string{"key \"kind\" already set"},
			versions: versions(kubernetesModule),
		},
		"NoSchema": {
			reason:   "nothing is skipped",
			manifest: "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n",
			want:     []string{"Widget w: could not find schema"},
			versions: versions(kubernetesModule),
		},
		"NewKind": {
			reason:   "the schemas are those of each version: the kind is new in 1.37",
			manifest: "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: g}\nspec: {schedulingPolicy: {}}\n",
			want:     []string{"PodGroup g: could not find schema"},
			versions: []string{"v1.34.1", "v1.35.0", "v1.36.3"},
		},
		"CustomResource": {
			reason:   "custom resources and their metadata are as strict",
			manifest: "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: m, lables: {}}\nspec: {selector: {}, endpoints: [{port: x, intervall: 3s}]}\n",
			want:     []string{"ServiceMonitor m: ", "lables", "intervall"},
			versions: versions(kubernetesModule),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "manifest.yaml")
			if err := os.WriteFile(path, []byte(tc.manifest), 0o600); err != nil {
				t.Fatal(err)
			}
			faults, err := check(t.Context(), []string{path})
			if err != nil {
				t.Fatal(err)
			}
			if len(faults) != len(tc.versions) {
				t.Errorf("%s: want a fault for each of %q, got %q", tc.reason, tc.versions, faults)
			}
			for _, want := range append(slices.Clone(tc.versions), tc.want...) {
				if !strings.Contains(strings.Join(faults, "\n"), want) {
					t.Errorf("%s: the faults lack %q: %q", tc.reason, want, faults)
				}
			}
		})
	}
}

// What has nothing to check is an error, not a success.
func TestNothingToCheck(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty.yaml")
	if err := os.WriteFile(empty, []byte("---\n# nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, files := range map[string][]string{
		"no file named":   nil,
		"has no manifest": {empty},
		"no such file":    {empty + ".not"},
	} {
		if _, err := check(t.Context(), files); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("files %q: want an error with %q, got %v", files, want, err)
		}
	}
}
