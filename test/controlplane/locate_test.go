package controlplane

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// put writes an executable stub and returns its path.
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

// locateCase is one environment with the result that it leads to.
type locateCase struct {
	reason string
	env    map[string]string
	name   string
	want   string
	err    string
}

// check cannot be parallel: it sets the environment.
func (tc locateCase) check(t *testing.T) {
	for _, variable := range []string{BinDirVariable, AssetsVariable, "XDG_DATA_HOME", "XDG_CACHE_HOME", "HOME"} {
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
		"BinDirFirst": {
			reason: "the variable of this project is looked at before that of others",
			env:    map[string]string{BinDirVariable: given, AssetsVariable: cache},
			name:   "etcd",
			want:   etcd,
		},
		"Assets": {
			reason: "the directory that other projects use holds the binary",
			env:    map[string]string{AssetsVariable: given},
			name:   "etcd",
			want:   etcd,
		},
		"NotInAssets": {
			reason: "the error names the variable that was set",
			env:    map[string]string{AssetsVariable: given, "XDG_CACHE_HOME": cache},
			name:   "kubectl",
			err:    "find binary " + given + "/kubectl: no such file; put it there, or unset KUBEBUILDER_ASSETS and run `make tools`",
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
			reason: "the error names the command that builds it",
			env:    map[string]string{"XDG_CACHE_HOME": cache},
			name:   "kube-apiserver",
			err:    "find binary " + cache + "/multicloud-ccm/kubernetes-" + KubernetesVersion + "/kube-apiserver: no such file; run `make tools` first",
		},
		"Unknown": {
			reason: "a name that is not built is a mistake of the caller",
			env:    map[string]string{"XDG_CACHE_HOME": cache},
			name:   "kubelet",
			err:    `find binary "kubelet": not one of the control plane`,
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

// fetched writes an executable stub where setup-envtest stores release.
func fetched(t *testing.T, data, release, name string) string {
	t.Helper()

	return put(t, 0o755, data, "kubebuilder-envtest", "k8s", release+"-"+runtime.GOOS+"-"+runtime.GOARCH, name)
}

// minor returns KubernetesVersion without v and patch, and with another minor
// version.
func minor(t *testing.T) (same, other string) {
	t.Helper()
	var x, y, z int
	if _, err := fmt.Sscanf(KubernetesVersion, "v%d.%d.%d", &x, &y, &z); err != nil {
		t.Fatal(err)
	}

	return fmt.Sprintf("%d.%d", x, y), fmt.Sprintf("%d.%d", x, y+1)
}

func TestLocateFetched(t *testing.T) {
	data, home, cache := t.TempDir(), t.TempDir(), t.TempDir()
	same, other := minor(t)
	fetched(t, data, same+".9", "etcd")
	newest := fetched(t, data, same+".10", "etcd")
	fetched(t, data, other+".0", "etcd")
	fetched(t, data, other+".0", "kubectl")
	put(t, 0o755, data, "kubebuilder-envtest", "k8s", same+".11-"+runtime.GOOS+"-other", "etcd")
	put(t, 0o644, data, "kubebuilder-envtest", "k8s", same+".11-"+runtime.GOOS+"-"+runtime.GOARCH, "etcd")
	atHome := fetched(t, filepath.Join(home, ".local", "share"), same+".0", "kube-apiserver")
	cached := put(t, 0o755, cache, "multicloud-ccm", "kubernetes-"+KubernetesVersion, "kubectl")

	cases := map[string]locateCase{
		"Newest": {
			reason: "the highest patch number that can run here, before the cache",
			env:    map[string]string{"XDG_DATA_HOME": data, "XDG_CACHE_HOME": cache},
			name:   "etcd",
			want:   newest,
		},
		"OtherMinor": {
			reason: "another minor version is not taken",
			env:    map[string]string{"XDG_DATA_HOME": data, "XDG_CACHE_HOME": cache},
			name:   "kubectl",
			want:   cached,
		},
		"BelowHome": {
			reason: "a relative XDG_DATA_HOME counts as none",
			env:    map[string]string{"XDG_DATA_HOME": "data", "HOME": home},
			name:   "kube-apiserver",
			want:   atHome,
		},
	}
	for name, tc := range cases {
		t.Run(name, tc.check)
	}
}

// TestLocateAgreesWithBuild keeps the versions in this package and in the tool
// modules the same, and with them the places where tools/build puts things and
// finds them.
func TestLocateAgreesWithBuild(t *testing.T) {
	data, cache := t.TempDir(), t.TempDir()
	same, other := minor(t)
	for name := range folders {
		for _, release := range []string{same + ".2", same + ".10", other + ".0"} {
			fetched(t, data, release, name)
		}
	}
	cases := map[string]map[string]string{
		"cache":         {"XDG_CACHE_HOME": cache, "XDG_DATA_HOME": t.TempDir()},
		"setup-envtest": {"XDG_CACHE_HOME": cache, "XDG_DATA_HOME": data},
		"variable":      {"XDG_CACHE_HOME": cache, "XDG_DATA_HOME": data, AssetsVariable: "/assets"},
		"own variable":  {"XDG_CACHE_HOME": cache, BinDirVariable: "/bin-dir", AssetsVariable: "/assets"},
	}
	for reason, env := range cases {
		for _, variable := range []string{BinDirVariable, AssetsVariable, "XDG_DATA_HOME", "XDG_CACHE_HOME"} {
			t.Setenv(variable, env[variable])
		}
		for name := range folders {
			out, err := exec.CommandContext(t.Context(), "../../tools/build", "--path", name).Output()
			if err != nil {
				t.Fatalf("tools/build --path %s: %v", name, err)
			}
			want := strings.TrimSpace(string(out))
			got, err := Locate(name)
			if err != nil { // it names the path of what is not there
				got, _, _ = strings.Cut(strings.TrimPrefix(err.Error(), "find binary "), ":")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: place of %s: tools/build and Locate disagree; one version must follow the other (-build +Locate):\n%s", reason, name, diff)
			}
		}
	}
}
