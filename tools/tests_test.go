package tools_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// listGo is a stub of the go command that lists packages, and prints how it is to test others.
const listGo = `#!/bin/sh
case $1 in
list) printf 'example.org/m/%s\n' config test/bench test/benchmark test/chart test/controlplane test/demo test/e2e ;;
test) echo "$@" && [ "$4" != -p ] ;;
esac
`

// script runs another script than tools/build, in a process group of its own.
func script(t *testing.T, goScript, name string, args ...string) (output string, code, group int) {
	t.Helper()
	path, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir, cmd.SysProcAttr = t.TempDir(), &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = []string{"PATH=" + commands(t, goScript)}
	text, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}

	return string(text), cmd.ProcessState.ExitCode(), cmd.Process.Pid
}

// TestControlPlanesComeLast: packages with control planes run one by one, after all others; the
// exit code is that of a failure in either.
func TestControlPlanesComeLast(t *testing.T) {
	t.Parallel()
	output, code, _ := script(t, listGo, "tests", "-race")
	want := `test -json -race ./providers/openstack ./providers/aws ./providers/vsphere example.org/m/config example.org/m/test/benchmark
test -json -race -p 1 ./test/controlplane ./test/demo ./test/bench ./test/e2e
`
	if diff := cmp.Diff(want, output); diff != "" || code != 1 {
		t.Errorf("exit code %d, want 1; output (-want +got):\n%s", code, diff)
	}
}

// TestBusyEndsItsLoops: each run and its exit code are printed, and no loop is left.
func TestBusyEndsItsLoops(t *testing.T) {
	t.Parallel()
	output, code, group := script(t, "", "busy", "2", "sh", "-c", "echo works; exit 3")
	if strings.Count(output, "works\n") != 2 || !strings.Contains(output, "\nrun 2: exit code 3 after ") || code != 3 {
		t.Errorf("exit code %d, output:\n%s", code, output)
	}
	if err := syscall.Kill(-group, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("a loop is left in process group %d: %v", group, err)
	}
}
