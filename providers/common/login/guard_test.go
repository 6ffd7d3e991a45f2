package login_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
)

// limits allow two failures of a password and three of an account in three minutes.
var limits = login.Limits{
	Interval:         3 * time.Minute,
	PerPassword:      2,
	PerAccount:       3,
	Delays:           wait.Backoff{Duration: 15 * time.Second, Factor: 2, Cap: 5 * time.Minute},
	DelaysIfAccepted: wait.Backoff{Duration: 15 * time.Second, Factor: 2, Cap: time.Minute},
	Retention:        time.Hour,
}

func request(password config.Secret) login.Request {
	return login.Request{Account: "u", Password: password, Target: "cloud one"}
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

// When logins happen that are tried each second, for every kind of limits.
func TestTimesOfLogins(t *testing.T) {
	t.Parallel()
	refusedTwiceThenHourly := login.Limits{
		Interval: time.Hour, PerPassword: 2, PerAccount: 4,
		Delays: wait.Backoff{Duration: 15 * time.Second, Factor: 240, Cap: time.Hour}, Retention: 24 * time.Hour,
	}
	cases := map[string]struct {
		reason  string
		limits  login.Limits
		request login.Request
		result  login.Result
		want    []int // seconds
	}{
		"Refused": {
			"delays of 15, 30, 60, 120, 240 and 300 s, or longer after two failures in the interval",
			limits,
			login.Request{Account: "u", Password: "p", Refused: true},
			login.Refused,
			[]int{0, 15, 181, 241, 362, 602, 902, 1202, 1502, 1802, 2102, 2402, 2702, 3002, 3302},
		},
		"AcceptedBefore": {
			"the delays end at 60 s, so the interval is what counts",
			limits,
			login.Request{Account: "u", Password: "p", Refused: true, Accepted: true},
			login.Refused,
			[]int{0, 15, 181, 241, 362, 422, 543, 603, 724, 784},
		},
		"OtherTarget": {
			"the delay is not for a target that did not refuse the password, the limit is",
			limits,
			login.Request{Account: "u", Password: "p"},
			login.Refused,
			[]int{0, 1, 181, 182, 362, 363},
		},
		"Lost": {
			"a login without a response may have been refused",
			limits,
			login.Request{Account: "u", Password: "p", Refused: true},
			login.Lost,
			[]int{0, 1, 181, 182, 362, 363},
		},
		"Failed": {
			"other failures lock no account",
			limits,
			login.Request{Account: "u", Password: "p", Refused: true},
			login.Failed,
			[]int{0, 1, 2, 3, 4, 5, 6},
		},
		"Hourly": {
			"a cloud that counts failures without an interval",
			refusedTwiceThenHourly,
			login.Request{Account: "u", Password: "p", Refused: true},
			login.Refused,
			[]int{0, 15, 3615, 7215, 10815},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := clocktesting.NewFakeClock(time.Now())
			g := login.NewGuard(tc.limits, fake)
			var got []int
			for second := 0; len(got) < len(tc.want) && second <= tc.want[len(tc.want)-1]; second++ {
				if try(t, g, tc.request, tc.result) {
					got = append(got, second)
				}
				fake.Step(time.Second)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nseconds of the logins: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// Every password may fail, until the account may not. The error has the time, the
// target and the failure.
func TestAccountHasOneLimit(t *testing.T) {
	t.Parallel()
	fake := clocktesting.NewFakeClock(time.Date(2030, 1, 2, 3, 0, 0, 0, time.UTC))
	g := login.NewGuard(limits, fake)
	for i := range 5 {
		if got := try(t, g, request(config.Secret(fmt.Sprint(i))), login.Refused); got != (i < limits.PerAccount) {
			t.Errorf("login %d allowed: %t", i, got)
		}
	}
	other := request("p")
	other.Account = "another"
	if !try(t, g, other, login.Refused) {
		t.Error("another account has to wait")
	}
	err := g.Check(request("p"))
	if want := "not tried again before 2030-01-02T03:03:00Z: cloud one: wrong password"; err == nil || err.Error() != want || !errors.Is(err, errWrong) {
		t.Errorf("Check() = %v, want %s", err, want)
	}
	fake.Step(limits.Interval + 1)
	if !try(t, g, request("p"), login.Refused) {
		t.Error("no login after the interval")
	}
}

// A password that is accepted was accepted by the logins without a response too. Its
// refusals count, and its delays start again.
func TestAcceptedPassword(t *testing.T) {
	t.Parallel()
	fake := clocktesting.NewFakeClock(time.Now())
	g := login.NewGuard(limits, fake)
	refused := request("p")
	refused.Refused = true
	for i, step := range []struct {
		result login.Result
		after  time.Duration
	}{
		{login.Lost, 0},
		{login.Accepted, 0},
		{login.Lost, 0},
		{login.Accepted, 0},
		{login.Refused, 0},
		{login.Accepted, 15 * time.Second},
		{login.Refused, 0},
	} {
		fake.Step(step.after)
		if !try(t, g, refused, step.result) {
			t.Fatalf("login %d is not allowed", i)
		}
	}
	fake.Step(limits.Delays.Duration)
	if try(t, g, refused, login.Refused) {
		t.Error("a third refusal is allowed in the interval")
	}
}

// The first login with a password runs alone; once it is accepted, as many run as may
// fail.
func TestFirstLoginRunsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := login.NewGuard(limits, clock.RealClock{})
		reserved := make(chan func(login.Result, error), 5)
		refused := make(chan error, 5)
		for range 5 {
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
		if len(reserved) != 0 || len(refused) != 2 {
			t.Errorf("%d logins after two refusals and %d errors, want none and 2", len(reserved), len(refused))
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

// Whatever happens, the failures of no interval exceed the limits.
func TestLimitsHold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		fake := clocktesting.NewFakeClock(time.Now())
		g := login.NewGuard(limits, fake)
		failures := map[config.Secret][]time.Time{}
		var all []time.Time
		for range rapid.IntRange(1, 60).Draw(rt, "logins") {
			r := request(rapid.SampledFrom([]config.Secret{"a", "b", "c"}).Draw(rt, "password"))
			r.Refused, r.Accepted = rapid.Bool().Draw(rt, "refused"), rapid.Bool().Draw(rt, "accepted")
			result := rapid.SampledFrom([]login.Result{login.Accepted, login.Refused, login.Failed}).Draw(rt, "result")
			if try(t, g, r, result) && result == login.Refused {
				failures[r.Password] = append(failures[r.Password], fake.Now())
				all = append(all, fake.Now())
			}
			fake.Step(time.Duration(rapid.IntRange(0, 120).Draw(rt, "seconds")) * time.Second)
		}
		for password, at := range failures {
			if exceeds(at, limits.PerPassword) {
				rt.Errorf("password %s failed more than %d times in an interval", password.Reveal(), limits.PerPassword)
			}
		}
		if exceeds(all, limits.PerAccount) {
			rt.Errorf("the account failed more than %d times in an interval", limits.PerAccount)
		}
	})
}

// exceeds reports whether more failures than allowed are in any interval.
func exceeds(at []time.Time, allowed int) bool {
	for i := range max(0, len(at)-allowed) {
		if at[i+allowed].Sub(at[i]) <= limits.Interval {
			return true
		}
	}

	return false
}
