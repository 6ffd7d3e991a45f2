package chart

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
	"github.com/multicloud-ccm/multicloud-ccm/test/helm"
)

// top is the top of the repository.
const top = "../.."

var providers = []string{"aws", "openstack", "vsphere"}

// programs are the releases of Helm.
var programs = []string{helm.Three, helm.Four}

// valuesFiles returns the values files of the chart for tests, by their names without
// the suffix.
func valuesFiles(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(top, helm.Chart, "ci", "*-values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Fatal("there are no values files")
	}
	files := map[string]string{}
	for _, path := range paths {
		files[strings.TrimSuffix(filepath.Base(path), "-values.yaml")] = path
	}

	return files
}

// kubernetesVersions returns the oldest and the newest version with schemas.
func kubernetesVersions(t *testing.T) (oldest, newest string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top, "tools", "kubeconform", "modules.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if path, version, _ := strings.Cut(strings.TrimSpace(line), " "); path == "k8s.io/kubernetes" {
			if oldest == "" {
				oldest = version
			}
			newest = version
		}
	}

	return oldest, newest
}

// rendering renders each values file once for all tests.
type rendering struct {
	once     sync.Once
	manifest []byte
	err      error
}

var renderings sync.Map // path of a values file → *rendering

// render returns the manifests of a values file from Helm 3, for the Kubernetes version
// of its client.
func render(t *testing.T, path string) []byte {
	t.Helper()
	value, _ := renderings.LoadOrStore(path, &rendering{})
	r := value.(*rendering)
	r.once.Do(func() {
		r.manifest, r.err = helm.Release{Program: helm.Three, Files: []string{path}}.Template(t.Context())
	})
	if r.err != nil {
		t.Fatal(r.err)
	}

	return r.manifest
}

// template renders a release and must succeed.
func template(t *testing.T, release helm.Release) []byte {
	t.Helper()
	if release.Program == "" {
		release.Program = helm.Three
	}
	manifest, err := release.Template(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	return manifest
}

// objects returns the objects of a manifest by kind, namespace and name.
func objects(t *testing.T, manifest []byte) map[string]*unstructured.Unstructured {
	t.Helper()
	list, err := controlplane.Parse(manifest)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*unstructured.Unstructured{}
	for _, object := range list {
		key := strings.Join([]string{object.GetKind(), object.GetNamespace(), object.GetName()}, "/")
		if found[key] != nil {
			t.Errorf("%s is there twice", key)
		}
		found[key] = object
	}

	return found
}

// each runs a subtest for each values file and release of Helm.
func each(t *testing.T, test func(t *testing.T, program, path string)) {
	t.Helper()
	for name, path := range valuesFiles(t) {
		for _, program := range programs {
			t.Run(name+"/"+program, func(t *testing.T) {
				t.Parallel()
				test(t, program, path)
			})
		}
	}
}

func TestLint(t *testing.T) {
	t.Parallel()
	oldest, _ := kubernetesVersions(t)
	each(t, func(t *testing.T, program, path string) {
		output, err := helm.Run(t.Context(), program, "", "lint", "--strict", "--kube-version", oldest, "--values", path, filepath.Join(top, helm.Chart))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(output, []byte("[WARNING]")) {
			t.Errorf("warnings:\n%s", output)
		}
	})
}

// Each release of Helm writes the same bytes at all times and for each Kubernetes version,
// and both the same documents, so that one rendering of each values file stands for all.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	oldest, newest := kubernetesVersions(t)
	each(t, func(t *testing.T, program, path string) {
		first := template(t, helm.Release{Program: program, KubeVersion: oldest, Files: []string{path}})
		second := template(t, helm.Release{Program: program, KubeVersion: newest, Files: []string{path}})
		if diff := cmp.Diff(string(first), string(second)); diff != "" {
			t.Errorf("the second rendering differs, which is for Kubernetes %s (-first +second):\n%s", newest, diff)
		}
		if diff := cmp.Diff(documents(render(t, path)), documents(first)); diff != "" {
			t.Errorf("-%s +%s:\n%s", helm.Three, program, diff)
		}
	})
}

// documents splits a rendering. Helm 4 adds an empty line after some documents.
func documents(manifest []byte) []string {
	var list []string
	for document := range strings.SplitSeq(string(manifest), "---\n") {
		list = append(list, strings.TrimRight(document, "\n"))
	}

	return list
}

// The chart takes the oldest version with schemas and its builds by vendors, and no
// older one.
func TestKubernetesVersion(t *testing.T) {
	t.Parallel()
	oldest, _ := kubernetesVersions(t)
	minor := oldest[:strings.LastIndex(oldest, ".")]
	files := []string{filepath.Join(top, helm.Chart, "ci", "aws-values.yaml")}
	for _, program := range programs {
		template(t, helm.Release{Program: program, KubeVersion: minor + ".0-eks-1234567", Files: files})
		_, err := helm.Release{Program: program, KubeVersion: "v1.33.9", Files: files}.Template(t.Context())
		if err == nil || !strings.Contains(err.Error(), ">="+minor[1:]+".0-0") {
			t.Errorf("%s, Kubernetes v1.33.9: want an error with the oldest version, got %v", program, err)
		}
	}
}

// Every manifest conforms to the schemas of each supported Kubernetes version.
func TestSchemas(t *testing.T) {
	t.Parallel()
	dir, files := t.TempDir(), []string{}
	for name, path := range valuesFiles(t) {
		file := filepath.Join(dir, name+".yaml")
		if err := os.WriteFile(file, render(t, path), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	conform(t, files...)
}

// conform checks files against the schemas.
func conform(t *testing.T, files ...string) {
	t.Helper()
	binary, err := ccm.Locate("bin/kubeconform")
	if err != nil {
		t.Fatal(err)
	}
	if output, err := command(t, binary, files...).CombinedOutput(); err != nil {
		t.Errorf("kubeconform: %v:\n%s", err, output)
	}
}
