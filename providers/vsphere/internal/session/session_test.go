package session_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	govsession "github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// VS-SESSION-1: a login happens when it is needed, once for all callers, and SOAP
// and REST have one session each.
func TestLogsInOnce(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	s := b.open(t, session.Options{})
	if n := b.Total(); n != 0 {
		t.Errorf("New() made %d calls, want none", n)
	}
	ctx := bounded(t)

	var callers sync.WaitGroup
	for range 20 {
		callers.Go(func() {
			if err := s.SOAP(ctx, find); err != nil {
				t.Errorf("SOAP() = %v", err)
			}
		})
		callers.Go(func() {
			if err := s.REST(ctx, list); err != nil {
				t.Errorf("REST() = %v", err)
			}
		})
	}
	callers.Wait()
	if got, want := [2]int{b.Count("Login"), b.Count("RESTLogin")}, [2]int{1, 1}; got != want {
		t.Errorf("logins = %v, want %v", got, want)
	}
	if err := s.Close(ctx); err != nil {
		t.Errorf("Close() = %v", err)
	}
	if left := b.Sessions(); len(left) > 0 {
		t.Errorf("sessions after Close: %v", left)
	}
}

// VS-SESSION-9: the SOAP user agent.
func TestUserAgent(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	s := b.open(t, session.Options{})
	err := s.SOAP(bounded(t), func(ctx context.Context, c *vim25.Client) error {
		own, err := govsession.NewManager(c).UserSession(ctx)
		if err == nil && own.UserAgent != "k8s-cloud-provider-vsphere" {
			t.Errorf("user agent = %q", own.UserAgent)
		}

		return err
	})
	if err != nil {
		t.Errorf("SOAP() = %v", err)
	}
}

// VS-SESSION-2: sessions that vCenter has ended are made again, once for all callers,
// and their calls are repeated.
func TestLogsInAgain(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	s := b.open(t, session.Options{})
	ctx := bounded(t)
	both := func() {
		t.Helper()
		var callers sync.WaitGroup
		for range 8 {
			callers.Go(func() {
				if err := errors.Join(s.SOAP(ctx, find), s.REST(ctx, list)); err != nil {
					t.Errorf("call = %v", err)
				}
			})
		}
		callers.Wait()
	}
	both()
	b.TerminateSessions()
	both()
	if got, want := [2]int{b.Count("Login"), b.Count("RESTLogin")}, [2]int{2, 2}; got != want {
		t.Errorf("logins = %v, want %v", got, want)
	}
}

// VS-SESSION-3: a session whose calls are refused may still exist: it is ended.
func TestRefusedSessionsAreEnded(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	s := b.open(t, session.Options{Clock: b.clock})
	ctx := bounded(t)
	b.Inject("FindByUuid", simserver.Always(), vsphere.Fault(&types.NotAuthenticated{}))
	b.Inject("ListCategories", simserver.Always(), simserver.Status(http.StatusUnauthorized))

	for range 3 {
		if s.SOAP(ctx, find) == nil || s.REST(ctx, list) == nil {
			t.Fatal("call = nil, want an error")
		}
	}
	soap, rest := b.ids()
	if len(soap) > 1 || len(rest) > 1 {
		t.Errorf("sessions = %v and %v, want one of each API at most", soap, rest)
	}
	if err := s.Close(ctx); err != nil {
		t.Errorf("Close() = %v", err)
	}
	if left := b.Sessions(); len(left) > 0 {
		t.Errorf("sessions after Close: %v", left)
	}
}

// A caller that waits for a login can be canceled; the login goes on for the others.
func TestCallersAreIndependent(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	s := b.open(t, session.Options{})
	ctx := bounded(t)
	hold := simserver.NewHold()
	defer hold.Release()
	b.Inject("Login", simserver.Always(), hold.Before)

	canceled, cancel := context.WithCancel(ctx)
	gone, stayed := make(chan error, 1), make(chan error, 1)
	go func() { gone <- s.SOAP(canceled, find) }()
	if err := b.WaitFor(ctx, "Login", 1); err != nil {
		t.Fatal(err)
	}
	go func() { stayed <- s.SOAP(ctx, find) }()
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("SOAP() of the canceled caller = %v, want %v", err, context.Canceled)
	}
	hold.Release()
	if err := <-stayed; err != nil {
		t.Errorf("SOAP() of the other caller = %v", err)
	}
	if n := b.Count("Login"); n != 1 {
		t.Errorf("%d logins, want 1", n)
	}
}

// No login is made for a caller that is canceled already.
func TestNoLoginForCanceledCaller(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	s := b.open(t, session.Options{})
	canceled, cancel := context.WithCancel(bounded(t))
	cancel()
	for name, err := range map[string]error{"SOAP": s.SOAP(canceled, find), "REST": s.REST(canceled, list)} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s() = %v, want %v", name, err, context.Canceled)
		}
	}
	if err := s.Close(bounded(t)); err != nil { // waits for a login under way
		t.Errorf("Close() = %v", err)
	}
	if n := b.Count("RetrieveServiceContent") + b.Count("Login") + b.Count("RESTLogin"); n != 0 {
		t.Errorf("%d calls, want none", n)
	}
}

// VS-AUTH-4: the first source that has credentials is used.
func TestSourceOrder(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	wrong := session.Credentials{User: "unknown", Password: "wrong"}
	cases := map[string]struct {
		reason  string
		sources []session.Source
		want    error
	}{
		"First":   {"the first source is used", []session.Source{session.NewInFile(b.right()), session.NewInFile(wrong)}, nil},
		"Nothing": {"a source without credentials is skipped", []session.Source{credential.NewDirectory(t.TempDir(), session.Parse), session.NewInFile(b.right())}, nil},
		"Wrong":   {"credentials of the next source are not tried after a refusal", []session.Source{session.NewInFile(wrong), session.NewInFile(b.right())}, apierr.ErrDenied},
		"None":    {"no source has credentials", []session.Source{credential.NewDirectory(t.TempDir(), session.Parse), session.NewInFile(session.Credentials{})}, session.ErrMissing},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := b.open(t, session.Options{}, tc.sources...)
			err := s.SOAP(bounded(t), find)
			if diff := cmp.Diff(tc.want, err, equateErrors); diff != "" {
				t.Errorf("%s\nSOAP(): -want error, +got error:\n%s", tc.reason, diff)
			}
		})
	}
}

// A vCenter that never responds does not delay another.
func TestVCentersAreIndependent(t *testing.T) {
	t.Parallel()
	hanging, other := newFixture(t, vsphere.VCenterSpec{}), newFixture(t, vsphere.VCenterSpec{})
	hanging.Hang()
	ctx := bounded(t)
	first, second := hanging.open(t, session.Options{}), other.open(t, session.Options{})
	waiting, cancel := context.WithCancel(ctx)
	called := make(chan error, 1)
	go func() { called <- first.SOAP(waiting, find) }()
	if err := second.SOAP(ctx, find); err != nil {
		t.Errorf("SOAP() = %v", err)
	}
	cancel()
	if err := <-called; !errors.Is(err, context.Canceled) {
		t.Errorf("SOAP() of the hanging vCenter = %v, want %v", err, context.Canceled)
	}
}
