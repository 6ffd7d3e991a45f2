package controlplane

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// put writes an executable stand-in and returns its path.
func put(t *testing.T, mode os.FileMode, elements ...string) string {
	t.Helper()
	path := filepath.Join(elements...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// locateCase is one environment with the answer that it leads to.
type locateCase struct {
	reason string
	env    map[string]string
	name   string
	want   string
	err    string
}

// check cannot be parallel: it sets the environment.
func (tc locateCase) check(t *testing.T) {
	for _, variable := range []string{BinDirVariable, "XDG_CACHE_HOME", "HOME"} {
		t.Setenv(variable, tc.env[variable])
	}
	got, err := Locate(tc.name)
	message := ""
	if err != nil {
		message = err.Error()
	}
	if diff := cmp.Diff(tc.want, got); diff != "" {
		t.Errorf("%s: path (-want +got):\n%s", tc.reason, diff)
	}
	if diff := cmp.Diff(tc.err, message); diff != "" {
		t.Errorf("%s: error (-want +got):\n%s", tc.reason, diff)
	}
}

func TestLocateGiven(t *testing.T) {
	const advice = "; put it there, or unset MULTICLOUD_CCM_BIN_DIR and run `make tools`"
	given, cache := t.TempDir(), t.TempDir()
	etcd := put(t, 0o755, given, "etcd")
	put(t, 0o644, given, "kube-apiserver")
	put(t, 0o755, cache, "multicloud-ccm", "kubernetes-"+KubernetesVersion, "kubectl")

	cases := map[string]locateCase{
		"Found": {
			reason: "the directory that the variable names holds the binary",
			env:    map[string]string{BinDirVariable: given},
			name:   "etcd",
			want:   etcd,
		},
		"Missing": {
			reason: "when the variable is set the cache is not looked at",
			env:    map[string]string{BinDirVariable: given, "XDG_CACHE_HOME": cache},
			name:   "kubectl",
			err:    "find binary " + given + "/kubectl: no such file" + advice,
		},
		"NotExecutable": {
			reason: "a file that cannot run is not a binary",
			env:    map[string]string{BinDirVariable: given},
			name:   "kube-apiserver",
			err:    "find binary " + given + "/kube-apiserver: not an executable file" + advice,
		},
		"Relative": {
			reason: "tests run in many directories, so a relative one would mean many things",
			env:    map[string]string{BinDirVariable: "bin"},
			name:   "etcd",
			err:    "find binary etcd: MULTICLOUD_CCM_BIN_DIR=bin is not an absolute path",
		},
	}
	for name, tc := range cases {
		t.Run(name, tc.check)
	}
}

func TestLocateCached(t *testing.T) {
	cache, home := t.TempDir(), t.TempDir()
	cached := put(t, 0o755, cache, "multicloud-ccm", "kubernetes-"+KubernetesVersion, "kubectl")
	atHome := put(t, 0o755, home, ".cache", "multicloud-ccm", "etcd-"+etcdVersion, "etcd")

	cases := map[string]locateCase{
		"Found": {
			reason: "XDG_CACHE_HOME wins over HOME",
			env:    map[string]string{"XDG_CACHE_HOME": cache, "HOME": home},
			name:   "kubectl",
			want:   cached,
		},
		"BelowHome": {
			reason: "a relative XDG_CACHE_HOME counts as none",
			env:    map[string]string{"XDG_CACHE_HOME": "cache", "HOME": home},
			name:   "etcd",
			want:   atHome,
		},
		"NotBuilt": {
			reason: "the error says which command builds it",
			env:    map[string]string{"XDG_CACHE_HOME": cache},
			name:   "kube-apiserver",
			err:    "find binary " + cache + "/multicloud-ccm/kubernetes-" + KubernetesVersion + "/kube-apiserver: no such file; run `make tools` first",
		},
		"Unknown": {
			reason: "a name that nobody builds is a mistake of the caller",
			env:    map[string]string{"XDG_CACHE_HOME": cache},
			name:   "kubelet",
			err:    `find binary "kubelet": not one that the control plane knows`,
		},
		"NoHome": {
			reason: "without HOME there is no cache",
			name:   "etcd",
			err:    "find binary etcd: $HOME is not defined",
		},
	}
	for name, tc := range cases {
		t.Run(name, tc.check)
	}
}

// TestLocateAgreesWithBuild keeps the versions in this package and in the tool
// modules the same, and with them the places where tools/build puts things.
func TestLocateAgreesWithBuild(t *testing.T) {
	cache := t.TempDir()
	t.Setenv(BinDirVariable, "")
	t.Setenv("XDG_CACHE_HOME", cache)
	for name, folder := range folders {
		out, err := exec.CommandContext(t.Context(), "../../tools/build", "--path", name).Output()
		if err != nil {
			t.Fatalf("tools/build --path %s: %v", name, err)
		}
		want := strings.TrimSpace(string(out))
		if diff := cmp.Diff(want, filepath.Join(cache, "multicloud-ccm", folder, name)); diff != "" {
			t.Errorf("place of %s: tools/build and Locate disagree; one version must follow the other (-build +Locate):\n%s", name, diff)
		}
	}
}
