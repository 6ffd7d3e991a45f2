package tools_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestBusyEndsItsLoops: each run and its exit code are printed, and no loop is left.
func TestBusyEndsItsLoops(t *testing.T) {
	t.Parallel()
	path, err := filepath.Abs("busy")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, "2", "sh", "-c", "echo works; exit 3")
	cmd.Dir, cmd.SysProcAttr = t.TempDir(), &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = []string{"PATH=" + commands(t, "")}
	output, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	code, group := cmd.ProcessState.ExitCode(), cmd.Process.Pid
	if strings.Count(string(output), "works\n") != 2 || !strings.Contains(string(output), "\nrun 2: exit code 3 after ") || code != 3 {
		t.Errorf("exit code %d, output:\n%s", code, output)
	}
	if err := syscall.Kill(-group, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("a loop is left in process group %d: %v", group, err)
	}
}
