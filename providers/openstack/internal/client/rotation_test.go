package client_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// second adds one more user of the project and returns its credentials.
func (f *fixture) second(project string) client.Credentials {
	f.AddUser("second", project, openstack.RoleMember)

	return f.Credentials("second")
}

// OS-AUTH-4: new credentials are used once they have logged in, without a failed call.
func TestRotation(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	f.serveServer()
	from := newSource(f.Credentials(openstack.UserCCM))
	c := f.open(t, from)
	ctx := bounded(t)
	must(t, get(ctx, c))
	from.set(f.second(openstack.ProjectCCM))
	eventually(t, "login with the new credentials", func() bool { return f.Interceptor().Count(opLogin) == 2 })
	f.RevokeTokens(openstack.UserCCM)
	must(t, get(ctx, c))
	f.count(t, opLogin, 2)
}

// Credentials that change while others are tried are used as well, without a call.
func TestChangeDuringChange(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	f.serveServer()
	from := newSource(f.Credentials(openstack.UserCCM))
	c := f.open(t, from)
	must(t, get(bounded(t), c))
	hold := simserver.NewHold()
	f.Interceptor().Inject(opLogin, simserver.Nth(1), hold.Before)
	from.set(f.wrong("wrong"))
	must(t, f.Interceptor().WaitFor(bounded(t), opLogin, 2))
	from.set(f.second(openstack.ProjectCCM))
	hold.Release()
	eventually(t, "login with the last credentials", func() bool { return f.Interceptor().Count(opLogin) == 3 })
}

// New credentials that cannot log in, or that lead to another project, leave the old ones
// in use, also when the token has ended.
func TestRefusedRotation(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		to     func(f *fixture) client.Credentials
		// logins are those of the new credentials until the end.
		logouts int
	}{
		"WrongPassword": {
			"a wrong password", func(f *fixture) client.Credentials { return f.wrong("wrong") }, 0,
		},
		"OtherProject": {
			"another project, whose token is given back", func(f *fixture) client.Credentials { return f.second(openstack.ProjectOther) }, 1,
		},
		"NoProject": {
			"no project", func(f *fixture) client.Credentials {
				to := f.Credentials(openstack.UserCCM)
				to.ProjectID, to.DomainID = "", "default"

				return to
			}, 0,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.Options{})
			f.serveServer()
			from := newSource(f.Credentials(openstack.UserCCM))
			c := f.open(t, from)
			ctx := bounded(t)
			must(t, get(ctx, c))
			before, err := c.Project(ctx)
			must(t, err)
			from.set(tc.to(f))
			eventually(t, tc.reason, func() bool { return f.Interceptor().Count(opLogin) == 2 })
			eventually(t, tc.reason, func() bool { return f.Interceptor().Count(opLogout) == tc.logouts })
			for range 3 {
				must(t, get(ctx, c))
			}
			f.count(t, opLogin, 2)
			f.RevokeTokens()
			must(t, get(ctx, c))
			if after, err := c.Project(ctx); err != nil || after != before {
				t.Errorf("%s: project = %q, %v, want %q", tc.reason, after, err, before)
			}
		})
	}
}

// A password that reaches the file before Keystone is tried again within the limit of refused logins, even
// if there are no calls.
func TestLoggedIn(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	f.serveServer()
	from, changed := newSource(f.Credentials(openstack.UserCCM)), f.wrong("n3w")
	c := f.open(t, from)
	ctx := bounded(t)
	must(t, get(ctx, c))
	f.SetPassword(openstack.UserCCM, "n3w")
	f.Interceptor().Inject(opLogin, simserver.Nth(1), openstack.DirectoryAway())
	from.set(changed)
	eventually(t, "a refused login", func() bool { return f.Interceptor().Count(opLogin) == 2 })
	if c.LoggedIn(ctx, changed) {
		t.Error("a refused password is in use")
	}
	eventually(t, "a login with the changed password", func() bool {
		f.clock.Step(time.Second)

		return c.LoggedIn(ctx, changed)
	})
	f.count(t, opLogin, 3)
}

// OS-AUTH-3: a new login with the same credentials that leads to another project is refused.
func TestProjectIsPinned(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	f.serveServer()
	credentials := f.Credentials(openstack.UserCCM)
	credentials.ProjectID, credentials.ProjectName, credentials.ProjectDomainID = "", openstack.ProjectCCM, "default"
	c := f.open(t, newSource(credentials))
	ctx := bounded(t)
	must(t, get(ctx, c))
	other := f.ProjectID(openstack.ProjectOther)
	f.Interceptor().Inject(opLogin, simserver.Always(), renameProject(other))
	f.RevokeTokens()
	err := get(ctx, c)
	if !errors.Is(err, apierr.ErrDenied) || !strings.Contains(err.Error(), other) {
		t.Errorf("call after a login to another project = %v, want %v", err, apierr.ErrDenied)
	}
}

// renameProject has logins lead to another project.
func renameProject(id string) simserver.Fault {
	return func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
		recorded := newRecorder()
		apply.ServeHTTP(recorded, r)
		body := strings.Replace(recorded.Body.String(), recorded.project(), id, 1)
		maps.Copy(w.Header(), recorded.Header())
		w.Header().Del("Content-Length")
		w.WriteHeader(recorded.Code)
		_, _ = w.Write([]byte(body))
	}
}

// OS-AUTH-2, OS-AUTH-8: a wrong password is tried again after three minutes and then every ten minutes,
// however often it is needed. A new one is tried at once. The error has who was refused
// and when, and when the next login is.
func TestWrongPassword(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	f.serveServer()
	from := newSource(f.wrong("wrong"))
	c := f.open(t, from)
	ctx := bounded(t)
	start := f.clock.Now()
	for _, step := range []struct {
		wait   time.Duration
		logins int
	}{
		{0, 1},
		{180 * time.Second, 1},
		{time.Second, 2},
		{599 * time.Second, 2},
		{time.Second, 3},
		{599 * time.Second, 3},
		{time.Second, 4},
	} {
		f.clock.Step(step.wait)
		for range 5 {
			must(t, is(get(ctx, c), apierr.ErrDenied))
		}
		f.count(t, opLogin, step.logins)
	}
	host, err := url.Parse(f.URL())
	must(t, err)
	last := start.Add(1381 * time.Second).UTC()
	want := fmt.Sprintf("not tried again before %s: Keystone %s refused %s@default at %s: ",
		last.Add(10*time.Minute).Format(time.RFC3339), host.Host, openstack.UserCCM, last.Format(time.RFC3339))
	if err := get(ctx, c); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want %s", err, want)
	}
	from.set(f.Credentials(openstack.UserCCM))
	must(t, get(ctx, c))
	f.count(t, opLogin, 5)
}

// OS-AUTH-2: Keystone with a directory behind it refuses every password while the directory is
// away. One that was accepted is tried again soon, within the limit of the account.
func TestDirectoryAway(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason     string
		away, want time.Duration // the cloud can be used again after want
		refused    int
	}{
		"20Seconds":  {"the next login is after 30 seconds", 20 * time.Second, 30 * time.Second, 1},
		"50Seconds":  {"two logins are refused, then the password must wait", 50 * time.Second, 181 * time.Second, 2},
		"10Minutes":  {"later, each one that is refused makes the delay longer", 10 * time.Minute, 1081 * time.Second, 4},
		"30Minutes":  {"up to ten minutes", 30 * time.Minute, 2281 * time.Second, 6},
		"NotRefused": {"a token that ends costs no time", 0, 0, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.Options{})
			f.serveServer()
			c := f.open(t, nil)
			ctx := bounded(t)
			must(t, get(ctx, c))
			f.clock.Step(50 * time.Minute)
			must(t, get(ctx, c))
			directory := f.Interceptor().Inject(opLogin, simserver.Always(), openstack.DirectoryAway())
			f.RevokeTokens()
			began := f.clock.Now()
			for {
				if f.clock.Since(began) >= tc.away {
					directory.Remove()
				}
				err := get(ctx, c)
				if err == nil {
					break
				}
				must(t, is(err, apierr.ErrDenied))
				f.clock.Step(time.Second)
			}
			if got := f.clock.Since(began); got != tc.want || directory.Hits() != tc.refused {
				t.Errorf("%s: used again after %v with %d refused logins, want %v and %d", tc.reason, got, directory.Hits(), tc.want, tc.refused)
			}
		})
	}
}

// OS-AUTH-2: a project that is corrected is tried at once, with the same password: the
// response to a wrong one is the same. The account has a limit of its own.
func TestWrongProject(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	f.serveServer()
	wrong := f.Credentials(openstack.UserCCM)
	from := newSource(wrong)
	c := f.open(t, from, f.notYoung(t))
	for i, logins := range []int{1, 2, 3, 3} {
		wrong.ProjectID = fmt.Sprintf("%032d", i)
		from.set(wrong)
		for range 5 {
			must(t, is(get(bounded(t), c), apierr.ErrDenied))
		}
		f.count(t, opLogin, logins)
	}
	from.set(f.Credentials(openstack.UserCCM))
	must(t, is(get(bounded(t), c), apierr.ErrDenied))
	f.clock.Step(login.DefaultLimits().Interval)
	must(t, get(bounded(t), c))
	f.count(t, opLogin, 4)
}

// notYoung gives a client a guard whose first login was a while ago.
func (f *fixture) notYoung(t *testing.T) func(*client.Config, *client.Options) {
	t.Helper()
	guard := login.NewGuard(login.DefaultLimits(), f.clock)
	done, err := guard.Reserve(t.Context(), login.Request{})
	must(t, err)
	done(login.Accepted, nil)
	f.clock.Step(login.DefaultLimits().Interval)

	return func(_ *client.Config, o *client.Options) { o.LoginGuard = guard }
}

// OS-AUTH-2: all clients of a process share its guard.
func TestSharedGuard(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	guard := login.NewGuard(login.DefaultLimits(), f.clock)
	ctx := bounded(t)
	for range 3 {
		c := f.open(t, newSource(f.wrong("wrong")), func(_ *client.Config, o *client.Options) { o.LoginGuard = guard })
		err := get(ctx, c)
		must(t, is(err, apierr.ErrDenied))
		f.count(t, opLogin, 1)
		if _, ok := errors.AsType[*login.NotTriedError](get(ctx, c)); !ok {
			t.Error("the error of a login that is not tried does not have its type")
		}
	}
}

// Logins without a password are delayed by no more than five minutes.
func TestBackoffWithoutPassword(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	c := f.open(t, newSource(client.Credentials{Token: "wrong", ProjectID: f.ProjectID(openstack.ProjectCCM)}))
	ctx := bounded(t)
	for minutes := range 60 {
		must(t, is(get(ctx, c), apierr.ErrDenied))
		f.clock.Step(time.Minute)
		if n := f.Interceptor().Count(opLogin); n > 5+minutes/4 {
			t.Fatalf("%d logins in %d minutes", n, minutes)
		}
	}
	if n := f.Interceptor().Count(opLogin); n < 12 {
		t.Errorf("%d logins in an hour, want one every five minutes at least", n)
	}
}

// OS-AUTH-2: logins without a response are delayed by seconds. Those of a password that was not
// accepted yet may have been refused, and have its limit, unless Keystone itself describes a failure.
func TestLoginsWithoutResponse(t *testing.T) {
	t.Parallel()
	soon := []int{0, 1, 3, 7, 15, 30, 45, 60, 75, 90, 105, 120, 135, 150, 165, 180, 195}
	limited := []int{0, 1, 181, 185}
	failed := openstack.Error(http.StatusInternalServerError, "", "An unexpected error prevented the server from fulfilling your request.")
	gateway := openstack.Proxy(http.StatusGatewayTimeout, "")
	cases := map[string]struct {
		reason   string
		accepted bool
		fault    simserver.Fault
		want     []int // seconds
	}{
		"AcceptedLost":    {"the password is right", true, simserver.DropResponse(), soon},
		"AcceptedGateway": {"so it is behind a gateway", true, gateway, soon},
		"AcceptedFailed":  {"a directory is away, which Keystone reports", true, failed, soon},
		"NewLost":         {"it may be wrong", false, simserver.DropResponse(), limited},
		"NewGateway":      {"it may be wrong behind a gateway", false, gateway, limited},
		"NewFailed":       {"Keystone has refused no password", false, failed, soon},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.Options{})
			f.serveServer()
			c := f.open(t, nil)
			ctx := bounded(t)
			if tc.accepted {
				must(t, get(ctx, c))
				f.clock.Step(time.Hour)
			}
			rule := f.Interceptor().Inject(opLogin, simserver.Always(), tc.fault)
			f.RevokeTokens()
			var logins []int
			for second := range 200 {
				before := rule.Hits()
				must(t, is(get(ctx, c), apierr.ErrUnavailable))
				if rule.Hits() > before {
					logins = append(logins, second)
				}
				f.clock.Step(time.Second)
			}
			if diff := cmp.Diff(tc.want, logins); diff != "" {
				t.Errorf("%s\nseconds of the logins: -want, +got:\n%s", tc.reason, diff)
			}
			rule.Remove()
			f.clock.Step(login.DefaultLimits().Interval)
			must(t, get(ctx, c))
		})
	}
}

// A refused login reads the source again.
func TestRefusalReadsSourceAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	f.serveServer()
	from := newSource(f.wrong("old"))
	from.unread = new(f.Credentials(openstack.UserCCM))
	must(t, get(bounded(t), f.open(t, from, f.notYoung(t))))
	f.count(t, opLogin, 2)
}
