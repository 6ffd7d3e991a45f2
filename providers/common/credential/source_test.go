package credential_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential/credentialtest"
)

func TestInFile(t *testing.T) {
	t.Parallel()
	want := login{"u", "p"}
	source := credential.NewInFile(want, nil)
	source.Subscribe(func(context.Context) { t.Error("credentials in the cloud-config changed") })
	must(t, source.Refresh(t.Context()))
	if got, err := source.Lookup(t.Context(), "any"); err != nil || got != want {
		t.Errorf("Lookup() = %v, %v", got, err)
	}
	if _, err := credential.NewInFile(login{}, errPart).Lookup(t.Context(), "any"); !errors.Is(err, errPart) {
		t.Errorf("Lookup() = %v, want %v", err, errPart)
	}
}

// Lookup reads once; what it does not find is an error that names the source.
func TestLookup(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		pairs  []string
		want   error
	}{
		"Complete":   {"all parts are there", pairs("p"), nil},
		"Incomplete": {"the reason is known", []string{"one.user", "u"}, errPart},
		"Other":      {"another name", []string{"two.user", "u", "two.password", "p"}, credential.ErrNotFound},
		"Mistake":    {"a mistake about another name", append(pairs("p"), "two.user", "u"), nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := credentialtest.NewMount(t, tc.pairs...)
			source := credential.NewDirectory(m.Path, parse)
			_, err := source.Lookup(t.Context(), "one")
			if !errors.Is(err, tc.want) {
				t.Fatalf("%s\nLookup() = %v, want %v", tc.reason, err, tc.want)
			}
			if tc.want != nil && (!errors.Is(err, apierr.ErrDenied) || !strings.Contains(err.Error(), m.Path)) {
				t.Errorf("%s\nLookup() = %v, want %v of %s", tc.reason, err, apierr.ErrDenied, m.Path)
			}
			m.Replace(t, pairs("second")...)
			if got, _ := source.Lookup(t.Context(), "one"); got.password == "second" {
				t.Errorf("%s\nLookup() read a second time", tc.reason)
			}
		})
	}
}

// Credentials that were read stay if their source becomes incomplete or is deleted,
// and subscribers are called for changes alone.
func TestRefresh(t *testing.T) {
	t.Parallel()
	m := credentialtest.NewMount(t, pairs("first")...)
	source := credential.NewDirectory(m.Path, parse)
	changes := 0
	source.Subscribe(func(context.Context) { changes++ })
	for _, step := range []struct {
		reason   string
		do       func()
		fails    bool
		password string
		changes  int
	}{
		{"the first read is a change", func() {}, false, "first", 1},
		{"nothing changed", func() { m.Replace(t, pairs("first")...) }, false, "first", 1},
		{"another password", func() { m.Replace(t, pairs("second")...) }, false, "second", 2},
		{"a part is missing", func() { m.Replace(t, "one.user", "u", "one.password", "") }, false, "second", 2},
		{"a second name", func() { m.Replace(t, append(pairs("second"), "two.user", "u", "two.password", "p")...) }, false, "second", 3},
		{"deleted", func() { must(t, os.RemoveAll(m.Path)) }, true, "second", 3},
	} {
		step.do()
		if err := source.Refresh(t.Context()); (err != nil) != step.fails || err != nil && !errors.Is(err, apierr.ErrUnavailable) {
			t.Errorf("%s: Refresh() = %v", step.reason, err)
		}
		got, err := source.Lookup(t.Context(), "one")
		if err != nil || got.password != step.password || changes != step.changes {
			t.Errorf("%s: Lookup() = %v, %v with %d changes, want %q and %d", step.reason, got, err, changes, step.password, step.changes)
		}
	}
}

// An older read does not replace the result of a newer one.
func TestOlderReadIsDropped(t *testing.T) {
	t.Parallel()
	m := credentialtest.NewMount(t, pairs("older")...)
	parsing, proceed := make(chan struct{}), make(chan struct{})
	source := credential.NewDirectory(m.Path, func(data map[string][]byte) (map[string]login, error) {
		if string(data["one.password"]) == "older" {
			close(parsing)
			<-proceed
		}

		return parse(data)
	})
	read := make(chan error)
	go func() { read <- source.Refresh(t.Context()) }()
	<-parsing
	m.Replace(t, pairs("newer")...)
	must(t, source.Refresh(t.Context()))
	close(proceed)
	must(t, <-read)
	if got, err := source.Lookup(t.Context(), "one"); err != nil || got.password != "newer" {
		t.Errorf("Lookup() = %v, %v, want the newer password", got, err)
	}
}

// VS-AUTH-10: files that are no credentials are skipped.
func TestDirectorySkips(t *testing.T) {
	t.Parallel()
	m := credentialtest.NewMount(t, pairs("p")...)
	must(t, os.Mkdir(filepath.Join(m.Path, "folder"), 0o700))
	must(t, os.Symlink("nowhere", filepath.Join(m.Path, "dangling")))
	source := credential.NewDirectory(m.Path, func(data map[string][]byte) (map[string]login, error) {
		if len(data) != 2 {
			t.Errorf("%d files were read, want 2", len(data))
		}

		return parse(data)
	})
	if got, err := source.Lookup(t.Context(), "one"); err != nil || got != (login{"u", "p"}) {
		t.Errorf("Lookup() = %v, %v", got, err)
	}
}

// TestInFileReplaced (VS-AUTH-5): subscribers are called for credentials that differ, which end an error.
func TestInFileReplaced(t *testing.T) {
	t.Parallel()
	source, changes := credential.NewInFile("", errPart), 0
	source.Subscribe(func(context.Context) { changes++ })
	for range 2 {
		source.Replace(t.Context(), "new")
	}
	must(t, source.Refresh(t.Context()))
	if got, err := source.Lookup(t.Context(), "any"); got != "new" || err != nil || changes != 1 {
		t.Errorf("Lookup() = %q, %v after %d changes, want new after one", got, err, changes)
	}
}
