package session_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/fault"
	govsession "github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/front"
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

// VS-SESSION-2: sessions that vCenter has ended are made again, once for all who
// notice, and their calls are repeated.
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

// A vCenter that restarts has no session left and refuses connections meanwhile.
// Nothing has to be done for it.
func TestRestart(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	b.endpoint.RoundTrips = 1
	s := b.open(t, session.Options{Clock: b.clock})
	ctx := bounded(t)
	if err := s.SOAP(ctx, find); err != nil {
		t.Fatalf("SOAP() = %v", err)
	}
	b.TerminateSessions()
	b.Down()
	if err := s.SOAP(ctx, find); !errors.Is(err, apierr.ErrUnavailable) {
		t.Errorf("SOAP() while down = %v, want %v", err, apierr.ErrUnavailable)
	}
	if err := b.Up(); err != nil {
		t.Fatal(err)
	}
	if err := s.SOAP(ctx, find); err != nil {
		t.Errorf("SOAP() after the restart = %v", err)
	}
}

// VS-AUTH-7: one failed login for each password, then longer and longer pauses in
// which calls fail at once: vCenter locks accounts.
func TestWrongPassword(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	wrong := b.right()
	wrong.Password = "wrong"
	s := b.open(t, session.Options{Clock: b.clock}, session.Inline(wrong))
	ctx := bounded(t)
	start := b.clock.Now()
	for range 3600 {
		err := s.SOAP(ctx, find)
		if !errors.Is(err, apierr.ErrDenied) || !fault.Is(err, &types.InvalidLogin{}) {
			t.Fatalf("SOAP() = %v, want %v", err, apierr.ErrDenied)
		}
		if err := s.REST(ctx, list); !errors.Is(err, apierr.ErrDenied) {
			t.Fatalf("REST() = %v, want %v", err, apierr.ErrDenied)
		}
		b.clock.Step(time.Second)
	}
	var seconds []int
	for _, at := range b.RefusedLogins() {
		seconds = append(seconds, int(at.Sub(start)/time.Second))
	}
	// Pauses of 15, 30, 60, 120, 240 and 300 s, or longer where two logins were
	// refused within the last three minutes.
	want := []int{0, 15, 181, 241, 362, 602, 902, 1202, 1502, 1802, 2102, 2402, 2702, 3002, 3302}
	if diff := cmp.Diff(want, seconds); diff != "" {
		t.Errorf("seconds of the logins: -want, +got:\n%s", diff)
	}
	// The text tells who was refused where, and until when.
	err := s.SOAP(ctx, find)
	for _, part := range []string{
		"vCenter vc1", `user "administrator@vsphere.local"`, "cloud-config", "not tried again before 20",
	} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("SOAP() = %v, want it to name %q", err, part)
		}
	}
}

// What one API refuses does not keep the other from a session whose credentials
// it has taken before.
func TestRefusedByOneAPI(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	s := b.open(t, session.Options{Clock: b.clock})
	ctx := bounded(t)
	if err := s.SOAP(ctx, find); err != nil {
		t.Fatalf("SOAP() = %v", err)
	}
	b.Break("RESTLogin", front.Always(), front.Status(http.StatusForbidden))
	for range 3 {
		if err := s.REST(ctx, list); !errors.Is(err, apierr.ErrDenied) {
			t.Errorf("REST() = %v, want %v", err, apierr.ErrDenied)
		}
	}
	if n := b.Count("RESTLogin"); n != 1 {
		t.Errorf("%d REST logins, want 1", n)
	}
	b.TerminateSessions()
	if err := s.SOAP(ctx, find); err != nil {
		t.Errorf("SOAP() = %v", err)
	}
}

// VS-SESSION-7: where the network fails, logins pause too, and less.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	b.endpoint.RoundTrips = 1
	s := b.open(t, session.Options{Clock: b.clock})
	ctx := bounded(t)
	rule := b.Break("RetrieveServiceContent", front.Always(), front.Drop())

	for i, pause := range []time.Duration{1, 2, 4, 5, 5, 5} {
		for range 3 {
			if err := s.SOAP(ctx, find); !errors.Is(err, apierr.ErrUnavailable) {
				t.Fatalf("SOAP() = %v, want %v", err, apierr.ErrUnavailable)
			}
		}
		if n := rule.Hits(); n != i+1 {
			t.Fatalf("%d connections, want %d before a pause of %v s", n, i+1, int(pause))
		}
		must(t, s.REST(ctx, list)) // has pauses of its own
		b.clock.Step(pause*time.Second - time.Millisecond)
		if err := s.SOAP(ctx, find); err == nil || rule.Hits() != i+1 {
			t.Fatalf("SOAP() before the end of the pause = %v, %d connections", err, rule.Hits())
		}
		b.clock.Step(time.Millisecond)
	}
	rule.Remove()
	if err := s.SOAP(ctx, find); err != nil {
		t.Errorf("SOAP() = %v", err)
	}
}

// VS-SESSION-7: Sessions that vCenter ends as soon as they are made are no reason
// to log in at the pace of the calls.
func TestBriefSessions(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	s := b.open(t, session.Options{Clock: b.clock})
	ctx := bounded(t)
	b.Break("FindByUuid", front.Always(), vsphere.Fault(&types.NotAuthenticated{}))

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
	b.Mend()
	b.clock.Step(time.Minute)
	if err := s.SOAP(ctx, find); err != nil {
		t.Errorf("SOAP() = %v", err)
	}
}

// VS-SESSION-3: a session whose calls are refused may be alive all the same: it
// is ended.
func TestRefusedSessionsAreEnded(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	s := b.open(t, session.Options{Clock: b.clock})
	ctx := bounded(t)
	b.Break("FindByUuid", front.Always(), vsphere.Fault(&types.NotAuthenticated{}))
	b.Break("ListCategories", front.Always(), front.Status(http.StatusUnauthorized))

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

// VS-SESSION-5: a vCenter that never responds costs a call its deadline, and a
// caller no more than its patience.
func TestHang(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	s := b.open(t, session.Options{CallTimeout: time.Second, Clock: b.clock})
	ctx := bounded(t)
	if err := errors.Join(s.SOAP(ctx, find), s.REST(ctx, list)); err != nil {
		t.Fatalf("call = %v", err)
	}
	b.Hang()
	for name, call := range map[string]func(context.Context) error{
		"SOAP": func(ctx context.Context) error { return s.SOAP(ctx, find) },
		"REST": func(ctx context.Context) error { return s.REST(ctx, list) },
	} {
		if err := call(ctx); !errors.Is(err, apierr.ErrUnavailable) || apierr.Code(err) != apierr.CodeTimeout {
			t.Errorf("%s() = %v, want a time-out that is %v", name, err, apierr.ErrUnavailable)
		}
		cancelled, cancel := context.WithCancel(ctx)
		cancel()
		if err := call(cancelled); !errors.Is(err, context.Canceled) {
			t.Errorf("%s() = %v, want %v", name, err, context.Canceled)
		}
	}
	if err := b.Up(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.SOAP(ctx, find), s.REST(ctx, list)); err != nil {
		t.Errorf("call after the hang = %v", err)
	}
}

// Callers that wait for a login leave when they like; the login goes on for the
// others.
func TestWaitersAreTheirOwn(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	s := b.open(t, session.Options{})
	ctx := bounded(t)
	hold := front.NewHold()
	defer hold.Release()
	b.Break("Login", front.Always(), hold.Before)

	impatient, leave := context.WithCancel(ctx)
	gone, stayed := make(chan error, 1), make(chan error, 1)
	go func() { gone <- s.SOAP(impatient, find) }()
	if err := b.WaitFor(ctx, "Login", 1); err != nil {
		t.Fatal(err)
	}
	go func() { stayed <- s.SOAP(ctx, find) }()
	leave()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("SOAP() of the one who left = %v, want %v", err, context.Canceled)
	}
	hold.Release()
	if err := <-stayed; err != nil {
		t.Errorf("SOAP() of the one who stayed = %v", err)
	}
	if n := b.Count("Login"); n != 1 {
		t.Errorf("%d logins, want 1", n)
	}
}

// VS-SESSION-6: soap-roundtrip-count is how often a read is sent.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	create := func(ctx context.Context, c *vim25.Client) error {
		_, err := methods.CreateContainerView(ctx, c, &types.CreateContainerView{
			This: *c.ServiceContent.ViewManager, Container: c.ServiceContent.RootFolder, Type: []string{"VirtualMachine"},
		})

		return err
	}
	cases := map[string]struct {
		reason string
		count  int
		op     string
		call   func(context.Context, *vim25.Client) error
		effect front.Effect
		broken int
		sent   int
		want   error
	}{
		"Default":    {"0 means 3", 0, "FindByUuid", find, front.Drop(), 2, 3, nil},
		"Exhausted":  {"3 times is enough", 3, "FindByUuid", find, front.Drop(), 3, 3, apierr.ErrUnavailable},
		"One":        {"1 is no retry", 1, "FindByUuid", find, front.Drop(), 1, 1, apierr.ErrUnavailable},
		"Five":       {"as often as told", 5, "FindByUuid", find, front.Drop(), 4, 5, nil},
		"AnswerLost": {"a read may be sent twice", 2, "FindByUuid", find, front.DropAnswer(), 1, 2, nil},
		"Starting":   {"a proxy in front of a vCenter that starts", 2, "FindByUuid", find, front.Status(http.StatusServiceUnavailable), 1, 2, nil},
		"NotFound":   {"a proxy's 404 says nothing of VMs", 2, "FindByUuid", find, front.Status(http.StatusNotFound), 1, 1, apierr.ErrUnavailable},
		"Fault":      {"a fault is an answer", 3, "FindByUuid", find, vsphere.Fault(&types.NoPermission{}), 1, 1, apierr.ErrDenied},
		"Write":      {"what makes something is sent once", 3, "CreateContainerView", create, front.DropAnswer(), 1, 1, apierr.ErrUnavailable},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, vsphere.VCenterSpec{})
			b.endpoint.RoundTrips = tc.count
			s := b.open(t, session.Options{})
			b.Break(tc.op, front.First(tc.broken), tc.effect)
			err := s.SOAP(bounded(t), tc.call)
			if diff := cmp.Diff(tc.want, err, equateErrors); diff != "" {
				t.Errorf("%s\nSOAP(): -want error, +got error:\n%s", tc.reason, diff)
			}
			if n := b.Count(tc.op); n != tc.sent {
				t.Errorf("%s\n%s was sent %d times, want %d", tc.reason, tc.op, n, tc.sent)
			}
		})
	}
}

// Half an answer is not the beginning of the next one.
func TestHalfAnAnswer(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	s := b.open(t, session.Options{})
	b.Break("RetrievePropertiesEx", front.First(1), half)
	err := s.SOAP(bounded(t), func(ctx context.Context, c *vim25.Client) error {
		res, err := methods.RetrievePropertiesEx(ctx, c, &types.RetrievePropertiesEx{
			This: c.ServiceContent.PropertyCollector,
			SpecSet: []types.PropertyFilterSpec{{
				ObjectSet: []types.ObjectSpec{{Obj: c.ServiceContent.RootFolder}},
				PropSet:   []types.PropertySpec{{Type: "Folder", PathSet: []string{"name", "childType"}}},
			}},
		})
		if err == nil && (len(res.Returnval.Objects) != 1 || len(res.Returnval.Objects[0].PropSet) != 2) {
			t.Errorf("answer = %+v, want one object with two properties", res.Returnval.Objects)
		}

		return err
	})
	if err != nil {
		t.Errorf("SOAP() = %v", err)
	}
	if n := b.Count("RetrievePropertiesEx"); n != 2 {
		t.Errorf("sent %d times, want 2", n)
	}
}

// half applies a call and cuts the connection in the middle of the answer, after
// its header.
func half(w http.ResponseWriter, r *http.Request, apply http.Handler) {
	answer := httptest.NewRecorder()
	apply.ServeHTTP(answer, r)
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()[:answer.Body.Len()*4/5])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// A poll waits for as long as it says, and a call's deadline comes on top.
func TestPoll(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	s := b.open(t, session.Options{CallTimeout: 500 * time.Millisecond})
	err := s.SOAP(bounded(t), func(ctx context.Context, c *vim25.Client) error {
		_, err := methods.WaitForUpdatesEx(ctx, c, &types.WaitForUpdatesEx{
			This: c.ServiceContent.PropertyCollector, Options: &types.WaitOptions{MaxWaitSeconds: new(int32(1))},
		})

		return err
	})
	if err != nil {
		t.Errorf("SOAP() = %v", err)
	}
}

// No login is made for a caller that has left before.
func TestNoLoginForNobody(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	s := b.open(t, session.Options{})
	left, leave := context.WithCancel(bounded(t))
	leave()
	for name, err := range map[string]error{"SOAP": s.SOAP(left, find), "REST": s.REST(left, list)} {
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

// A poll does not hold Close up, and its caller learns that it is over.
func TestCloseDuringPoll(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	s := b.open(t, session.Options{})
	ctx := bounded(t)
	polled := make(chan error, 1)
	go func() {
		polled <- s.SOAP(ctx, func(ctx context.Context, c *vim25.Client) error {
			for {
				_, err := methods.WaitForUpdatesEx(ctx, c, &types.WaitForUpdatesEx{
					This: c.ServiceContent.PropertyCollector, Options: &types.WaitOptions{MaxWaitSeconds: new(int32(300))},
				})
				if err != nil {
					return err
				}
			}
		})
	}()
	if err := b.WaitFor(ctx, "WaitForUpdatesEx", 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(ctx); err != nil {
		t.Errorf("Close() = %v", err)
	}
	if err := <-polled; !errors.Is(err, session.ErrClosed) {
		t.Errorf("SOAP() = %v, want %v", err, session.ErrClosed)
	}
	if left := b.Sessions(); len(left) > 0 {
		t.Errorf("sessions after Close: %v", left)
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
			hold := front.NewHold()
			defer hold.Release()
			b.Break(tc.op, front.Always(), hold.After)

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
			hold := front.NewHold()
			defer hold.Release()
			b.Break(tc.op, front.Always(), hold.Before)

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
			hold.Release() // what was sent is applied late, and ended all the same
			eventually(t, "end of the login", func() bool { return b.Count("Logout") == b.Count("Login") })
			eventually(t, "no session", func() bool { return len(b.Sessions()) == 0 })
		})
	}
}

// A login whose answer is lost half way has made a session, and told its cookie:
// it is ended.
func TestLostLogin(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	s := b.open(t, session.Options{Clock: b.clock})
	ctx := bounded(t)
	b.Break("Login", front.First(1), half)
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

// VS-AUTH-4: which source counts. What comes first wins as soon as it has
// anything; what is behind it is for when it has nothing.
func TestSourceOrder(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	wrong := session.Credentials{User: "nobody", Password: "wrong"}
	cases := map[string]struct {
		reason  string
		sources []session.Source
		want    error
	}{
		"First":   {"what is preferred is used", []session.Source{session.Inline(b.right()), session.Inline(wrong)}, nil},
		"Nothing": {"a source without anything is passed over", []session.Source{credential.NewDirectory(t.TempDir(), session.Parse), session.Inline(b.right())}, nil},
		"Wrong":   {"other credentials are not tried in a row", []session.Source{session.Inline(wrong), session.Inline(b.right())}, apierr.ErrDenied},
		"None":    {"nobody has anything", []session.Source{credential.NewDirectory(t.TempDir(), session.Parse), session.Inline(session.Credentials{})}, session.ErrMissing},
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

// One vCenter that never responds does not stall another.
func TestVCentersAreIndependent(t *testing.T) {
	t.Parallel()
	dead, well := newFixture(t, vsphere.VCenterSpec{}), newFixture(t, vsphere.VCenterSpec{})
	dead.Hang()
	ctx := bounded(t)
	first, second := dead.open(t, session.Options{}), well.open(t, session.Options{})
	stuck, cancel := context.WithCancel(ctx)
	called := make(chan error, 1)
	go func() { called <- first.SOAP(stuck, find) }()
	if err := second.SOAP(ctx, find); err != nil {
		t.Errorf("SOAP() = %v", err)
	}
	cancel()
	if err := <-called; !errors.Is(err, context.Canceled) {
		t.Errorf("SOAP() with the dead one = %v, want %v", err, context.Canceled)
	}
}

// A client of either kind is fit for the SDK's own managers.
func TestClientsAreComplete(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	s := b.open(t, session.Options{})
	err := s.SOAP(bounded(t), func(_ context.Context, c *vim25.Client) error {
		if !c.Valid() || !c.IsVC() || !slices.Contains([]string{"urn:vim25"}, c.Namespace) {
			t.Errorf("SOAP client is not complete: %v", c.ServiceContent.About)
		}

		return nil
	})
	if err != nil {
		t.Errorf("SOAP() = %v", err)
	}
	err = s.REST(bounded(t), func(_ context.Context, c *rest.Client) error {
		if !c.Valid() || c.SessionID() == "" {
			t.Error("REST client is not complete")
		}

		return nil
	})
	if err != nil {
		t.Errorf("REST() = %v", err)
	}
}
