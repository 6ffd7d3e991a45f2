package login_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
)

// A wrong password is tried twice, then once an hour, whenever the process starts
// again. Each login that fails is two writes, and each start one read.
func TestTimesOfLoginsOverRestarts(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason   string
		restarts []int // seconds
		result   login.Result
		want     []int // seconds
	}{
		"None":          {"as without a store", nil, login.Refused, []int{0, 15, 3615, 7215}},
		"AfterOne":      {"one login is left, and its delay goes on", []int{5}, login.Refused, []int{0, 15, 3615, 7215}},
		"AfterTwo":      {"none is left", []int{16}, login.Refused, []int{0, 15, 3615, 7215}},
		"AfterBoth":     {"each process knows what both before it knew", []int{5, 20}, login.Refused, []int{0, 15, 3615, 7215}},
		"AfterThree":    {"the delay stays long", []int{3700}, login.Refused, []int{0, 15, 3615, 7215}},
		"Often":         {"a process that starts every ten minutes", every(600, 7200), login.Refused, []int{0, 15, 3615, 7215}},
		"Lost":          {"a login without a response has no delay but counts", []int{1, 16}, login.Lost, []int{0, 1, 3601, 3602}},
		"LostAndBefore": {"the same without a restart", nil, login.Lost, []int{0, 1, 3601, 3602}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, fake := newCluster(), clocktesting.NewFakeClock(time.Now())
			p := c.start(hourly, fake)
			var got []int
			for second := range tc.want[len(tc.want)-1] + 1 {
				if slices.Contains(tc.restarts, second) {
					p = c.start(hourly, fake)
				}
				if p.try(t, "wrong", tc.result) {
					got = append(got, second)
				}
				fake.Step(time.Second)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nseconds of the logins: -want, +got:\n%s", tc.reason, diff)
			}
			want := 2 * len(got)
			if tc.result == login.Lost {
				want = len(got) // the result is what was reserved
			}
			if _, writes := c.calls(); writes != want {
				t.Errorf("%d writes for %d logins that failed, want %d", writes, len(got), want)
			}
		})
	}
}

// every returns the multiples of a number up to a limit.
func every(n, limit int) []int {
	var all []int
	for i := n; i <= limit; i += n {
		all = append(all, i)
	}

	return all
}

// A process that ends before its login has a result has failed, as far as is known.
func TestRestartDuringLogin(t *testing.T) {
	t.Parallel()
	c, fake := newCluster(), clocktesting.NewFakeClock(time.Now())
	for i := range 4 {
		_, err := c.start(hourly, fake).reserve(t.Context(), "wrong")
		if allowed := err == nil; allowed != (i < hourly.PerPassword) {
			t.Errorf("process %d may log in: %t, %v", i, allowed, err)
		}
		fake.Step(time.Minute)
	}
}

// A changed password is another one, at once and in each process; the account has one
// limit for all of them. The error has a cause that means denied.
func TestChangedPasswordAfterRestart(t *testing.T) {
	t.Parallel()
	c, fake := newCluster(), clocktesting.NewFakeClock(time.Now())
	p := c.start(hourly, fake)
	for range 30 {
		p.try(t, "one", login.Refused)
		fake.Step(time.Second)
	}
	p = c.start(hourly, fake)
	_, err := p.reserve(t.Context(), "one")
	notTried, ok := errors.AsType[*login.NotTriedError](err)
	if !ok || !errors.Is(err, apierr.ErrDenied) || notTried.Until.Before(fake.Now().Add(50*time.Minute)) {
		t.Errorf("the refused password: %v, want it not tried for an hour", err)
	}
	for i, password := range []string{"two", "three", "four"} {
		if got := p.try(t, password, login.Refused); got != (i < 2) {
			t.Errorf("password %s is tried: %t, after %d failures of the account", password, got, 2+i)
		}
	}
	other := login.Request{Account: "another", Password: "one", Target: "the cloud"}
	if done, err := p.guard.Reserve(t.Context(), other); err != nil {
		t.Errorf("the same password of another account: %v", err)
	} else {
		done(login.Accepted, nil)
	}
	fake.Step(hour())
	if !p.try(t, "five", login.Accepted) {
		t.Error("the account is free after an hour")
	}
}

func hour() time.Duration { return time.Hour + time.Second }

// The login of a process that is no longer the leader may end after the next one has
// begun: its result counts, and none of the two loses what the other one wrote.
func TestLeaderChangesDuringLogin(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		result login.Result
		left   int // logins that the next process may still try after its own one failed
	}{
		"Refused":  {"both have failed", login.Refused, 0},
		"Lost":     {"it may have failed", login.Lost, 0},
		"Accepted": {"it has not failed, so one of two is left", login.Accepted, 1},
		"Failed":   {"the password was not tried", login.Failed, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, fake := newCluster(), clocktesting.NewFakeClock(time.Now())
			before, next := c.start(limits, fake), c.start(limits, fake)
			done, err := before.reserve(t.Context(), "p")
			if err != nil {
				t.Fatal(err)
			}
			if !next.try(t, "p", login.Lost) {
				t.Fatal("one of two failures is left to the next leader")
			}
			if next.try(t, "p", login.Lost) {
				t.Error("the login under way counts as a failure")
			}
			done(tc.result)
			fake.Step(61 * time.Second) // then it reads again what it rejects for
			left := 0
			for next.try(t, "p", login.Lost) {
				left++
			}
			if left != tc.left {
				t.Errorf("%s: %d more logins, want %d", tc.reason, left, tc.left)
			}
			third := c.start(limits, fake)
			if third.try(t, "p", login.Lost) {
				t.Errorf("%s: the failures of both count for a third process", tc.reason)
			}
		})
	}
}

// A delay of another process ends when it is no longer stored, a minute after it was read:
// because that process has logged in, or because the Lease was deleted to try again.
func TestStoredDelayEnds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		stays  bool
	}{
		"Deleted": {"the Lease is gone", false},
		"Stored":  {"it is still there", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, fake := newCluster(), clocktesting.NewFakeClock(time.Now())
			before := c.start(hourly, fake)
			before.try(t, "p", login.Refused)
			fake.Step(20 * time.Second)
			before.try(t, "p", login.Refused)
			p := c.start(hourly, fake)
			r := login.Request{Account: "robot", Password: "p", Target: "the cloud", Refused: true}
			if p.try(t, "p", login.Accepted) || p.guard.Check(r) == nil {
				t.Fatal("the password was refused twice")
			}
			if !tc.stays {
				if err := c.CoordinationV1().Leases(login.LeaseNamespace).Delete(t.Context(), leaseName, metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			fake.Step(59 * time.Second)
			if p.guard.Check(r) == nil {
				t.Error("the store is read once a minute")
			}
			fake.Step(2 * time.Second)
			if err := p.guard.Check(r); err != nil {
				t.Errorf("before the store is read again: %v", err)
			}
			if got := p.try(t, "p", login.Accepted); got == tc.stays {
				t.Errorf("%s: tried %t", tc.reason, got)
			}
			if got := p.guard.Check(r) != nil; got != tc.stays {
				t.Errorf("%s: rejected %t", tc.reason, got)
			}
		})
	}
}

// Of two processes that reserve the last login at the same time, one may try it.
func TestConflictOfTwoWriters(t *testing.T) {
	t.Parallel()
	c, fake := newCluster(), clocktesting.NewFakeClock(time.Now())
	c.start(limits, fake).try(t, "p", login.Lost)
	store := &hooked{Store: c.store()}
	first, second := startWith(store, limits, fake), c.start(limits, fake)
	done, err := first.reserve(t.Context(), "q") // both have read the store from now on
	if err != nil {
		t.Fatal(err)
	}
	done(login.Accepted)
	if done, err = second.reserve(t.Context(), "q"); err != nil {
		t.Fatal(err)
	}
	done(login.Accepted)
	var other error
	store.before = func() { _, other = second.reserve(t.Context(), "p") }
	_, err = first.reserve(t.Context(), "p")
	if _, ok := errors.AsType[*login.NotTriedError](err); !ok || other != nil {
		t.Errorf("the writer that was late: %v, the other one: %v", err, other)
	}
	fake.Step(limits.Interval + time.Second)
	if !first.try(t, "p", login.Failed) {
		t.Error("a login that another process came before still counts as one under way")
	}
}

// If the store fails, the guard does what it does without one, and logs it once. As
// soon as it works, what has failed meanwhile is written.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, leaseName, errors.New("no rule"))
	c, fake := newCluster(), clocktesting.NewFakeClock(time.Now())
	c.setFailure(denied)
	p := c.start(hourly, fake)
	ctx, lines := logged(t.Context())
	var got []int
	for second := range 3616 {
		if done, err := p.reserve(ctx, "wrong"); err == nil {
			done(login.Refused)
			got = append(got, second)
		}
		fake.Step(time.Second)
	}
	if diff := cmp.Diff([]int{0, 15, 3615}, got); diff != "" {
		t.Errorf("seconds of the logins: -want, +got:\n%s", diff)
	}
	if got := lines(); len(got) != 1 || !strings.Contains(got[0], "not stored") || strings.Contains(got[0], "robot") {
		t.Errorf("the log has %q, want one line about the store", got)
	}
	if reads, writes := c.calls(); reads > 62 || writes != 0 {
		t.Errorf("%d reads and %d writes, want a read each minute and no write of what was not read", reads, writes)
	}
	c.setFailure(nil)
	fake.Step(time.Minute)
	if p.try(t, "wrong", login.Refused); !strings.Contains(c.annotation(t), `"refused":true`) {
		t.Errorf("the failures of the outage are not stored: %s", c.annotation(t))
	}
	if c.start(hourly, fake).try(t, "wrong", login.Refused) {
		t.Error("a failure of the outage does not count after a restart")
	}
	c.setFailure(denied)
	for range 3 {
		if done, err := p.reserve(ctx, "one-more"); err == nil {
			done(login.Failed)
		}
	}
	if got := lines(); len(got) != 2 {
		t.Errorf("the log has %d lines, want one for each outage", len(got))
	}
}

// A store that does not respond delays a login by seconds. A caller that gives up
// meanwhile sends no password.
func TestStoreHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := startWith(hanging{}, hourly, clock.RealClock{})
		start := time.Now()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.reserve(short, "p"); err == nil || !errors.Is(err, apierr.ErrUnavailable) {
			t.Errorf("a caller that gave up: %v, want it not tried", err)
		}
		if !p.try(t, "p", login.Accepted) || time.Since(start) > 12*time.Second {
			t.Errorf("the login took %s", time.Since(start))
		}
	})
}

// hanging is a store that never responds.
type hanging struct{}

func (hanging) Load(ctx context.Context) (login.Record, error) {
	<-ctx.Done()

	return login.Record{}, ctx.Err()
}

func (hanging) Save(ctx context.Context, _ login.Record) error {
	<-ctx.Done()

	return ctx.Err()
}

// What is no record is reported once and replaced; the rest of the Lease stays.
func TestGarbageIsReplaced(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"Text":       "nonsense",
		"Empty":      "",
		"List":       "[]",
		"Salt":       `{"salt":"AAAA","passwords":[]}`,
		"NoSalt":     `{"passwords":[{"account":"a","password":"p"}]}`,
		"NoPassword": `{"salt":"AAAAAAAAAAAAAAAAAAAAAA==","passwords":[{"account":"a"}]}`,
		"Negative":   `{"salt":"AAAAAAAAAAAAAAAAAAAAAA==","passwords":[{"account":"a","password":"p","refusals":-1}]}`,
		"Time":       `{"salt":"AAAAAAAAAAAAAAAAAAAAAA==","passwords":[{"account":"a","password":"p","until":"tomorrow"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, fake := newCluster(), clocktesting.NewFakeClock(time.Now())
			c.put(t, text)
			ctx, lines := logged(t.Context())
			for range 3 {
				p := c.start(hourly, fake)
				if done, err := p.reserve(ctx, "wrong"); err == nil {
					done(login.Refused)
				}
				fake.Step(15 * time.Second)
			}
			if got := lines(); len(got) != 1 || !strings.Contains(got[0], "replaced") {
				t.Errorf("the log has %q, want one line", got)
			}
			if c.start(hourly, fake).try(t, "wrong", login.Refused) {
				t.Error("two failures do not count after the garbage")
			}
			lease, err := c.CoordinationV1().Leases(login.LeaseNamespace).Get(t.Context(), leaseName, metav1.GetOptions{})
			if err != nil || lease.Annotations["example.com/other"] != "kept" {
				t.Errorf("annotations of the Lease: %v, %v", lease.Annotations, err)
			}
		})
	}
}

// Values that are valid but cannot be right delay no login for longer than right ones.
func TestStoredTimesAreBounded(t *testing.T) {
	t.Parallel()
	c, fake := newCluster(), clocktesting.NewFakeClock(time.Now())
	p := c.start(hourly, fake)
	p.try(t, "wrong", login.Refused)
	fake.SetTime(fake.Now().AddDate(-3, 0, 0)) // the other node's clock was three years ahead
	next := c.start(hourly, fake)
	waited := 0
	for ; !next.try(t, "wrong", login.Refused) && waited < 120; waited++ {
		fake.Step(time.Minute)
	}
	if waited > 61 {
		t.Errorf("the login waits for %d minutes, want an hour at most", waited)
	}
}

// A login that is accepted leaves nothing, and later ones make no call at all. One that
// is then refused is one write.
func TestAcceptedLoginsAreNotStored(t *testing.T) {
	t.Parallel()
	c, fake := newCluster(), clocktesting.NewFakeClock(time.Now())
	p := c.start(hourly, fake)
	expect := func(what string, wantReads, wantWrites int, run func()) {
		t.Helper()
		reads, writes := c.calls()
		run()
		if r, w := c.calls(); r-reads != wantReads || w-writes != wantWrites {
			t.Errorf("%s: %d reads, %d writes, want %d, %d", what, r-reads, w-writes, wantReads, wantWrites)
		}
	}
	expect("the first login", 1, 2, func() { p.try(t, "right", login.Accepted) })
	if got := c.annotation(t); strings.Contains(got, "passwords") {
		t.Errorf("stored after a login that was accepted: %s", got)
	}
	fake.Step(time.Minute)
	expect("more logins", 0, 0, func() {
		for range 10 {
			p.try(t, "right", login.Accepted)
			fake.Step(time.Minute)
		}
	})
	expect("a refusal", 0, 1, func() { p.try(t, "right", login.Refused) })
	fake.Step(15 * time.Second)
	expect("a reservation and its result", 0, 2, func() { p.try(t, "right", login.Accepted) })
	if c.start(hourly, fake).try(t, "right", login.Accepted) != true {
		t.Error("a password that was accepted is not tried after a restart")
	}
}

// Neither passwords nor accounts are stored, and hashes depend on the cluster. What is
// stored stays small.
func TestWhatIsStored(t *testing.T) {
	t.Parallel()
	store := func() string {
		c, fake := newCluster(), clocktesting.NewFakeClock(time.Now())
		many := hourly
		many.PerPassword, many.PerAccount = 1000, 1000
		p := startWith(c.lease(), many, fake)
		for i := range 40 {
			for range 10 {
				p.try(t, fmt.Sprint("secret-", i), login.Lost)
			}
			fake.Step(time.Second)
		}

		return c.annotation(t)
	}
	one, two := store(), store()
	for _, text := range []string{one, two} {
		if strings.Contains(text, "secret") || strings.Contains(text, "robot") {
			t.Errorf("a password or an account is stored: %s", text)
		}
		if hashes := regexp.MustCompile(`"password":"([^"]*)"`).FindAllStringSubmatch(text, -1); len(hashes) == 0 || len(hashes[0][1]) != 4 {
			t.Errorf("the hashes of passwords are %v, want two bytes each, of which no password can be found", hashes)
		}
		if len(text) > 32<<10 {
			t.Errorf("%d bytes are stored", len(text))
		}
	}
	hash := func(text string) string {
		_, rest, _ := strings.Cut(text, `"account":"`)
		sum, _, _ := strings.Cut(rest, `"`)

		return sum
	}
	if hash(one) == hash(two) {
		t.Error("two clusters have the same hash of an account")
	}
}

// Whatever processes there are, no password and no account fails more often than its
// limit in any interval.
func TestLimitsOverRestarts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c, fake := newCluster(), clocktesting.NewFakeClock(time.Now())
		processes := []*process{c.start(limits, fake), c.start(limits, fake)}
		failures := map[string][]time.Time{}
		var all []time.Time
		for range rapid.IntRange(1, 40).Draw(rt, "logins") {
			i := rapid.IntRange(0, 1).Draw(rt, "process")
			if rapid.IntRange(0, 3).Draw(rt, "restart") == 0 {
				processes[i] = c.start(limits, fake)
			}
			password := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "password")
			// The cloud refuses all passwords but one.
			results := map[string]login.Result{"a": login.Refused, "b": login.Refused, "c": login.Accepted}
			result := rapid.SampledFrom([]login.Result{results[password], login.Failed}).Draw(rt, "result")
			if done, err := processes[i].reserve(t.Context(), password); err == nil {
				if result == login.Refused {
					failures[password] = append(failures[password], fake.Now())
					all = append(all, fake.Now())
				}
				if rapid.IntRange(0, 5).Draw(rt, "killed") > 0 {
					done(result)
				} else {
					processes[i] = c.start(limits, fake)
				}
			}
			fake.Step(time.Duration(rapid.IntRange(0, 120).Draw(rt, "seconds")) * time.Second)
		}
		for password, at := range failures {
			if exceeds(at, limits.PerPassword) {
				rt.Errorf("password %s failed more than %d times in an interval", password, limits.PerPassword)
			}
		}
		if exceeds(all, limits.PerAccount) {
			rt.Errorf("the account failed more than %d times in an interval", limits.PerAccount)
		}
	})
}

// Two providers of one cluster have Leases of their own.
func TestProvidersHaveTheirOwnLeases(t *testing.T) {
	t.Parallel()
	c, fake := newCluster(), clocktesting.NewFakeClock(time.Now())
	for _, provider := range []string{"one", "two"} {
		g := login.NewGuard(limits, fake, login.WithStore(login.NewLeaseStore(c.CoordinationV1(), login.LeaseNamespace, login.LeaseName(provider))))
		for i := range 3 {
			done, err := g.Reserve(t.Context(), login.Request{Account: "u", Password: config.Secret("p"), Target: provider})
			if allowed := err == nil; allowed != (i < limits.PerPassword) {
				t.Errorf("provider %s, login %d: %v", provider, i, err)
			}
			if err == nil {
				done(login.Lost, errWrong)
			}
		}
	}
}

// No store is no store.
func TestWithoutStore(t *testing.T) {
	t.Parallel()
	g := login.NewGuard(limits, clocktesting.NewFakeClock(time.Now()), login.WithStore(nil))
	if !try(t, g, request("p"), login.Refused) {
		t.Error("a guard without a store rejects the first login")
	}
}
