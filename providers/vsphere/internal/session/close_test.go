package session_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// VS-SESSION-3: every session is ended, and none is made afterwards.
func TestClose(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	s := b.open(t, session.Options{})
	ctx := bounded(t)
	if err := errors.Join(s.SOAP(ctx, find), s.REST(ctx, list)); err != nil {
		t.Fatalf("call = %v", err)
	}
	for range 2 { // the second time there is nothing to do
		if err := s.Close(ctx); err != nil {
			t.Errorf("Close() = %v", err)
		}
	}
	if left := b.Sessions(); len(left) > 0 {
		t.Errorf("sessions after Close: %v", left)
	}
	if err := s.SOAP(ctx, find); !errors.Is(err, session.ErrClosed) {
		t.Errorf("SOAP() = %v, want %v", err, session.ErrClosed)
	}
	if err := s.REST(ctx, list); !errors.Is(err, session.ErrClosed) {
		t.Errorf("REST() = %v, want %v", err, session.ErrClosed)
	}
	if n := b.Count("Login"); n != 1 {
		t.Errorf("%d logins, want 1", n)
	}
}

// VS-SESSION-3: Close waits for the response to a login that has been sent, and
// ends its session.
func TestCloseDuringLogin(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		op   string
		call func(context.Context, *session.Session) error
	}{
		"SOAP": {"Login", func(ctx context.Context, s *session.Session) error { return s.SOAP(ctx, find) }},
		"REST": {"RESTLogin", func(ctx context.Context, s *session.Session) error { return s.REST(ctx, list) }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, vsphere.VCenterSpec{})
			s := b.open(t, session.Options{})
			ctx := bounded(t)
			hold := simserver.NewHold()
			defer hold.Release()
			b.Inject(tc.op, simserver.Always(), hold.After)

			called, closed := make(chan error, 1), make(chan error, 1)
			go func() { called <- tc.call(ctx, s) }()
			eventually(t, "session made", func() bool { return len(b.Sessions()) == 1 })
			go func() { closed <- s.Close(ctx) }()
			eventually(t, "closing", func() bool {
				short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
				defer cancel()

				return errors.Is(s.SOAP(short, find), session.ErrClosed)
			})
			hold.Release()
			if err := <-closed; err != nil {
				t.Errorf("Close() = %v", err)
			}
			if err := <-called; !errors.Is(err, session.ErrClosed) {
				t.Errorf("call = %v, want %v", err, session.ErrClosed)
			}
			if left := b.Sessions(); len(left) > 0 {
				t.Errorf("sessions after Close: %v", left)
			}
		})
	}
}

// VS-SESSION-3: Close does not wait for a login that has sent no credentials yet,
// nor for longer than its own context.
func TestCloseIsBounded(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		op   string
		want error
	}{
		"Connecting": {"RetrieveServiceContent", nil},
		"LoggingIn":  {"Login", context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, vsphere.VCenterSpec{})
			s := b.open(t, session.Options{})
			ctx := bounded(t)
			hold := simserver.NewHold()
			defer hold.Release()
			b.Inject(tc.op, simserver.Always(), hold.Before)

			called := make(chan error, 1)
			go func() { called <- s.SOAP(ctx, find) }()
			if err := b.WaitFor(ctx, tc.op, 1); err != nil {
				t.Fatal(err)
			}
			short := ctx
			if tc.want != nil {
				var cancel context.CancelFunc
				short, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
				defer cancel()
			}
			if err := s.Close(short); !errors.Is(err, tc.want) {
				t.Errorf("Close() = %v, want %v", err, tc.want)
			}
			if err := <-called; !errors.Is(err, session.ErrClosed) {
				t.Errorf("SOAP() = %v, want %v", err, session.ErrClosed)
			}
			hold.Release() // the login is applied late, and its session ended
			eventually(t, "end of the login", func() bool { return b.Count("Logout") == b.Count("Login") })
			eventually(t, "no session", func() bool { return len(b.Sessions()) == 0 })
		})
	}
}

// A login with a truncated response has made a session, whose cookie is known: it is
// ended.
func TestLostLogin(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	s := b.open(t, session.Options{Clock: b.clock})
	ctx := bounded(t)
	b.Inject("Login", simserver.First(1), truncate)
	if err := s.SOAP(ctx, find); !errors.Is(err, apierr.ErrUnavailable) {
		t.Errorf("SOAP() = %v, want %v", err, apierr.ErrUnavailable)
	}
	if left := b.Sessions(); len(left) > 0 {
		t.Errorf("sessions after the login that was lost: %v", left)
	}
	b.clock.Step(time.Second)
	if err := s.SOAP(ctx, find); err != nil {
		t.Errorf("SOAP() = %v", err)
	}
	if n := b.Count("Login"); n != 2 {
		t.Errorf("%d logins, want 2", n)
	}
}
