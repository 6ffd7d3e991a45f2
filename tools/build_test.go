// Package tools_test proves what tools/build promises, with a stand-in for the
// Go command, so that nothing is compiled.
package tools_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A stand-in for the go command: it writes what it was asked into the file
// after -o.
const (
	goodGo = `#!/bin/sh
for a; do
	[ "${last:-}" != -o ] || out=$a
	last=$a
done
{ echo "#!/bin/sh"; echo "# $*"; echo "# in $(basename "$PWD"), CGO_ENABLED=$CGO_ENABLED GOWORK=$GOWORK GOOS=$GOOS"; } >"$out"
chmod +x "$out"
`
	slowGo = `#!/bin/sh
for a; do
	[ "${last:-}" != -o ] || echo $$ >"$a"
	last=$a
done
exec sleep 600
`
	badGo = `#!/bin/sh
for a; do
	[ "${last:-}" != -o ] || echo half >"$a"
	last=$a
done
echo "go: k8s.io/kubernetes: dial tcp: lookup proxy: no such host"
exit 1
`
)

// outcome is what one run of the script printed and returned.
type outcome struct {
	stdout, stderr string
	code           int
}

// commands makes a directory that holds what the script calls, and go as the
// given stand-in, or no go at all.
func commands(t *testing.T, goScript string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"sh", "awk", "basename", "chmod", "date", "dirname", "grep", "mkdir", "mv", "rm", "sleep", "tail", "uname"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if goScript != "" {
		if err := os.WriteFile(filepath.Join(dir, "go"), []byte(goScript), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// command prepares tools/build with exactly the given environment.
func command(t *testing.T, env []string, goScript string, args ...string) *exec.Cmd {
	t.Helper()
	script, err := filepath.Abs("build")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), script, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append([]string{"PATH=" + commands(t, goScript)}, env...)
	return cmd
}

// run waits for tools/build and tells what came of it.
func run(t *testing.T, env []string, goScript string, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := command(t, env, goScript, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	got := outcome{}
	if err := cmd.Run(); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			t.Fatalf("run %s: %v", cmd, err)
		}
		got.code = exit.ExitCode()
	}
	got.stdout, got.stderr = stdout.String(), stderr.String()
	return got
}

// files lists what a cache directory holds, without the names of its own.
func files(t *testing.T, dir string) []string {
	t.Helper()
	found := []string{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			found = append(found, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// onlyFile checks that the cache directory holds one file and returns its path.
func onlyFile(t *testing.T, dir, name string) string {
	t.Helper()
	found := files(t, dir)
	if len(found) != 1 || filepath.Base(found[0]) != name {
		t.Fatalf("want one file called %s in the cache, found %q", name, found)
	}
	return filepath.Join(dir, found[0])
}

func TestBuildOnce(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	env := []string{"XDG_CACHE_HOME=" + cache, "GOOS=plan9"}

	first := run(t, env, goodGo, "kube-apiserver")
	built := onlyFile(t, cache, "kube-apiserver")
	if diff := cmp.Diff(built+"\n", first.stdout); diff != "" {
		t.Errorf("the path is the only thing on stdout (-want +got):\n%s", diff)
	}
	for _, want := range []string{"first time only: building kube-apiserver: about 7 minutes on 2 cores", "step 1 of 1: building kube-apiserver v1.", "built kube-apiserver v1."} {
		if !strings.Contains(first.stderr, want) {
			t.Errorf("progress lacks %q:\n%s", want, first.stderr)
		}
	}

	// What the stand-in was asked is what the real one would do.
	asked, err := os.ReadFile(built)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"-X k8s.io/component-base/version.gitVersion=v1.", ".gitMajor=1 ", ".gitMinor=",
		"# build -v -trimpath -mod=readonly ", " k8s.io/kubernetes/cmd/kube-apiserver\n",
		"# in kubernetes, CGO_ENABLED=0 GOWORK=off GOOS=\n",
	} {
		if !strings.Contains(string(asked), want) {
			t.Errorf("the build lacks %q:\n%s", want, asked)
		}
	}

	second := run(t, env, badGo, "kube-apiserver")
	if diff := cmp.Diff(outcome{stdout: first.stdout}, second, cmp.AllowUnexported(outcome{})); diff != "" {
		t.Errorf("a tool that is there is not built again (-want +got):\n%s", diff)
	}
}

func TestBuildNothingByPath(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	got := run(t, []string{"HOME=" + home, "XDG_CACHE_HOME=relative/is/ignored"}, badGo, "--path", "etcd", "benchstat")
	if got.code != 0 || got.stderr != "" {
		t.Fatalf("exit code %d, stderr %q", got.code, got.stderr)
	}
	paths := strings.Fields(got.stdout)
	if len(paths) != 2 || !strings.HasPrefix(paths[0], home+"/.cache/multicloud-ccm/etcd-v3.") || !strings.HasSuffix(paths[1], "/benchstat") {
		t.Errorf("unexpected paths %q", paths)
	}
	if found := files(t, home); len(found) != 0 {
		t.Errorf("--path wrote %q", found)
	}
}

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
			first:  "first time only: building kube-apiserver, etcd, " + dir + "/controller, " + demo + ": about 12 minutes on 2 cores",
			want:   []string{fetch, "step 1 of 4: building kube-apiserver v", "step 2 of 4: building etcd v"},
		},
		{
			reason: "the caller has not built anything after the tools",
			first:  "first time only: building " + dir + "/controller, " + demo + ": about 5 minutes on 2 cores",
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

// TestSharedVersions proves that kube-apiserver and the product are built from
// the same versions of what both import, so that each package is compiled once.
func TestSharedVersions(t *testing.T) {
	t.Parallel()
	product, shared := module(t, "../go.mod"), 0
	for path, version := range module(t, "kubernetes/go.mod") {
		if want, ok := product[path]; ok {
			shared++
			if version != want {
				t.Errorf("tools/kubernetes/go.mod requires %s %s, go.mod %s", path, version, want)
			}
		}
	}
	if shared == 0 {
		t.Error("no module in common")
	}
}

func TestBuildFailures(t *testing.T) {
	t.Parallel()
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "etcd"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(full, "kubectl"), []byte("not executable"), 0o644); err != nil {
		t.Fatal(err)
	}

	cases := map[string]struct {
		reason string
		env    []string
		goCmd  string
		args   []string
		stdout string
		stderr []string
	}{
		"NoTool": {
			reason: "without a name the usage lists the names",
			stderr: []string{"no tool named", "usage: tools/build", "kube-apiserver kubectl etcd"},
		},
		"UnknownTool": {
			reason: "a typo is answered with the names there are",
			args:   []string{"kube-api-server"},
			stderr: []string{"unknown tool 'kube-api-server'", "use one of: kube-apiserver"},
		},
		"NotInBinDir": {
			reason: "MULTICLOUD_CCM_BIN_DIR replaces the cache; what is there is used, what is not is named",
			env:    []string{"MULTICLOUD_CCM_BIN_DIR=" + full},
			args:   []string{"etcd", "kubectl"},
			stdout: filepath.Join(full, "etcd") + "\n",
			stderr: []string{"holds no executable kubectl", "unset the variable"},
		},
		"NotInAssets": {
			reason: "KUBEBUILDER_ASSETS replaces the cache in the same way",
			env:    []string{"KUBEBUILDER_ASSETS=" + full},
			args:   []string{"etcd", "kubectl"},
			stdout: filepath.Join(full, "etcd") + "\n",
			stderr: []string{"KUBEBUILDER_ASSETS=" + full + " holds no executable kubectl", "unset the variable"},
		},
		"RelativeAssets": {
			reason: "tests run in many directories, so a relative one would mean many things",
			env:    []string{"KUBEBUILDER_ASSETS=bin"},
			args:   []string{"etcd"},
			stderr: []string{"KUBEBUILDER_ASSETS=bin is not an absolute path"},
		},
		"NothingAfterThen": {
			reason: "the tools are named last",
			args:   []string{"--then", "bin/demo", "1"},
			stderr: []string{"--then takes FILE MINUTES, and names follow"},
		},
		"RelativeBinDir": {
			reason: "tests run in many directories, so a relative one would mean many things",
			env:    []string{"MULTICLOUD_CCM_BIN_DIR=bin"},
			args:   []string{"etcd"},
			stderr: []string{"MULTICLOUD_CCM_BIN_DIR=bin is not an absolute path"},
		},
		"NoHome": {
			reason: "there must be a place to build into",
			args:   []string{"etcd"},
			stderr: []string{"neither XDG_CACHE_HOME nor HOME is set"},
		},
		"NoGo": {
			reason: "a machine without Go is told where Go comes from",
			env:    []string{"XDG_CACHE_HOME=" + filepath.Join(full, "cache")},
			args:   []string{"golangci-lint"},
			stderr: []string{"building golangci-lint v2.", "needs Go, which is not on PATH", "https://go.dev/dl"},
		},
		"CacheIsAFile": {
			reason: "a cache that cannot be written says how to point elsewhere",
			env:    []string{"XDG_CACHE_HOME=" + filepath.Join(full, "etcd")},
			goCmd:  goodGo,
			args:   []string{"etcd"},
			stderr: []string{"cannot write to " + filepath.Join(full, "etcd"), "point XDG_CACHE_HOME"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := run(t, tc.env, tc.goCmd, tc.args...)
			if got.code != 1 {
				t.Errorf("%s: want exit code 1, got %d", tc.reason, got.code)
			}
			if diff := cmp.Diff(tc.stdout, got.stdout); diff != "" {
				t.Errorf("%s: stdout (-want +got):\n%s", tc.reason, diff)
			}
			for _, want := range tc.stderr {
				if !strings.Contains(got.stderr, want) {
					t.Errorf("%s: stderr lacks %q:\n%s", tc.reason, want, got.stderr)
				}
			}
		})
	}
}

func TestBuildFailsClean(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	got := run(t, []string{"XDG_CACHE_HOME=" + cache}, badGo, "kube-apiserver")
	if got.code != 1 || got.stdout != "" {
		t.Errorf("want exit code 1 and no path, got %d and %q", got.code, got.stdout)
	}
	for _, want := range []string{"lookup proxy: no such host", "building kube-apiserver v1.", "check the network and GOPROXY", "set MULTICLOUD_CCM_BIN_DIR"} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("stderr lacks %q:\n%s", want, got.stderr)
		}
	}
	// Neither a half-written binary nor a temporary name is left to be found
	// later; the log is, for the reader of the message.
	onlyFile(t, cache, "kube-apiserver.log")
}

// TestBuildInterrupted proves that an interrupted build leaves neither a
// compiler running nor half a binary.
func TestBuildInterrupted(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	cmd := command(t, []string{"XDG_CACHE_HOME=" + cache}, slowGo, "etcd")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	compiler := awaitCompiler(t, cache)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if exit, ok := errors.AsType[*exec.ExitError](cmd.Wait()); !ok || exit.ExitCode() != 143 {
		t.Errorf("want exit code 143, got %v", exit)
	}
	if err := syscall.Kill(compiler, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the compiler, process %d, is left: %v", compiler, err)
	}
	onlyFile(t, cache, "etcd.log")
}

// awaitCompiler returns the process that slowGo wrote into its output.
func awaitCompiler(t *testing.T, cache string) int {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		paths, err := filepath.Glob(filepath.Join(cache, "multicloud-ccm", "*", "etcd.partial.*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			content, _ := os.ReadFile(path)
			if pid, err := strconv.Atoi(strings.TrimSpace(string(content))); err == nil {
				return pid
			}
		}
	}
	t.Fatal("the build never began")
	return 0
}
