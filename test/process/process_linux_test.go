package process_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// TestParentKilled proves that a caller which never reaches Stop leaves nothing
// behind: the kernel sees to it.
func TestParentKilled(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.CommandContext(t.Context(), self)
	parent.Env = append(os.Environ(), role+"=parent", "HOME="+t.TempDir())
	parent.Stderr = os.Stderr
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, readErr := bufio.NewReader(out).ReadString('\n')
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	var pid int
	if _, err := fmt.Sscan(line, &pid); err != nil {
		t.Fatalf("the parent said %q: %v", line, errors.Join(readErr, err))
	}
	eventually(t, "the child ends with its parent", func() bool { return !alive(pid) })
}
