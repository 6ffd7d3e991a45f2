package session_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential/credentialtest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// runSource runs a source until the test ends.
func runSource(t *testing.T, source interface{ Run(ctx context.Context) }) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		source.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

// dotted are the keys for the server of a fixture.
func (b *fixture) dotted(password string) []string {
	return []string{
		b.endpoint.Server + ".username", b.User(),
		b.endpoint.Server + ".password", password,
	}
}

// VS-AUTH-5: the directory is watched; new credentials make a new session, and
// the old one is logged out, without any call of others.
func TestRotationByDirectory(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	m := credentialtest.NewMount(t, b.dotted(b.Password())...)
	source := credential.NewDirectory(m.Path, session.Parse)
	runSource(t, source)
	s := b.open(t, session.Options{}, source)
	b.checkRotation(t, s, func(password string) { m.Replace(t, b.dotted(password)...) })
}

// checkRotation checks that a new password makes sessions that replace the old ones.
func (b *fixture) checkRotation(t *testing.T, s *session.Session, write func(password string)) {
	t.Helper()
	ctx := bounded(t)
	must(t, errors.Join(s.SOAP(ctx, find), s.REST(ctx, list)))
	oldSOAP, oldREST := b.ids()
	b.SetPassword("second")
	write("second")
	eventually(t, "new sessions", func() bool {
		soap, rest := b.ids()

		return len(soap) == 1 && len(rest) == 1 && soap[0] != oldSOAP[0] && rest[0] != oldREST[0]
	})
	must(t, errors.Join(s.SOAP(ctx, find), s.REST(ctx, list)))
	if got, want := [2]int{b.Count("Login"), b.Count("RESTLogin")}, [2]int{2, 2}; got != want {
		t.Errorf("logins = %v, want %v", got, want)
	}
	must(t, s.Close(ctx))
	if left := b.Sessions(); len(left) > 0 {
		t.Errorf("sessions after Close: %v", left)
	}
}

// VS-AUTH-5: new credentials that are wrong leave the session that works alone, and cost one failed
// login. If that session ends, the former ones log in again. The new ones are tried again after a
// delay: often the Secret changes before the vCenter does.
func TestWrongRotationKeepsTheSession(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	m := credentialtest.NewMount(t, b.dotted(b.Password())...)
	source := credential.NewDirectory(m.Path, session.Parse)
	s := b.open(t, session.Options{Clock: b.clock}, source)
	ctx := bounded(t)
	must(t, s.SOAP(ctx, find))
	before, _ := b.ids()

	m.Replace(t, b.dotted("too early")...)
	must(t, source.Refresh(ctx))
	eventually(t, "login with the new password", func() bool { return b.Count("Login") == 2 })
	for range 5 {
		must(t, s.SOAP(ctx, find))
	}
	if after, _ := b.ids(); len(after) != 1 || after[0] != before[0] {
		t.Errorf("sessions = %v, want %v", after, before)
	}
	if n := b.Count("Login"); n != 2 {
		t.Errorf("%d logins, want 2", n)
	}
	must(t, s.REST(ctx, list))
	b.TerminateSessions()
	must(t, errors.Join(s.SOAP(ctx, find), s.REST(ctx, list)))
	if n := len(b.RefusedLogins()); n != 1 {
		t.Errorf("%d refused logins, want 1", n)
	}
	before, _ = b.ids()

	b.SetPassword("too early")
	b.clock.Step(15 * time.Second)
	must(t, s.SOAP(ctx, find))
	eventually(t, "new session", func() bool {
		after, _ := b.ids()

		return len(after) == 1 && after[0] != before[0]
	})
}

// Credentials that change while a vCenter is down are used once it is back.
func TestRotationWhileDown(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	b.endpoint.RoundTrips = 1
	m := credentialtest.NewMount(t, b.dotted(b.Password())...)
	source := credential.NewDirectory(m.Path, session.Parse)
	s := b.open(t, session.Options{Clock: b.clock}, source)
	ctx := bounded(t)
	must(t, s.SOAP(ctx, find))
	before, _ := b.ids()
	b.SetPassword("second")
	b.Down()
	m.Replace(t, b.dotted("second")...)
	must(t, source.Refresh(ctx))
	if err := s.SOAP(ctx, find); !errors.Is(err, apierr.ErrUnavailable) {
		t.Errorf("SOAP() = %v, want %v", err, apierr.ErrUnavailable)
	}
	must(t, b.Up())
	eventually(t, "new session", func() bool {
		b.clock.Step(unavailableMax)
		must(t, s.SOAP(ctx, find))
		after, _ := b.ids()

		return len(after) == 1 && after[0] != before[0]
	})
}

// VS-AUTH-7: during the delay after a wrong password, a new one is tried at once;
// the same one written again is not: one failed login for each version of the
// credentials.
func TestNewPasswordIsTriedAtOnce(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	m := credentialtest.NewMount(t, b.dotted("wrong")...)
	source := credential.NewDirectory(m.Path, session.Parse)
	s := b.open(t, b.notYoung(t), source)
	ctx := bounded(t)
	for _, step := range []struct {
		password string
		logins   int
	}{{"wrong", 1}, {"wrong", 1}, {"wrong too", 2}, {"wrong too", 2}} {
		m.Replace(t, b.dotted(step.password)...)
		must(t, source.Refresh(ctx))
		for range 3 {
			if err := s.SOAP(ctx, find); !errors.Is(err, apierr.ErrDenied) {
				t.Fatalf("SOAP() = %v, want %v", err, apierr.ErrDenied)
			}
		}
		if n := b.Count("Login"); n != step.logins {
			t.Fatalf("%d logins with %q, want %d", n, step.password, step.logins)
		}
	}
	m.Replace(t, b.dotted(b.Password())...)
	must(t, source.Refresh(ctx))
	must(t, s.SOAP(ctx, find))
}

// VS-AUTH-5: a refused login has the source read again, even without a change of
// the source that was noticed.
func TestRefusalReadsAgain(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	m := credentialtest.NewMount(t, b.dotted(b.Password())...)
	s := b.open(t, session.Options{}, credential.NewDirectory(m.Path, session.Parse)) // not watched
	ctx := bounded(t)
	must(t, s.SOAP(ctx, find))
	b.SetPassword("second")
	m.Replace(t, b.dotted("second")...)
	b.TerminateSessions()
	must(t, s.SOAP(ctx, find))
	if n := b.Count("Login"); n != 3 {
		t.Errorf("%d logins, want 3: the first, the refused, the new", n)
	}
}

// VS-AUTH-6: credentials that were read stay in use if the source is deleted or invalid.
func TestLastKnownGood(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	path := t.TempDir()
	write := func(pairs ...string) {
		for key, value := range credentialtest.Data(pairs...) {
			must(t, os.WriteFile(filepath.Join(path, key), value, 0o600))
		}
	}
	write(b.dotted(b.Password())...)
	source := credential.NewDirectory(path, session.Parse)
	s := b.open(t, session.Options{}, source)
	ctx := bounded(t)
	must(t, s.SOAP(ctx, find))

	cases := []struct {
		name string
		do   func()
	}{
		{"broken", func() { write("notes", "x", b.endpoint.Server+".password", "") }},
		{"gone", func() { must(t, os.RemoveAll(path)) }},
	}
	for _, tc := range cases {
		tc.do()
		_ = source.Refresh(ctx) // may fail
		b.TerminateSessions()
		if err := s.SOAP(ctx, find); err != nil {
			t.Errorf("SOAP() when the source is %s = %v", tc.name, err)
		}
	}
}
