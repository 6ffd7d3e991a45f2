package client_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

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

// OS-AUTH-2: a wrong password is tried twice, then once an hour, however often it is needed. A new
// one is tried at once.
func TestWrongPassword(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	f.serveServer()
	from := newSource(f.wrong("wrong"))
	c := f.open(t, from)
	ctx := bounded(t)
	try := func(times int) {
		for range times {
			must(t, is(get(ctx, c), apierr.ErrDenied))
		}
	}
	for _, step := range []struct {
		wait   time.Duration
		logins int
	}{
		{0, 1},
		{15 * time.Second, 2},
		{15 * time.Second, 2},
		{58 * time.Minute, 2},
		{2 * time.Minute, 3},
		{59 * time.Minute, 3},
		{time.Minute, 4},
	} {
		f.clock.Step(step.wait)
		try(5)
		f.count(t, opLogin, step.logins)
	}
	from.set(f.Credentials(openstack.UserCCM))
	must(t, get(ctx, c))
	f.count(t, opLogin, 5)
}

// OS-AUTH-2: a project that is corrected is tried at once, with the same password: the
// response to a wrong one is the same. The account has a limit of its own.
func TestWrongProject(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	f.serveServer()
	wrong := f.Credentials(openstack.UserCCM)
	from := newSource(wrong)
	c := f.open(t, from)
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
	f.clock.Step(client.LoginLimits().Interval + time.Second)
	must(t, get(bounded(t), c))
	f.count(t, opLogin, 4)
}

// A login guard that is shared, or read from a store, counts for each client.
func TestSharedGuard(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	guard := client.NewLoginGuard(f.clock)
	ctx := bounded(t)
	for _, want := range []int{1, 1, 1} {
		c := f.open(t, newSource(f.wrong("wrong")), func(_ *client.Config, o *client.Options) { o.LoginGuard = guard })
		err := get(ctx, c)
		must(t, is(err, apierr.ErrDenied))
		f.count(t, opLogin, want)
	}
	if _, ok := errors.AsType[*login.NotTriedError](get(ctx, f.open(t, newSource(f.wrong("wrong")),
		func(_ *client.Config, o *client.Options) { o.LoginGuard = guard }))); !ok {
		t.Error("the error of a login that is not tried does not have its type")
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

// An outage of Keystone does not count as a refusal of a password that was right before.
func TestOutageIsNoRefusal(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	f.serveServer()
	c := f.open(t, nil)
	ctx := bounded(t)
	must(t, get(ctx, c))
	rule := f.Interceptor().Inject(opLogin, simserver.Always(), simserver.DropResponse())
	f.RevokeTokens()
	for range 20 {
		must(t, is(get(ctx, c), apierr.ErrUnavailable))
		f.clock.Step(time.Minute)
	}
	rule.Remove()
	must(t, get(ctx, c))
}

// A refused login reads the source again.
func TestRefusalReadsSourceAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	f.serveServer()
	from := newSource(f.wrong("old"))
	from.unread = new(f.Credentials(openstack.UserCCM))
	must(t, get(bounded(t), f.open(t, from)))
	f.count(t, opLogin, 2)
}
