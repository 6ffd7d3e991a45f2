package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
	"github.com/multicloud-ccm/multicloud-ccm/test/scenario"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(suite{m}) }

// suite is all tests, of which no child may be left.
type suite struct{ *testing.M }

// Run implements goleak.TestingM.
func (s suite) Run() int {
	code := s.M.Run()
	if left := children(); len(left) > 0 {
		fmt.Fprintf(os.Stderr, "children are left: %q\n", left)

		return max(code, 1)
	}

	return code
}

// The demo as it is for each provider: it ends well, and Ctrl-C while everything
// is left running clears up.
func TestDemo(t *testing.T) {
	t.Parallel()
	binary, err := ccm.Locate("bin/e2e/" + ccm.Name)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range scenario.Providers() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out := &watched{text: "left running until Ctrl-C", seen: cancel}
			code := run(ctx, scenario.PlainPrinter(out), options{provider: p.Name, binary: binary, keep: true})
			if code != 0 {
				t.Errorf("exit code %d, want 0", code)
			}
			wants := []string{"provider = " + p.Name, "uninitialized", "shutdown", p.Name + "://", "export KUBECONFIG=", "5 of 5 nodes are still there"}
			if len(p.LoadBalancers) > 0 {
				wants = append(wants, "Resources in the cloud:", "no resources are left in the cloud")
			}
			for _, kind := range p.LoadBalancers {
				// The width of the column depends on the names of all kinds.
				row := regexp.MustCompile(fmt.Sprintf(`(?m)^\s*%s +%d:`, kind.Name, kind.Service(kind.Name).Spec.Ports[0].Port))
				if !row.MatchString(out.String()) {
					t.Errorf("output lacks a row like %s", row)
				}
			}
			for _, want := range wants {
				if !strings.Contains(out.String(), want) {
					t.Errorf("output lacks %q", want)
				}
			}
			if t.Failed() {
				t.Log(out.String())
			}
		})
	}
}

// Ctrl-C in the middle leaves nothing behind.
func TestDemoInterrupted(t *testing.T) {
	t.Parallel()
	binary, err := ccm.Locate("bin/e2e/" + ccm.Name)
	if err != nil {
		t.Fatal(err)
	}
	for _, moment := range []string{"Starting etcd", "Starting it, until"} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out := &watched{text: moment, seen: cancel}
			code := run(ctx, scenario.PlainPrinter(out), options{provider: "vsphere", binary: binary})
			if code != interrupted {
				t.Errorf("exit code %d, want %d; output:\n%s", code, interrupted, out)
			}
		})
	}
}

// The error of a demo that cannot start contains what to do.
func TestDemoErrors(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	ends := filepath.Join(t.TempDir(), "ends")
	if err := os.WriteFile(ends, []byte("#!/bin/sh\necho 'this is why'\nexit 3\n"), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason string
		opts   options
		want   []string
	}{
		"no binary":   {reason: "it has to be built first", opts: options{provider: "vsphere", binary: missing}, want: []string{missing, "make build"}},
		"no provider": {reason: "the names are few", opts: options{provider: "cloud", binary: ends}, want: []string{`"cloud"`, "vsphere"}},
		"binary ends": {reason: "its log has the cause", opts: options{provider: "vsphere", binary: ends}, want: []string{"exit status 3", "this is why", "logs are kept in"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := &watched{}
			if code := run(t.Context(), scenario.PlainPrinter(out), tc.opts); code != 1 {
				t.Errorf("%s: exit code %d, want 1", tc.reason, code)
			}
			for _, want := range tc.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%s: output lacks %q:\n%s", tc.reason, want, out)
				}
			}
			removeKept(t, out.String())
		})
	}
}

// watched is an output that signals when it has got a text.
type watched struct {
	text string
	seen func()

	mu  sync.Mutex
	buf bytes.Buffer
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.buf.Write(p)
	if w.seen != nil && strings.Contains(w.buf.String(), w.text) {
		w.seen()
	}

	return n, err
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()

	return w.buf.String()
}

// children describes the children of this process.
func children() []string {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return []string{err.Error()}
	}
	var found []string
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// The name can have spaces and stands in parentheses; state and parent follow.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) {
			found = append(found, string(stat))
		}
	}

	return found
}

// removeKept removes the logs that a failure keeps.
func removeKept(t *testing.T, output string) {
	t.Helper()
	_, after, ok := strings.Cut(output, "logs are kept in ")
	if !ok {
		return
	}
	dir, _, _ := strings.Cut(after, "\n")
	if filepath.Dir(dir) != filepath.Clean(os.TempDir()) {
		t.Fatalf("logs are kept in %s, want a directory in %s", dir, os.TempDir())
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Error(err)
	}
}
