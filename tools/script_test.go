// Package tools_test proves what tools/build promises, with a stub of the Go
// command, so that nothing is compiled.
package tools_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A stub of the go command: it writes its arguments to the file
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
// given stub, or no go at all.
func commands(t *testing.T, goScript string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"sh", "awk", "basename", "chmod", "date", "dirname", "getconf", "grep", "mkdir", "mv", "rm", "seq", "sleep", "tail", "uname"} {
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

// run waits for tools/build and returns its outcome.
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
