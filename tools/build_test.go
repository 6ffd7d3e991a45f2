package tools_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

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

	// The arguments of the stub are those of the real command.
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
			reason: "the error of a typo lists the names",
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
		"NoGo": {
			reason: "the error without Go names where Go is available",
			env:    []string{"XDG_CACHE_HOME=" + filepath.Join(full, "cache")},
			args:   []string{"golangci-lint"},
			stderr: []string{"building golangci-lint v2.", "needs Go, which is not on PATH", "https://go.dev/dl"},
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
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
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
