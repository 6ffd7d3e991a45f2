package session_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// However many vCenters share an account, a wrong password is refused twice in
// three minutes at most: five times lock the account, also for other programs.
func TestWrongPasswordNeverLocksTheAccount(t *testing.T) {
	t.Parallel()
	for _, count := range []int{1, 2, 6} {
		t.Run(fmt.Sprintf("%d vCenters", count), func(t *testing.T) {
			t.Parallel()
			f := newLinkedSessions(t, count, func(b *fixture) session.Source {
				wrong := b.right()
				wrong.Password = "wrong"

				return session.NewInFile(wrong)
			})
			ctx := bounded(t)
			for range 600 {
				if n := f.call(ctx); n != 0 {
					t.Fatalf("%d calls succeeded, want none", n)
				}
				f.fixtures[0].clock.Step(time.Second)
			}
			f.checkRefusals(t)
		})
	}
}

// The same holds if the password was accepted and then changed, and all sessions end at
// once. A password that is right again is used without a restart.
func TestChangedPasswordNeverLocksTheAccount(t *testing.T) {
	t.Parallel()
	for _, count := range []int{1, 2, 6} {
		t.Run(fmt.Sprintf("%d vCenters", count), func(t *testing.T) {
			t.Parallel()
			f := newLinkedSessions(t, count, func(b *fixture) session.Source { return session.NewInFile(b.right()) })
			ctx := bounded(t)
			f.succeed(ctx, t, time.Second)
			vc := f.fixtures[0]
			before := vc.Password()
			vc.SetPassword("changed")
			for _, b := range f.fixtures {
				b.TerminateSessions()
			}
			for i := range 400 {
				if n := f.call(ctx); n != 0 {
					t.Fatalf("%d calls succeeded, want none", n)
				}
				if i%100 == 99 {
					logInAsAnother(t, f.fixtures[len(f.fixtures)-1])
				}
				vc.clock.Step(time.Second)
			}
			vc.SetPassword(before)
			f.succeed(ctx, t, 11*time.Minute)
			f.checkRefusals(t)
		})
	}
}

// The spellings of a user name that vCenter takes for one account count together.
func TestSpellingsOfAUserAreOneAccount(t *testing.T) {
	t.Parallel()
	users := []string{"administrator@vsphere.local", "Administrator@VSPHERE.LOCAL", `VSPHERE.LOCAL\Administrator`}
	next := 0
	f := newLinkedSessions(t, len(users), func(*fixture) session.Source {
		next++

		return session.NewInFile(session.Credentials{User: users[next-1], Password: "wrong"})
	})
	for range 400 {
		f.call(bounded(t))
		f.fixtures[0].clock.Step(time.Second)
	}
	f.checkRefusals(t)
}

// The first login with a password runs alone, since all others would be refused
// with it. They wait for its result no longer than their callers do.
func TestFirstLoginRunsAlone(t *testing.T) {
	t.Parallel()
	f := newLinkedSessions(t, 6, func(b *fixture) session.Source { return session.NewInFile(b.right()) })
	ctx := bounded(t)
	hold := simserver.NewHold()
	defer hold.Release()
	for _, b := range f.fixtures {
		b.Inject("Login", simserver.Always(), hold.Before)
		b.Inject("RESTLogin", simserver.Always(), hold.Before)
	}
	logins := func() (n int) {
		for _, b := range f.fixtures {
			n += b.Count("Login") + b.Count("RESTLogin")
		}

		return n
	}
	called := make(chan int)
	go func() { called <- f.call(ctx) }()
	eventually(t, "first login", func() bool { return logins() == 1 })
	short, cancel := context.WithTimeout(ctx, shortTimeout)
	defer cancel()
	if n := f.call(short); n != 0 || logins() != 1 {
		t.Errorf("%d calls succeeded during the first login, %d logins, want 0 and 1", n, logins())
	}
	hold.Release()
	if n := <-called; n != 12 || logins() != 12 {
		t.Errorf("%d calls succeeded, %d logins, want 12 and 12", n, logins())
	}
}

// The wait of a login for another one is bounded, and its error names the other.
func TestWaitForLoginIsBounded(t *testing.T) {
	t.Parallel()
	fixtures := newLinkedFixtures(t, 2)
	hold := simserver.NewHold()
	defer hold.Release()
	fixtures[0].Inject("Login", simserver.Always(), hold.Before)
	options := session.Options{Clock: fixtures[0].clock, LoginGuard: login.NewGuard(login.DefaultLimits(), fixtures[0].clock)}
	first, second := fixtures[0].open(t, options), fixtures[1].open(t, options)
	ctx := bounded(t)
	called := make(chan error)
	go func() { called <- first.SOAP(ctx, find) }()
	must(t, fixtures[0].WaitFor(ctx, "Login", 1))
	var err error
	for options.LoginTimeout = shortTimeout; options.LoginTimeout < testTimeout; options.LoginTimeout *= 2 {
		err = fixtures[1].open(t, options).SOAP(ctx, find)
		if err == nil || strings.Contains(err.Error(), "vCenter vc1") {
			break // the calls before the wait took less than the timeout
		}
	}
	if !errors.Is(err, apierr.ErrUnavailable) || !strings.Contains(err.Error(), "vCenter vc1") {
		t.Errorf("SOAP() = %v, want %v that names vCenter vc1", err, apierr.ErrUnavailable)
	}
	if n := fixtures[1].Count("Login"); n != 0 {
		t.Errorf("%d logins, want none", n)
	}
	hold.Release()
	must(t, <-called)
	must(t, second.SOAP(ctx, find))
}

// A vCenter with a directory of its own logs in without the delay of another one that
// refuses the same credentials: at once, or once the process is three minutes old.
func TestOtherDirectoryIsTriedSoon(t *testing.T) {
	t.Parallel()
	wrong, right := newFixture(t, vsphere.VCenterSpec{Password: "another"}), newFixture(t, vsphere.VCenterSpec{})
	right.endpoint.Name = "vc2"
	options := session.Options{Clock: wrong.clock, LoginGuard: login.NewGuard(login.DefaultLimits(), wrong.clock)}
	source := session.NewInFile(right.right())
	first, second := wrong.open(t, options, source), right.open(t, options, source)
	ctx := bounded(t)
	if err := first.SOAP(ctx, find); !errors.Is(err, apierr.ErrDenied) {
		t.Errorf("SOAP() = %v, want %v", err, apierr.ErrDenied)
	}
	if err := second.SOAP(ctx, find); !errors.Is(err, apierr.ErrDenied) || right.Count("Login") > 0 {
		t.Errorf("SOAP() = %v after %d logins, want none in a young process", err, right.Count("Login"))
	}
	wrong.clock.Step(login.DefaultLimits().Interval)
	must(t, second.SOAP(ctx, find))
	for range 600 {
		wrong.clock.Step(time.Second)
		_ = first.SOAP(ctx, find)
	}
	right.TerminateSessions()
	must(t, second.SOAP(ctx, find))
	if n := mostIn(lockoutInterval, wrong.RefusedLogins()); n > 2 {
		t.Errorf("%d refused logins within %v, want 2 at most", n, lockoutInterval)
	}
}

// A login without a response may have been refused, so it counts as a refusal:
// otherwise lost responses lead to any number of refusals.
func TestLostResponsesCountAsRefusals(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"Login", "RESTLogin"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			f := newLinkedSessions(t, 2, func(b *fixture) session.Source {
				wrong := b.right()
				wrong.Password = "wrong"

				return session.NewInFile(wrong)
			})
			for _, b := range f.fixtures {
				b.Inject(op, simserver.Always(), simserver.DropResponse())
			}
			for range 400 {
				f.call(bounded(t))
				f.fixtures[0].clock.Step(time.Second)
			}
			f.checkRefusals(t)
		})
	}
}

// VS-AUTH-7: a wrong password is tried again after three minutes and then every ten
// minutes. Meanwhile calls fail at once: vCenter locks accounts.
func TestWrongPassword(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	wrong := b.right()
	wrong.Password = "wrong"
	s := b.open(t, session.Options{Clock: b.clock}, session.NewInFile(wrong))
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
	if diff := cmp.Diff([]int{0, 181, 781, 1381, 1981, 2581, 3181}, seconds(b.RefusedLogins(), start)); diff != "" {
		t.Errorf("seconds of the logins: -want, +got:\n%s", diff)
	}
	// The text names the vCenter, the user, the source, and the times of the last login
	// and of the next one.
	last := start.Add(3181 * time.Second).UTC()
	err := s.SOAP(ctx, find)
	for _, part := range []string{
		`vCenter vc1: log in with user "administrator@vsphere.local" of cloud-config: not tried again before ` +
			last.Add(10*time.Minute).Format(time.RFC3339),
		": vCenter vc1 (soap) refused administrator@vsphere.local at " + last.Format(time.RFC3339),
	} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("SOAP() = %v, want it to name %q", err, part)
		}
	}
}

// seconds returns how long after the start something happened.
func seconds(times []time.Time, start time.Time) (seconds []int) {
	for _, at := range times {
		seconds = append(seconds, int(at.Sub(start)/time.Second))
	}

	return seconds
}
