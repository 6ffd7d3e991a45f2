//go:build e2ecluster

package e2ecluster

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
)

// processOf finds the process of a Pod among those of this machine, by its control group.
func processOf(t *testing.T, pod *v1.Pod) int {
	t.Helper()
	groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	// The drivers for control groups write the UID in one of these forms.
	uid := string(pod.UID)
	forms := []string{uid, strings.ReplaceAll(uid, "-", "_")}
	for _, group := range groups {
		text, err := os.ReadFile(group)
		if err != nil || !strings.Contains(string(text), forms[0]) && !strings.Contains(string(text), forms[1]) {
			continue // others have ended meanwhile
		}
		dir := filepath.Dir(group)
		command, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || !strings.HasPrefix(string(command), "/"+ccm.Name+"\x00") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			t.Fatal(err)
		}

		return pid
	}
	t.Fatalf("no process of this machine is in a control group of Pod %s.\n%s", pod.Name, howTo)

	return 0
}

// wantConfined checks what the kernel has for a process: an unprivileged user without capabilities,
// with a filter of system calls, on a file system that it cannot write to.
func wantConfined(t *testing.T, pid int) {
	t.Helper()
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	status := fieldsOf(t, filepath.Join(dir, "status"))
	const user, none = "65532\t65532\t65532\t65532", "0000000000000000"
	for field, want := range map[string]string{
		"Uid": user, "Gid": user, "CapInh": none, "CapPrm": none, "CapEff": none, "CapBnd": none, "CapAmb": none,
		"NoNewPrivs": "1", "Seccomp": "2",
	} {
		if status[field] != want {
			t.Errorf("%s of the process is %q, want %q", field, status[field], want)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "mountinfo"))
	if err != nil {
		t.Fatal(err)
	}
	readOnly := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 5 {
			readOnly[fields[4]] = strings.HasPrefix(fields[5], "ro")
		}
	}
	for _, path := range []string{"/", "/etc/cloud", "/etc/cloud-ca", "/var/run/secrets/kubernetes.io/serviceaccount"} {
		if !readOnly[path] && !readOnly["/run"+strings.TrimPrefix(path, "/var/run")] {
			t.Errorf("%s of the process is no read-only mount: %v", path, readOnly)
		}
	}
}

// fieldsOf reads the lines NAME: VALUE of a file.
func fieldsOf(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		fields[name] = strings.TrimSpace(value)
	}

	return fields
}
