package controlplane

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/multicloud-ccm/multicloud-ccm/test/process"
)

// orphanDir makes the test binary start a control plane in that directory, say
// which processes it made, and hang: a parent for TestParentKilled to kill.
const orphanDir = "CONTROLPLANE_TEST_ORPHAN_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(orphanDir); dir != "" {
		becomeOrphanMaker(dir)
	}
	goleak.VerifyTestMain(m)
}

func becomeOrphanMaker(dir string) {
	cp, err := Start(context.Background(), Options{Dir: dir})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(cp.etcd.PID(), cp.apiServer.PID())
	select {}
}

// start runs a control plane for one test. Whatever the test does, no process
// of it may be left.
func start(t *testing.T, opts Options) *ControlPlane {
	t.Helper()
	cp, err := Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, cp) })

	return cp
}

// stop works in a cleanup too, where the test's own context has ended.
func stop(t *testing.T, cp *ControlPlane) {
	t.Helper()
	if err := cp.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}

// eventually repeats a check until it passes.
func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	deadline := time.Now().Add(process.Limit)
	for !check() {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func alive(pid int) bool {
	return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

func TestStartAndStop(t *testing.T) {
	t.Parallel()
	cp := start(t, Options{})
	config, err := clientcmd.BuildConfigFromFlags("", cp.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}

	// What a cloud controller manager requests when it starts.
	authentication, err := client.CoreV1().ConfigMaps("kube-system").Get(t.Context(), "extension-apiserver-authentication", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"client-ca-file", "requestheader-client-ca-file"} {
		if !strings.Contains(authentication.Data[key], "BEGIN CERTIFICATE") {
			t.Errorf("extension-apiserver-authentication has no certificate under %s", key)
		}
	}
	// Helm rejects charts for a server without a known version.
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if want, _ := minor(t); version.Major+"."+version.Minor != want || !strings.HasPrefix(version.GitVersion, "v"+want+".") {
		t.Errorf("server version %s (%s.%s), want one of %s", version.GitVersion, version.Major, version.Minor, want)
	}

	// A watch that is not ended must not delay the end of the server.
	watch, err := client.CoreV1().Nodes().Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()

	pids := []int{cp.etcd.PID(), cp.apiServer.PID()}
	address := strings.TrimPrefix(cp.RESTConfig().Host, "https://")
	if err := cp.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d is left", pid)
		}
	}
	if code := cp.apiServer.ExitCode(); code != 0 {
		t.Errorf("kube-apiserver did not end in good order: exit code %d", code)
	}
	if conn, err := net.Dial("tcp", address); err == nil {
		conn.Close()
		t.Errorf("something still listens on %s", address)
	}
	if _, err := os.Stat(cp.Dir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the temporary directory is left: %v", err)
	}
	if err := cp.Stop(t.Context()); err != nil {
		t.Errorf("a second Stop: %v", err)
	}
}

func TestStartFailures(t *testing.T) {
	t.Parallel()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	full := t.TempDir()
	put(t, 0o644, full, "precious")
	rejecting := t.TempDir()

	cases := map[string]struct {
		reason string
		ctx    context.Context
		opts   Options
		want   []string
		is     error
	}{
		"BogusFlag": {
			reason: "the error has the log of a process that ends",
			opts:   Options{ExtraAPIServerArgs: []string{"--bogus=1"}},
			want:   []string{"kube-apiserver ended by itself (exit status 1)", "unknown flag: --bogus"},
		},
		"NeverReady": {
			reason: "an API server that rejects the admin is given up when the context ends, with its log",
			ctx:    whileNotServing(t, rejecting),
			opts:   Options{Dir: rejecting, ExtraAPIServerArgs: []string{"--client-ca-file=" + frontProxyAuthorityFile}},
			want:   []string{"wait for kube-apiserver: it serves", "last result: get /readyz", "its log ends with:\n    "},
		},
		"Canceled": {
			reason: "the caller's context ends the start",
			ctx:    canceled,
			want:   []string{"wait for etcd"},
			is:     context.Canceled,
		},
		"DirInUse": {
			reason: "a directory with other files is not used",
			opts:   Options{Dir: full},
			want:   []string{full + " is not empty"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			if tc.ctx != nil {
				ctx = tc.ctx
			}
			if tc.opts.Dir == "" {
				tc.opts.Dir = t.TempDir()
			}
			_, err := Start(ctx, tc.opts)
			if err == nil {
				t.Fatalf("%s: want an error", tc.reason)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: error lacks %q:\n%v", tc.reason, want, err)
				}
			}
			if diff := cmp.Diff(tc.is, err, cmpopts.EquateErrors()); tc.is != nil && diff != "" {
				t.Errorf("%s: (-want +got):\n%s", tc.reason, diff)
			}
			if left := processesIn(t, tc.opts.Dir); len(left) > 0 {
				t.Errorf("%s: processes left: %q", tc.reason, left)
			}
		})
	}
}

// whileNotServing returns a context that ends when the API server in a directory serves.
func whileNotServing(t *testing.T, dir string) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if log, err := os.ReadFile(filepath.Join(dir, "kube-apiserver.log")); err == nil && strings.Contains(string(log), "Serving securely") {
				cancel(errors.New("it serves"))
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	t.Cleanup(func() {
		cancel(nil)
		<-done
	})

	return ctx
}

// TestStartWithoutBinaries cannot be parallel: it is about the environment.
func TestStartWithoutBinaries(t *testing.T) {
	t.Setenv(BinDirVariable, "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	_, err := Start(t.Context(), Options{})
	if err == nil {
		t.Fatal("want an error")
	}
	for _, want := range []string{"/etcd: no such file", "/kube-apiserver: no such file", "run `make tools` first"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q:\n%v", want, err)
		}
	}
}

// TestStopReportsCrash proves that a server which ended in the middle of a test
// does not go unnoticed.
func TestStopReportsCrash(t *testing.T) {
	t.Parallel()
	cp, err := Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := cp.etcd.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-cp.etcd.Ended()

	// Without etcd the API server cannot end in good order, so do not wait.
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	err = cp.Stop(impatient)
	if err == nil || !strings.Contains(err.Error(), "etcd ended by itself (signal: killed)") {
		t.Errorf("want an error that names etcd, got %v", err)
	}
	if alive(cp.apiServer.PID()) {
		t.Error("kube-apiserver is left")
	}
	if again := cp.Stop(t.Context()); !errors.Is(again, errors.Unwrap(err)) {
		t.Errorf("a second Stop must return the same: %v", again)
	}
}

// TestPause proves that a paused API server does not respond, that a resumed
// one does, and that a paused one can be stopped.
func TestPause(t *testing.T) {
	t.Parallel()
	cp := start(t, Options{})
	get := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, err := cp.Client().CoreV1().Namespaces().Get(ctx, "kube-system", metav1.GetOptions{})

		return err
	}

	if err := cp.PauseAPIServer(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a paused API server does not respond", func() bool { return errors.Is(get(), context.DeadlineExceeded) })
	if err := cp.ResumeAPIServer(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a resumed API server responds", func() bool { return get() == nil })
	if err := cp.PauseAPIServer(); err != nil {
		t.Fatal(err)
	}
}

// TestParentKilled proves that a caller which never reaches Stop leaves nothing
// behind either.
func TestParentKilled(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	parent := exec.CommandContext(t.Context(), self)
	parent.Env = append(os.Environ(), orphanDir+"="+dir)
	parent.Stderr = os.Stderr
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, readErr := bufio.NewReader(out).ReadString('\n')
	before := processesIn(t, dir)
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed

	var etcd, apiServer int
	if _, err := fmt.Sscan(line, &etcd, &apiServer); err != nil {
		t.Fatalf("the parent said %q: %v", line, errors.Join(readErr, err))
	}
	if len(before) != 2 {
		t.Errorf("want 2 processes in %s before, got %q", dir, before)
	}
	eventually(t, "etcd ends with its parent", func() bool { return !alive(etcd) })
	eventually(t, "kube-apiserver ends with its parent", func() bool { return !alive(apiServer) })
}

// processesIn lists the processes whose working directory is dir. It reads
// Linux's /proc and proves nothing on other systems.
func processesIn(t *testing.T, dir string) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, link := range links {
		// A process that has just ended, or belongs to another user, has no
		// link.
		if target, err := os.Readlink(link); err == nil && target == dir {
			name, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "comm"))
			found = append(found, strings.TrimSpace(string(name)))
		}
	}

	return found
}
