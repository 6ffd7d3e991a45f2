package tools_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A database that is down does not fail a build, and everything else that goes wrong does.
func TestVulnerabilities(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		script string // of govulncheck
		code   int
		want   string
	}{
		"none":     {"nothing was found", "echo No vulnerabilities found.", 0, "No vulnerabilities found."},
		"found":    {"a vulnerability fails the build", "echo Vulnerability 1: GO-2026-0001; exit 3", 3, "GO-2026-0001"},
		"down":     {"the database cannot be reached", "echo govulncheck: fetching vulnerabilities: no such host >&2; exit 1", 0, "not checked for vulnerabilities: https://vuln.go.dev cannot be reached"},
		"unusable": {"the binary cannot be read", "echo govulncheck: not a Go binary >&2; exit 1", 1, "not a Go binary"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bin := t.TempDir()
			if err := os.WriteFile(filepath.Join(bin, "govulncheck"), []byte("#!/bin/sh\n"+tc.script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "./vulnerabilities", "binary")
			cmd.Env = append(os.Environ(), "MULTICLOUD_CCM_BIN_DIR="+bin, "GOVULNDB=")
			out, err := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != tc.code || !strings.Contains(string(out), tc.want) {
				t.Errorf("%s: exit code %d (%v), want %d; output:\n%s\nwant %q", tc.reason, code, err, tc.code, out, tc.want)
			}
		})
	}
}
