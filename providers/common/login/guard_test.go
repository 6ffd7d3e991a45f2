package login_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
)

// lockout is the time in which logins that fail lock an account.
const lockout = 180 * time.Second

var limits = login.DefaultLimits()

func request(password config.Secret) login.Request {
	return login.Request{Account: "u", Password: password, Target: "cloud one"}
}

// newGuard returns a guard whose first interval has passed.
func newGuard(t *testing.T) (*login.Guard, *clocktesting.FakeClock) {
	t.Helper()
	fake := clocktesting.NewFakeClock(time.Date(2030, 1, 2, 3, 0, 0, 0, time.UTC))
	g := login.NewGuard(limits, fake)
	try(t, g, request("first"), login.Failed)
	fake.Step(limits.Interval)

	return g, fake
}

// try logs in with a result, and reports whether the guard allowed it.
func try(t *testing.T, g *login.Guard, r login.Request, result login.Result) bool {
	t.Helper()
	err := g.Check(r)
	done, reserveErr := g.Reserve(t.Context(), r)
	if fmt.Sprint(err) != fmt.Sprint(reserveErr) {
		t.Errorf("Check() = %v, Reserve() = %v", err, reserveErr)
	}
	if err != nil {
		if _, ok := errors.AsType[*login.NotTriedError](err); !ok {
			t.Errorf("Check() = %v, want a NotTriedError", err)
		}

		return false
	}
	if result == login.Accepted {
		done(result, nil)
	} else {
		done(result, errWrong)
	}

	return true
}

// When logins happen that are tried each second.
func TestTimesOfLogins(t *testing.T) {
	t.Parallel()
	second := login.Request{Account: "u", Password: "p", Target: "cloud two"}
	cases := map[string]struct {
		reason string
		before []login.Result // of earlier logins at the first target, three minutes before
		other  bool           // a second target takes turns with the first one
		result login.Result
		want   []int // seconds
	}{
		"NewProcess": {
			"one refusal while the process is young, then within the delays: four in any half hour",
			nil, false, login.Refused,
			[]int{0, 181, 781, 1381, 1981},
		},
		"NewPassword": {
			"later, a new password is tried once more soon",
			[]login.Result{login.Failed},
			false, login.Refused,
			[]int{0, 15, 615, 1215, 1815},
		},
		"AcceptedBefore": {
			"a directory that was away for less than 30 s costs no more",
			[]login.Result{login.Accepted},
			false, login.Refused,
			[]int{0, 30, 181, 481, 1081, 1681},
		},
		"OtherTarget": {
			"the delay is not for a target that did not refuse the password, the limit is",
			[]login.Result{login.Failed},
			true, login.Refused,
			[]int{0, 1, 181, 182, 781, 782},
		},
		"OtherTargetOfNewProcess": {
			"the first refusal counts for all targets",
			nil, true, login.Refused,
			[]int{0, 181, 182, 362, 781},
		},
		"Lost": {
			"a login without a response may have been refused: it counts, and has no delay of its own",
			nil, false, login.Lost,
			[]int{0, 1, 181, 182, 362, 363},
		},
		"LostAfterAccepted": {
			"a password that was accepted is not stopped by a target that does not respond",
			[]login.Result{login.Accepted},
			false, login.Lost,
			[]int{0, 1, 2, 3, 4, 5, 6},
		},
		"LostAfterRefused": {
			"it counts again once the password was refused: it may have changed",
			[]login.Result{login.Accepted, login.Refused},
			false, login.Lost,
			[]int{0, 1, 181, 182, 362, 363},
		},
		"Failed": {
			"other failures lock no account",
			nil, false, login.Failed,
			[]int{0, 1, 2, 3, 4, 5, 6},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := clocktesting.NewFakeClock(time.Now())
			g := login.NewGuard(limits, fake)
			for _, result := range tc.before {
				try(t, g, request("p"), result)
				fake.Step(limits.Interval)
			}
			var got []int
			for now := 0; len(got) < len(tc.want) && now <= slices.Max(tc.want); now++ {
				if try(t, g, request("p"), tc.result) || tc.other && try(t, g, second, tc.result) {
					got = append(got, now)
				}
				fake.Step(time.Second)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nseconds of the logins: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// Logins without a response may count for a shorter time than refused ones, which still
// count as long as before.
func TestLostInterval(t *testing.T) {
	t.Parallel()
	short := limits
	short.LostInterval = time.Minute
	for name, tc := range map[string]struct {
		reason string
		first  login.Result
		want   []int // seconds
	}{
		"Lost":    {"two in a minute", login.Lost, []int{0, 0, 60, 60, 120, 120}},
		"Refused": {"after the delay, one in a minute, until the refused one no longer counts", login.Refused, []int{0, 15, 75, 135, 181, 195}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := clocktesting.NewFakeClock(time.Now())
			g := login.NewGuard(short, fake)
			try(t, g, request("p"), login.Failed)
			fake.Step(short.Interval)
			begun, result := fake.Now(), tc.first
			var got []int
			for len(got) < len(tc.want) {
				if notTried, ok := errors.AsType[*login.NotTriedError](g.Check(request("p"))); ok {
					fake.SetTime(notTried.Until)
				}
				if !try(t, g, request("p"), result) {
					t.Fatal("a login is not allowed at the time that the error has")
				}
				got, result = append(got, int(fake.Since(begun).Seconds())), login.Lost
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nseconds of the logins: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// Every password may fail, until the account may not. The error has the account, what
// happened when, the time of the next login, and the failure.
func TestAccountHasOneLimit(t *testing.T) {
	t.Parallel()
	g, fake := newGuard(t)
	for i := range 5 {
		if got := try(t, g, request(config.Secret(fmt.Sprint(i))), login.Refused); got != (i < limits.PerAccount) {
			t.Errorf("login %d allowed: %t", i, got)
		}
	}
	other := request("p")
	other.Account = "another"
	for range limits.PerPassword {
		if !try(t, g, other, login.Lost) {
			t.Error("another account has to wait")
		}
	}
	for _, tc := range []struct {
		request login.Request
		want    string
	}{
		{request("p"), "not tried again before 2030-01-02T03:06:02Z: cloud one refused u at 2030-01-02T03:03:01Z: wrong password"},
		{other, "not tried again before 2030-01-02T03:06:02Z: cloud one did not respond to the login of another at 2030-01-02T03:03:01Z: wrong password"},
	} {
		if err := g.Check(tc.request); err == nil || err.Error() != tc.want || !errors.Is(err, errWrong) {
			t.Errorf("Check() = %v, want %s", err, tc.want)
		}
	}
	fake.Step(limits.Interval)
	if !try(t, g, request("p"), login.Refused) {
		t.Error("no login after the interval")
	}
}

// A password that is accepted was accepted by the logins without a response too. Its
// refusals count, and its delays start again.
func TestAcceptedPassword(t *testing.T) {
	t.Parallel()
	g, fake := newGuard(t)
	for i, step := range []struct {
		result login.Result
		after  time.Duration
	}{
		{login.Lost, 0},
		{login.Accepted, 0},
		{login.Lost, 0},
		{login.Accepted, 0},
		{login.Refused, 0},
		{login.Accepted, 30 * time.Second},
		{login.Refused, 0},
	} {
		fake.Step(step.after)
		if !try(t, g, request("p"), step.result) {
			t.Fatalf("login %d is not allowed", i)
		}
	}
	fake.Step(30 * time.Second)
	if try(t, g, request("p"), login.Refused) {
		t.Error("a third refusal is allowed in the interval")
	}
}

// The first login with a password runs alone; once it is accepted, as many run as may
// fail.
func TestFirstLoginRunsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := login.NewGuard(limits, clock.RealClock{})
		reserved := make(chan func(login.Result, error), 6)
		refused := make(chan error, 6)
		for range 6 {
			go func() {
				done, err := g.Reserve(t.Context(), request("p"))
				if err != nil {
					refused <- err
				} else {
					reserved <- done
				}
			}()
		}
		synctest.Wait()
		if n := len(reserved); n != 1 {
			t.Fatalf("%d logins at a time before the first result, want 1", n)
		}
		(<-reserved)(login.Accepted, nil)
		synctest.Wait()
		if n := len(reserved); n != limits.PerPassword {
			t.Fatalf("%d logins at a time once the password is accepted, want %d", n, limits.PerPassword)
		}
		for range limits.PerPassword {
			(<-reserved)(login.Refused, errWrong)
		}
		synctest.Wait()
		if len(reserved) != 0 || len(refused) != 3 {
			t.Errorf("%d logins after two refusals and %d errors, want none and 3", len(reserved), len(refused))
		}
	})
}

// A login that waits ends with its context; the error names the one it waits for.
func TestWaitEndsWithContext(t *testing.T) {
	t.Parallel()
	g := login.NewGuard(limits, clock.RealClock{})
	done, err := g.Reserve(t.Context(), request("p"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = g.Reserve(ctx, request("p"))
	if notTried, ok := errors.AsType[*login.NotTriedError](err); !ok || !notTried.Until.IsZero() ||
		!errors.Is(err, context.Canceled) || !errors.Is(err, apierr.ErrUnavailable) || !strings.Contains(err.Error(), "cloud one") {
		t.Errorf("Reserve() = %v, want %v that names cloud one", err, context.Canceled)
	}
	done(login.Accepted, nil)
	if !try(t, g, request("p"), login.Accepted) {
		t.Error("no login after the first one")
	}
}

// attempt is a login of a schedule.
type attempt struct {
	request login.Request
	done    func(login.Result, error)
	began   time.Time
	ended   time.Time
	result  login.Result
}

// schedule is what happened to one account in a process.
type schedule struct {
	*rapid.T

	clock    *clocktesting.FakeClock
	guard    *login.Guard
	results  []login.Result
	underWay []*attempt
	failed   []*attempt // refused, or maybe, without a response before the password was accepted
	accepted bool       // a password was
	// right are the passwords that the last response of the target accepted.
	right map[login.Request]bool
}

// step begins a login, ends one, or lets time pass.
func (s *schedule) step() {
	switch s.pick("action", "begin", "begin", "end", "end", "wait") {
	case "begin":
		r := request(config.Secret(s.pick("password", "a", "b", "c", "d")))
		r.Target = s.pick("target", "one", "two")
		now, cancel := context.WithCancel(s.Context())
		cancel() // no login waits for another one
		if done, err := s.guard.Reserve(now, r); err == nil {
			s.underWay = append(s.underWay, &attempt{request: r, done: done, began: s.clock.Now()})
		}
	case "end":
		if len(s.underWay) > 0 {
			s.end(rapid.SampledFrom(s.underWay).Draw(s.T, "login"))
		}
	case "wait":
		s.clock.Step(time.Duration(rapid.IntRange(0, 120).Draw(s.T, "seconds")) * time.Second)
	}
}

func (s *schedule) pick(label string, values ...string) string {
	return rapid.SampledFrom(values).Draw(s.T, label)
}

func (s *schedule) end(a *attempt) {
	a.result, a.ended = rapid.SampledFrom(s.results).Draw(s.T, "result"), s.clock.Now()
	s.underWay = slices.DeleteFunc(s.underWay, func(other *attempt) bool { return other == a })
	a.done(a.result, errWrong)
	switch a.result {
	case login.Accepted:
		s.accepted, s.right[a.request] = true, true
		s.failed = slices.DeleteFunc(s.failed, func(other *attempt) bool { return other.request == a.request && other.result == login.Lost })
	case login.Lost:
		if !s.right[a.request] {
			s.failed = append(s.failed, a)
		}
	case login.Refused:
		s.failed, s.right[a.request] = append(s.failed, a), false
	case login.Failed:
	}
}

// most returns how many of the logins that match fail within the time that locks an
// account, by their beginning or by their end, when the directory may have refused them.
func (s *schedule) most(match func(*attempt) bool) (most int) {
	for _, at := range []func(*attempt) time.Time{
		func(a *attempt) time.Time { return a.began }, func(a *attempt) time.Time { return a.ended },
	} {
		for _, first := range s.failed {
			n := 0
			for _, a := range s.failed {
				if since := at(a).Sub(at(first)); match(a) && since >= 0 && since <= lockout {
					n++
				}
			}
			most = max(most, n)
		}
	}

	return most
}

// Whatever happens, no password fails more than twice within the time that locks an account,
// no account more than three times, and one login is refused at
// the beginning of a process. If logins without a response count for a shorter time, this
// is so for those that are refused.
func TestLimitsHold(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		lost    time.Duration
		results []login.Result
	}{
		"NothingAccepted": {0, []login.Result{login.Refused, login.Lost}},
		"Any":             {0, []login.Result{login.Refused, login.Lost, login.Accepted, login.Failed}},
		"LostInterval":    {time.Minute, []login.Result{login.Refused, login.Lost, login.Accepted, login.Failed}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limits := limits
			limits.LostInterval = tc.lost
			rapid.Check(t, func(rt *rapid.T) {
				fake := clocktesting.NewFakeClock(time.Now())
				start := fake.Now()
				s := &schedule{
					T: rt, clock: fake, guard: login.NewGuard(limits, fake), results: tc.results, right: map[login.Request]bool{},
				}
				for range rapid.IntRange(1, 120).Draw(rt, "steps") {
					s.step()
				}
				if tc.lost > 0 {
					s.failed = slices.DeleteFunc(s.failed, func(a *attempt) bool { return a.result == login.Lost })
				}
				for _, password := range []config.Secret{"a", "b", "c", "d"} {
					n := s.most(func(a *attempt) bool { return a.request.Password == password })
					if n > 2 {
						rt.Errorf("password %s failed %d times", password.Reveal(), n)
					}
				}
				if n := s.most(func(*attempt) bool { return true }); n > 3 {
					rt.Errorf("the account failed %d times", n)
				}
				early := slices.DeleteFunc(s.failed, func(a *attempt) bool { return a.result != login.Refused || a.ended.Sub(start) > lockout })
				if len(early) > 1 && !s.accepted {
					rt.Errorf("%d logins were refused in the beginning", len(early))
				}
			})
		})
	}
}

// A login that is not tried reports whether the target has refused this very password, unless it has
// accepted it before: then a directory behind the target may not be reachable.
func TestNotTriedIsRefused(t *testing.T) {
	t.Parallel()
	other := login.Request{Account: "u", Password: "other", Target: "cloud one"}
	same := login.Request{Account: "u", Password: "p", Target: "cloud one"}
	for name, tc := range map[string]struct {
		reason  string
		results []login.Result
		request login.Request
		want    bool
	}{
		"Refused":  {"this password", []login.Result{login.Refused}, same, true},
		"Accepted": {"it was right before", []login.Result{login.Accepted, login.Refused}, same, false},
		"Other":    {"another password of the account", []login.Result{login.Refused}, other, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := login.NewGuard(login.DefaultLimits(), clocktesting.NewFakeClock(time.Date(2030, 1, 2, 3, 0, 0, 0, time.UTC)))
			for _, result := range tc.results {
				if !try(t, g, same, result) {
					t.Fatalf("%s: a login was not tried", tc.reason)
				}
			}
			notTried, ok := errors.AsType[*login.NotTriedError](g.Check(tc.request))
			if tc.want && !ok || ok && notTried.Refused != tc.want {
				t.Errorf("%s: not tried is %v, refused is not %t", tc.reason, notTried, tc.want)
			}
		})
	}
}
