package session_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// A REST API that does not respond is sent no password before it does again, so
// that the login after the outage happens within seconds.
func TestRESTIsProbedAfterALostLogin(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	s := b.open(t, session.Options{Clock: b.clock})
	ctx := bounded(t)
	rule := b.Inject(vsphere.GroupREST, simserver.Always(), simserver.Drop())
	for range 60 {
		if err := s.REST(ctx, list); !errors.Is(err, apierr.ErrUnavailable) {
			t.Fatalf("REST() = %v, want %v", err, apierr.ErrUnavailable)
		}
		b.clock.Step(time.Second)
	}
	if n := b.Count("RESTLogin"); n != 1 {
		t.Errorf("%d REST logins, want 1", n)
	}
	rule.Remove()
	b.clock.Step(unavailableMax)
	must(t, s.REST(ctx, list))
}

// VS-AUTH-7: a vCenter whose directory cannot be reached refuses a right password. One that
// was accepted before is tried again soon, within the limit of the account.
func TestDirectoryAway(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		away    time.Duration
		refused []int // seconds
		again   int   // second in which it is used again
	}{
		"20Seconds": {"the next login is after 30 seconds", 20 * time.Second, []int{0}, 30},
		"50Seconds": {"two logins are refused, then the password must wait", 50 * time.Second, []int{0, 30}, 181},
		"30Minutes": {"each one that is refused makes the delay longer", 30 * time.Minute, []int{0, 30, 181, 481, 1081, 1681}, 2281},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, vsphere.VCenterSpec{})
			s := b.open(t, session.Options{Clock: b.clock})
			ctx := bounded(t)
			call := func() error { return errors.Join(s.SOAP(ctx, find), s.REST(ctx, list)) }
			must(t, call())
			b.Inject("Login", simserver.Always(), vsphere.Fault(&types.InvalidLogin{}))
			b.Inject("RESTLogin", simserver.Always(), simserver.Status(http.StatusUnauthorized))
			b.TerminateSessions()
			start, logins := b.clock.Now(), b.Count("Login")+b.Count("RESTLogin")
			var refused []time.Time
			for now := 0; ; now++ {
				if b.clock.Since(start) >= tc.away {
					b.Clear()
				}
				err := call()
				if err == nil {
					if now != tc.again {
						t.Errorf("%s: used again after %d s, want %d", tc.reason, now, tc.again)
					}

					break
				}
				if !errors.Is(err, apierr.ErrDenied) {
					t.Fatalf("call = %v, want %v", err, apierr.ErrDenied)
				}
				for ; logins < b.Count("Login")+b.Count("RESTLogin"); logins++ {
					refused = append(refused, b.clock.Now())
				}
				b.clock.Step(time.Second)
			}
			if diff := cmp.Diff(tc.refused, seconds(refused, start)); diff != "" {
				t.Errorf("%s: seconds of the refused logins: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// The REST API of a vCenter may be unavailable for long. The SOAP API neither logs in
// for it nor fails with its error.
func TestRESTDownLeavesSOAPAlone(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	s := b.open(t, session.Options{Clock: b.clock})
	ctx := bounded(t)
	b.RESTDown()
	for i := range 120 {
		if err := s.REST(ctx, list); !errors.Is(err, apierr.ErrUnavailable) {
			t.Fatalf("REST() = %v, want %v", err, apierr.ErrUnavailable)
		}
		if i%20 == 0 {
			b.TerminateSessions()
		}
		must(t, s.SOAP(ctx, find))
		b.clock.Step(time.Second)
	}
	if n := b.Count("Login"); n != 6 {
		t.Errorf("%d SOAP logins, want 6: one for each session that ended", n)
	}
	if n := b.Count("RESTLogin"); n > 30 {
		t.Errorf("%d REST logins within 2 minutes, want one in five seconds", n)
	}
	b.RESTUp()
	b.clock.Step(unavailableMax)
	must(t, s.REST(ctx, list))
}

// A SOAP API that does not respond to logins, either, leaves REST alone.
func TestSOAPDownLeavesRESTAlone(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	b.endpoint.RoundTrips = 1
	s := b.open(t, session.Options{Clock: b.clock})
	ctx := bounded(t)
	b.Inject(vsphere.GroupSOAP, simserver.Always(), simserver.Status(http.StatusServiceUnavailable))
	for range 3 {
		if err := s.SOAP(ctx, find); !errors.Is(err, apierr.ErrUnavailable) {
			t.Fatalf("SOAP() = %v, want %v", err, apierr.ErrUnavailable)
		}
		must(t, s.REST(ctx, list))
		b.TerminateSessions()
	}
}

// VS-SESSION-7: Sessions that vCenter ends as soon as they are made are no reason
// to log in at the pace of the calls.
func TestShortLivedSessions(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	s := b.open(t, session.Options{Clock: b.clock})
	ctx := bounded(t)
	b.Inject("FindByUuid", simserver.Always(), vsphere.Fault(&types.NotAuthenticated{}))

	for range 50 {
		if err := s.SOAP(ctx, find); err == nil {
			t.Fatal("SOAP() = nil, want an error")
		}
	}
	if n := b.Count("Login"); n > 6 {
		t.Errorf("%d logins, want a few", n)
	}
	if err := s.SOAP(ctx, find); !errors.Is(err, apierr.ErrUnavailable) {
		t.Errorf("SOAP() = %v, want %v", err, apierr.ErrUnavailable)
	}
	b.Clear()
	b.clock.Step(time.Minute)
	if err := s.SOAP(ctx, find); err != nil {
		t.Errorf("SOAP() = %v", err)
	}
}
