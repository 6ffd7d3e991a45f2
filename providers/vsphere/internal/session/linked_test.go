package session_test

import (
	"context"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
)

// lockoutInterval is the time in which failures add up to a lockout.
const lockoutInterval = 180 * time.Second

// linkedSessions are sessions with vCenters that have one directory.
type linkedSessions struct {
	fixtures []*fixture
	sessions []*session.Session
}

// newLinkedSessions makes a session with each of a number of linked vCenters, as one
// process does.
func newLinkedSessions(t *testing.T, count int, source func(*fixture) session.Source) *linkedSessions {
	t.Helper()
	f := &linkedSessions{fixtures: newLinkedFixtures(t, count)}
	options := session.Options{Clock: f.fixtures[0].clock, LoginGuard: login.NewGuard(login.DefaultLimits(), f.fixtures[0].clock)}
	for _, b := range f.fixtures {
		f.sessions = append(f.sessions, b.open(t, options, source(b)))
	}

	return f
}

// call makes a SOAP and a REST call to each vCenter at the same time, and
// returns how many succeeded.
func (f *linkedSessions) call(ctx context.Context) int {
	results := make([]error, 2*len(f.sessions))
	var calls sync.WaitGroup
	for i, s := range f.sessions {
		calls.Go(func() { results[2*i] = s.SOAP(ctx, find) })
		calls.Go(func() { results[2*i+1] = s.REST(ctx, list) })
	}
	calls.Wait()

	return len(slices.DeleteFunc(results, func(err error) bool { return err != nil }))
}

// succeed calls each second until everything works.
func (f *linkedSessions) succeed(ctx context.Context, t *testing.T, within time.Duration) {
	t.Helper()
	for range int(within / time.Second) {
		if f.call(ctx) == 2*len(f.sessions) {
			return
		}
		f.fixtures[0].clock.Step(time.Second)
	}
	t.Errorf("not all calls work after %v", within)
}

// checkRefusals reports more than two refused logins in any lockout interval, and if there
// is none.
func (f *linkedSessions) checkRefusals(t *testing.T) {
	t.Helper()
	if n := mostIn(lockoutInterval, f.fixtures[0].RefusedLogins()); n == 0 || n > 2 {
		t.Errorf("%d refused logins within %v, want 1 or 2", n, lockoutInterval)
	}
	if n := f.fixtures[0].Lockouts(); n != 0 {
		t.Errorf("%d lockouts, want none", n)
	}
}

// mostIn returns how many of the times are at most an interval apart.
func mostIn(interval time.Duration, times []time.Time) int {
	most := 0
	for i, first := range times {
		n := 0
		for _, at := range times[i:] {
			if at.Sub(first) <= interval {
				n++
			}
		}
		most = max(most, n)
	}

	return most
}

// logInAsAnother is another program that uses the account.
func logInAsAnother(t *testing.T, b *fixture) {
	t.Helper()
	u := b.URL()
	u.User = url.UserPassword(b.User(), b.Password())
	c, err := govmomi.NewClient(t.Context(), u, true)
	if err != nil {
		t.Errorf("login of another program = %v", err)

		return
	}
	defer c.CloseIdleConnections()
	must(t, c.Logout(t.Context()))
}
