package tools_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBuildAnnounces proves what a first run prints before it builds anything,
// and that the steps are numbered.
func TestBuildAnnounces(t *testing.T) {
	t.Parallel()
	cache, dir := t.TempDir(), t.TempDir()
	env := []string{"XDG_CACHE_HOME=" + cache}
	demo := filepath.Join(dir, "demo")
	args := []string{"--then", filepath.Join(dir, "controller"), "9", "--then", demo, "1", "kube-apiserver", "etcd"}
	fetch := "setup-envtest@latest use " + minor(t) + ".x)"

	cases := []struct {
		reason string
		first  string
		want   []string
		not    []string
	}{
		{
			reason: "everything is missing",
			first:  "first time only: building kube-apiserver, etcd, " + dir + "/controller, " + demo + ": about 12 minutes on 2 cores if the Go build cache is empty",
			want:   []string{fetch, "step 1 of 4: building kube-apiserver v", "step 2 of 4: building etcd v"},
		},
		{
			reason: "the caller has not built anything after the tools",
			first:  "first time only: building " + dir + "/controller, " + demo + ": about 5 minutes on 2 cores if the Go build cache is empty",
			not:    []string{fetch, "step "},
		},
	}
	for _, tc := range cases {
		got := run(t, env, goodGo, args...)
		if first, _, _ := strings.Cut(got.stderr, "\n"); first != tc.first {
			t.Errorf("%s: the first line is %q, want %q", tc.reason, first, tc.first)
		}
		for _, want := range tc.want {
			if !strings.Contains(got.stderr, want) {
				t.Errorf("%s: progress lacks %q:\n%s", tc.reason, want, got.stderr)
			}
		}
		for _, unwanted := range tc.not {
			if strings.Contains(got.stderr, unwanted) {
				t.Errorf("%s: progress has %q:\n%s", tc.reason, unwanted, got.stderr)
			}
		}
	}
}

// TestBuildUsesReadyMade proves that nothing is built that setup-envtest has
// fetched, that another minor version is not taken for it, and that other tools
// are built all the same.
func TestBuildUsesReadyMade(t *testing.T) {
	t.Parallel()
	data, cache := t.TempDir(), t.TempDir()
	platform := "-" + runtime.GOOS + "-" + runtime.GOARCH
	store := filepath.Join(data, "kubebuilder-envtest", "k8s")
	assets := filepath.Join(store, minor(t)+".0"+platform)
	for path, mode := range map[string]os.FileMode{
		filepath.Join(assets, "etcd"):                                    0o555,
		filepath.Join(assets, "golangci-lint"):                           0o555,
		filepath.Join(store, minor(t)+".1"+platform, "etcd"):             0o444,
		filepath.Join(store, minor(t)+"0.2"+platform, "etcd"):            0o555,
		filepath.Join(store, minor(t)+".3-rc.1"+platform, "etcd"):        0o555,
		filepath.Join(store, minor(t)+".4-other-arch", "etcd"):           0o555,
		filepath.Join(store, minor(t)+"0.2"+platform, "kube-apiserver"):  0o555,
		filepath.Join(store, minor(t)+".4-other-arch", "kube-apiserver"): 0o555,
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}

	for reason, variable := range map[string]string{
		"the folder of setup-envtest":      "XDG_DATA_HOME=" + data,
		"the variable names the directory": "KUBEBUILDER_ASSETS=" + assets,
	} {
		env := []string{variable, "XDG_CACHE_HOME=" + cache}
		want := outcome{stdout: assets + "/etcd\n", stderr: "using " + assets + "/etcd\n"}
		if diff := cmp.Diff(want, run(t, env, badGo, "etcd"), cmp.AllowUnexported(outcome{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
		if got := run(t, env, badGo, "golangci-lint"); got.code != 1 {
			t.Errorf("%s: setup-envtest does not fetch golangci-lint: %+v", reason, got)
		}
	}
	got := run(t, []string{"XDG_DATA_HOME=" + data, "XDG_CACHE_HOME=" + cache}, goodGo, "kube-apiserver")
	if !strings.HasPrefix(got.stdout, cache) {
		t.Errorf("another minor version or architecture was taken: %+v", got)
	}
}

// minor returns the minor version of kube-apiserver, such as 1.37.
func minor(t *testing.T) string {
	t.Helper()
	version := module(t, "kubernetes/go.mod")["k8s.io/kubernetes"]

	return strings.TrimPrefix(version[:strings.LastIndex(version, ".")], "v")
}

// module returns the versions that a go.mod requires.
func module(t *testing.T, path string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(strings.TrimPrefix(line, "require "))
		if len(fields) >= 2 && strings.HasPrefix(fields[1], "v") {
			versions[fields[0]] = fields[1]
		}
	}

	return versions
}

// TestSharedVersions proves that what is built of the same modules as the
// product is built of the same versions, so that each package is compiled once.
// Of what Helm shares, only the Kubernetes modules are large.
func TestSharedVersions(t *testing.T) {
	t.Parallel()
	product := module(t, "../go.mod")
	for tool, prefix := range map[string]string{"kubernetes": "", "helm": "k8s.io/", "helm4": "k8s.io/"} {
		shared := 0
		for path, version := range module(t, tool+"/go.mod") {
			want, ok := product[path]
			if !ok || !strings.HasPrefix(path, prefix) {
				continue
			}
			shared++
			if version != want {
				t.Errorf("tools/%s/go.mod requires %s %s, go.mod %s", tool, path, version, want)
			}
		}
		if shared == 0 {
			t.Errorf("tools/%s/go.mod has no module in common with go.mod", tool)
		}
	}
}

// TestHelmVersion proves that Helm is built with its version, and Helm 3 with that of
// Kubernetes, which it checks charts for.
func TestHelmVersion(t *testing.T) {
	t.Parallel()
	kubernetes := "k8sVersionMinor=" + strings.TrimPrefix(minor(t), "1.") + " "
	for tool, wants := range map[string][]string{
		"helm":          {"-X helm.sh/helm/v3/internal/version.version=v3.", "helm/v3/pkg/chartutil." + kubernetes, "helm/v3/pkg/lint/rules." + kubernetes},
		"helm4":         {"-X helm.sh/helm/v4/internal/version.version=v4."},
		"helm-unittest": {"helm/v3/pkg/chartutil." + kubernetes},
	} {
		cache := t.TempDir()
		if got := run(t, []string{"XDG_CACHE_HOME=" + cache}, goodGo, tool); got.code != 0 {
			t.Fatalf("building %s: %+v", tool, got)
		}
		command, err := os.ReadFile(onlyFile(t, cache, tool))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(command), want) {
				t.Errorf("the build of %s lacks %q:\n%s", tool, want, command)
			}
		}
	}
}
