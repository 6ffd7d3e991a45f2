// Package credentialtest has the sources of credentials that tests of package
// credential and of providers change: a Secret in an API server, and a directory like
// that of a mounted Secret.
//
// It is not for tests that need any other object: package kubetest has clients for
// these.
package credentialtest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Data returns keys and values by pairs of a key and its value.
func Data(pairs ...string) map[string][]byte {
	data := map[string][]byte{}
	for i := 0; i < len(pairs); i += 2 {
		data[pairs[i]] = []byte(pairs[i+1])
	}

	return data
}

// Mount is a directory like that of a mounted Secret: its files are links through one
// link, which is replaced.
type Mount struct {
	// Path is that of the directory.
	Path string

	replaced int
}

// NewMount makes a directory, by pairs of a file name and its content.
func NewMount(t testing.TB, pairs ...string) *Mount {
	t.Helper()
	m := &Mount{Path: t.TempDir()}
	m.Replace(t, pairs...)

	return m
}

// Replace replaces all files at once, the way the kubelet does.
func (m *Mount) Replace(t testing.TB, pairs ...string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	m.replaced++
	content := filepath.Join(m.Path, fmt.Sprintf("..content%d", m.replaced))
	must(os.Mkdir(content, 0o700))
	for name, value := range Data(pairs...) {
		must(os.WriteFile(filepath.Join(content, name), value, 0o600))
		link := filepath.Join(m.Path, name)
		if _, err := os.Lstat(link); err != nil {
			must(os.Symlink(filepath.Join("..data", name), link))
		}
	}
	next := filepath.Join(m.Path, "..data_tmp")
	must(os.Symlink(filepath.Base(content), next))
	must(os.Rename(next, filepath.Join(m.Path, "..data")))
}
