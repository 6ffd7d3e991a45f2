package credential_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential/credentialtest"
)

// A mounted Secret that is replaced is one change.
func TestDirectoryChanges(t *testing.T) {
	t.Parallel()
	m := credentialtest.NewMount(t, pairs("first")...)
	source := credential.NewDirectory(m.Path, parse)
	changes := follow(t, source)
	await(t, source, changes, "first")
	m.Replace(t, pairs("second")...)
	if n := await(t, source, changes, "second"); n != 1 {
		t.Errorf("%d changes, want 1", n)
	}
}

// A directory that appears later is read.
func TestDirectoryAppears(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "later")
	source := credential.NewDirectory(path, parse)
	if _, err := source.Lookup(t.Context(), "one"); !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, apierr.ErrUnavailable) {
		t.Errorf("Lookup() = %v, want %v", err, fs.ErrNotExist)
	}
	must(t, os.Mkdir(path, 0o700))
	for name, content := range credentialtest.Data(pairs("p")...) {
		must(t, os.WriteFile(filepath.Join(path, name), content, 0o600))
	}
	if _, err := source.Lookup(t.Context(), "one"); err != nil {
		t.Errorf("Lookup() = %v", err)
	}
}

// Files of different directories are read together, by their paths. Neighbors are not
// read, and a file that does not exist yet is noticed once it does.
func TestFiles(t *testing.T) {
	t.Parallel()
	mounted := credentialtest.NewMount(t, "cloud.conf", "first", "other", "x")
	conf, missing := filepath.Join(mounted.Path, "cloud.conf"), filepath.Join(t.TempDir(), "clouds.yaml")
	source := credential.NewFiles([]string{conf, missing}, func(data map[string][]byte) (map[string]login, error) {
		return map[string]login{"one": {user: string(data[missing]), password: string(data[conf])}}, nil
	})
	changes := follow(t, source)
	await(t, source, changes, "first")
	mounted.Replace(t, "cloud.conf", "second", "other", "y")
	await(t, source, changes, "second")
	must(t, os.WriteFile(missing, []byte("u"), 0o600))
	await(t, source, changes, "second")
	if got, err := source.Lookup(t.Context(), "one"); err != nil || got != (login{"u", "second"}) {
		t.Errorf("Lookup() = %v, %v", got, err)
	}
}

func TestFilesFail(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	none := credential.NewFiles([]string{filepath.Join(path, "a"), filepath.Join(path, "b")}, parse)
	if _, err := none.Lookup(t.Context(), "one"); !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, apierr.ErrUnavailable) {
		t.Errorf("Lookup() without a file = %v, want %v", err, fs.ErrNotExist)
	}
	folder := credential.NewFiles([]string{path}, parse)
	if _, err := folder.Lookup(t.Context(), "one"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Lookup() in a folder = %v, want another error", err)
	}
}

// Credentials that were read before are used for as long as the files are not readable or have
// a fault.
func TestPreset(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "later")
	source := credential.NewDirectory(path, parse)
	want := login{"preset", "p"}
	source.Preset(map[string]login{"one": want})
	lookup := func(reason string) {
		t.Helper()
		if got, err := source.Lookup(t.Context(), "one"); err != nil || got != want {
			t.Errorf("%s: Lookup() = %v, %v, want %v", reason, got, err, want)
		}
	}
	lookup("there is no directory")
	if _, err := source.Lookup(t.Context(), "two"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Lookup() of what was not read before = %v, want %v", err, fs.ErrNotExist)
	}
	must(t, os.Mkdir(path, 0o700))
	must(t, os.WriteFile(filepath.Join(path, "one.user"), []byte("incomplete"), 0o600))
	lookup("the directory is incomplete")
	must(t, os.WriteFile(filepath.Join(path, "one.password"), []byte("q"), 0o600))
	must(t, source.Refresh(t.Context()))
	want = login{"incomplete", "q"}
	lookup("the directory is complete")
}
