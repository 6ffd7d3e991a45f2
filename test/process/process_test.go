package process_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/multicloud-ccm/multicloud-ccm/test/process"
)

// role makes the test binary play a child instead of running tests.
const role = "PROCESS_TEST_ROLE"

func TestMain(m *testing.M) {
	if play, ok := roles()[os.Getenv(role)]; ok {
		play()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func roles() map[string]func() {
	return map[string]func(){
		"environment": func() { fmt.Println(strings.Join(os.Environ(), "\n")) },
		"talker":      printLines,
		"failing":     func() { fmt.Fprintln(os.Stderr, "cannot go on"); os.Exit(7) },
		"polite":      func() { await(syscall.SIGTERM) },
		"stubborn":    func() { signal.Ignore(syscall.SIGTERM); await(syscall.SIGUSR1) },
		"parent":      haveChild,
	}
}

// printLines prints more lines than an error message has room for, and a long one.
func printLines() {
	for i := range 20 {
		fmt.Println("line", i)
	}
	fmt.Println(strings.Repeat("x", 1000))
}

// await reports that it is ready and waits for one signal.
func await(sig os.Signal) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, sig)
	fmt.Println("ready")
	<-signals
	fmt.Println("got", sig)
}

// haveChild starts a child of its own, tells its process ID, and hangs.
func haveChild() {
	self, err := os.Executable()
	if err == nil {
		var child *process.Process
		child, err = process.Start(process.Spec{Name: "grandchild", Binary: self, Dir: os.Getenv("HOME"), Env: []string{role + "=stubborn"}})
		if err == nil {
			fmt.Println(child.PID())
			select {}
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// spec says how to run the test binary in a role.
func spec(t *testing.T, as string, env ...string) process.Spec {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	return process.Spec{Name: as, Binary: self, Dir: t.TempDir(), Env: append(env, role+"="+as)}
}

// start runs the test binary in a role. Whatever the test does, the child ends.
func start(t *testing.T, as string, env ...string) *process.Process {
	t.Helper()
	child, err := process.Start(spec(t, as, env...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := child.Kill(); err != nil {
			t.Error(err)
		}
	})

	return child
}

// output returns the output so far.
func output(t *testing.T, child *process.Process) string {
	t.Helper()
	text, err := os.ReadFile(child.LogPath())
	if err != nil {
		t.Fatal(err)
	}

	return string(text)
}

// eventually repeats a check until it passes.
func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	deadline := time.Now().Add(process.Limit)
	for !check() {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func ready(t *testing.T, child *process.Process) {
	t.Helper()
	eventually(t, child.Name()+" is ready", func() bool { return strings.Contains(output(t, child), "ready\n") })
}

func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func TestEnds(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		role    string
		code    int
		failure []string
	}{
		"BySelf": {
			reason:  "a child that ends unasked is a failure, whatever its exit code; long logs and lines are cut",
			role:    "talker",
			failure: []string{"talker ended by itself (exit status 0)", "its log ends with:\n    line 6\n", "    " + strings.Repeat("x", 400) + "…"},
		},
		"Failing": {
			reason:  "the exit code is the child's own, and so are the words",
			role:    "failing",
			code:    7,
			failure: []string{"failing ended by itself (exit status 7)", "    cannot go on"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			child := start(t, tc.role)
			<-child.Ended()
			if diff := cmp.Diff(tc.code, child.ExitCode()); diff != "" {
				t.Errorf("%s: exit code (-want +got):\n%s", tc.reason, diff)
			}
			err := child.Failure()
			for _, want := range tc.failure {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: failure lacks %q:\n%v", tc.reason, want, err)
				}
			}
			if err := child.Stop(t.Context()); err != nil {
				t.Errorf("stop what has ended: %v", err)
			}
		})
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	for name, paused := range map[string]bool{"Running": false, "Paused": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			child := start(t, "polite")
			ready(t, child)
			if err := child.Failure(); err != nil {
				t.Errorf("while it runs: %v", err)
			}
			if paused {
				if err := child.Signal(syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
			}
			if err := child.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			if alive(child.PID()) {
				t.Error("it is still there")
			}
			if diff := cmp.Diff("ready\ngot terminated\n", output(t, child)); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(0, child.ExitCode()); diff != "" {
				t.Errorf("exit code (-want +got):\n%s", diff)
			}
		})
	}
}

// TestStopKills proves that Stop returns in the caller's time, and reports it
// when that was not enough.
func TestStopKills(t *testing.T) {
	t.Parallel()
	child := start(t, "stubborn")
	ready(t, child)
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	err := child.Stop(impatient)
	if err == nil || !strings.Contains(err.Error(), "stop stubborn: it did not end after the signal and was killed") {
		t.Errorf("want an error that reports it, got %v", err)
	}
	if alive(child.PID()) {
		t.Error("it is still there")
	}
	if diff := cmp.Diff(-1, child.ExitCode()); diff != "" {
		t.Errorf("exit code of a killed child (-want +got):\n%s", diff)
	}
}

func TestKill(t *testing.T) {
	t.Parallel()
	child := start(t, "stubborn")
	ready(t, child)
	for range 2 { // the second time it has ended
		if err := child.Kill(); err != nil {
			t.Fatal(err)
		}
		if alive(child.PID()) {
			t.Error("it is still there")
		}
	}
	if err := child.Failure(); err == nil || !strings.Contains(err.Error(), "(signal: killed)") {
		t.Errorf("want a failure that names the signal, got %v", err)
	}
}

// TestThreadEnds proves that a child outlives the thread that started it: the
// kernel would end it together with the thread that made it.
func TestThreadEnds(t *testing.T) {
	t.Parallel()
	var child *process.Process
	var err error
	made := make(chan struct{})
	polite := spec(t, "polite")
	go func() {
		defer close(made)
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		child, err = process.Start(polite)
	}()
	<-made
	if err != nil {
		t.Fatal(err)
	}
	ready(t, child)
	if err := child.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("ready\ngot terminated\n", output(t, child)); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}
