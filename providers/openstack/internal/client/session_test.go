package client_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// get is the smallest call that needs a session.
func get(ctx context.Context, c *client.Client) error {
	_, err := c.Compute().GetServer(ctx, serverID)

	return err
}

// all runs a function many times at once.
func all(t *testing.T, n int, fn func() error) {
	t.Helper()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if err := fn(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// OS-AUTH-1: a revoked token costs one login, however many calls notice it, and each call is sent
// once more.
func TestStampede(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	f.serveServer()
	c := f.open(t, nil, func(_ *client.Config, o *client.Options) { o.MaxReads = 50 })
	ctx := bounded(t)
	must(t, get(ctx, c))
	f.RevokeTokens()
	f.Interceptor().Reset()
	all(t, 50, func() error { return get(ctx, c) })
	f.count(t, opLogin, 1)
	if got := f.Interceptor().Total() - 1; got > 100 {
		t.Errorf("%d calls of Nova for 50 callers, want at most 100", got)
	}
}

// A refusal of an old token that arrives late does not end the new one.
func TestLateRefusal(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	f.serveServer()
	c := f.open(t, nil)
	ctx := bounded(t)
	must(t, get(ctx, c))
	f.RevokeTokens()
	hold := simserver.NewHold()
	f.Interceptor().Inject("nova.ShowServer", simserver.Nth(1), hold.After)
	late := make(chan error, 1)
	go func() { late <- get(ctx, c) }()
	must(t, f.Interceptor().WaitFor(ctx, "nova.ShowServer", 2))
	must(t, get(ctx, c))
	hold.Release()
	must(t, <-late)
	f.count(t, opLogin, 2)
}

// Callers share a login that fails, too, and those after it get its error.
func TestSharedFailure(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	f.Interceptor().Inject(opLogin, simserver.Always(), openstack.Proxy(http.StatusServiceUnavailable, ""))
	c := f.open(t, nil)
	ctx := bounded(t)
	all(t, 50, func() error { return is(get(ctx, c), apierr.ErrUnavailable) })
	f.count(t, opLogin, 1)
	f.Interceptor().Clear()
	f.clock.Step(time.Second)
	must(t, is(get(ctx, c), apierr.ErrNotFound))
}

// Credentials that a source does not have are an error, and are read again.
func TestNoCredentials(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	reason := apierr.Mark(apierr.ErrDenied, errors.New("no credentials"))
	c := f.open(t, credential.NewInFile(client.Credentials{}, reason))
	must(t, is(get(bounded(t), c), reason))
	f.count(t, opLogin, 0)
}

// A login goes on if the caller that started it leaves.
func TestLoginOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	f.serveServer()
	hold := simserver.NewHold()
	f.Interceptor().Inject(opLogin, simserver.Always(), hold.Before)
	c := f.open(t, nil)
	first, cancel := context.WithCancel(bounded(t))
	left := make(chan error, 1)
	go func() { left <- get(first, c) }()
	must(t, f.Interceptor().WaitFor(bounded(t), opLogin, 1))
	done := make(chan error, 1)
	go func() { done <- get(bounded(t), c) }()
	cancel()
	must(t, is(<-left, context.Canceled))
	hold.Release()
	must(t, <-done)
	f.count(t, opLogin, 1)
}

// A service that refuses every token costs one login a minute, not one for each call.
func TestServiceThatRefusesTokens(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	f.serveServer()
	c := f.open(t, nil)
	ctx := bounded(t)
	must(t, get(ctx, c))
	f.Interceptor().Inject("nova", simserver.Always(), openstack.Unauthorized())
	f.Interceptor().Reset()
	for range 5 {
		must(t, is(get(ctx, c), apierr.ErrDenied))
	}
	f.count(t, opLogin, 1)
	f.clock.Step(time.Minute)
	must(t, is(get(ctx, c), apierr.ErrDenied))
	f.count(t, opLogin, 2)
}

// Close logs out, and no call logs in again.
func TestClose(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	f.serveServer()
	c := f.open(t, nil)
	ctx := bounded(t)
	must(t, get(ctx, c))
	must(t, c.Close(ctx))
	f.count(t, opLogout, 1)
	must(t, is(get(ctx, c), client.ErrClosed))
	must(t, c.Close(ctx))
	f.count(t, opLogin, 1)
	f.count(t, opLogout, 1)
}

// Close ends a login under way, and those that wait for it.
func TestCloseDuringLogin(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	hold := simserver.NewHold()
	f.Interceptor().Inject(opLogin, simserver.Always(), hold.Before)
	c := f.open(t, nil)
	ctx := bounded(t)
	left := make(chan error, 1)
	go func() { left <- get(ctx, c) }()
	must(t, f.Interceptor().WaitFor(ctx, opLogin, 1))
	must(t, c.Close(ctx))
	must(t, is(<-left, client.ErrClosed))
	hold.Release()
}

// A token that a user configured is not revoked by Close; it cannot be renewed.
func TestConfiguredTokenIsKept(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	token := issueToken(t, f)
	f.Interceptor().Reset()
	c := f.open(t, credential.NewInFile(client.Credentials{Token: secretOf(token)}, nil))
	ctx := bounded(t)
	if _, err := c.Project(ctx); err != nil {
		t.Fatal(err)
	}
	must(t, c.Close(ctx))
	f.count(t, opLogout, 0)
}

// Versions of Keystone: the URL may have one; version 2 alone is an error.
func TestKeystoneVersions(t *testing.T) {
	t.Parallel()
	v2only := func(w http.ResponseWriter, _ *http.Request) bool {
		reply(w, http.StatusMultipleChoices, map[string]any{"versions": map[string]any{"values": []any{
			map[string]any{"id": "v2.0", "status": "stable", "links": []any{}},
		}}})

		return true
	}
	hidden := func(status int) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			http.Error(w, "<html>not here</html>", status)

			return true
		}
	}
	cases := map[string]struct {
		reason, url string
		handle      func(http.ResponseWriter, *http.Request) bool
		discoveries int
		want        error
	}{
		"Versioned":       {"no discovery with a version", "/identity/v3", nil, 0, nil},
		"VersionedSlash":  {"a slash at the end is the same", "/identity/v3/", nil, 0, nil},
		"Unversioned":     {"one discovery without", "/identity", nil, 1, nil},
		"UnversionedRoot": {"one discovery, with a slash", "/identity/", nil, 1, nil},
		"URLOfVersion2":   {"a URL of version 2 leads to version 3 if there is one", "/identity/v2.0", nil, 1, nil},
		"OnlyVersion2":    {"version 2 is not supported", "/identity", v2only, 1, apierr.ErrInvalid},
		"Denied":          {"a gateway hides the document", "/identity", hidden(http.StatusForbidden), 1, nil},
		"Missing":         {"a gateway has no such path", "/identity", hidden(http.StatusNotFound), 1, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.Options{})
			if tc.handle != nil {
				f.serve("keystone.ListVersions", tc.handle)
			}
			c := f.open(t, nil, func(cfg *client.Config, _ *client.Options) { cfg.AuthURL = f.URL() + tc.url })
			_, err := c.Project(bounded(t))
			if !errors.Is(err, tc.want) {
				t.Errorf("%s: %v, want %v", tc.reason, err, tc.want)
			}
			f.count(t, "keystone.ListVersions", tc.discoveries)
		})
	}
}

// A login that gets no response in time is an outage; the next one is delayed, and begins
// with a call that has no password in it.
func TestKeystoneHangs(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, f *fixture) {
		f.serveServer()
		c := f.open(t, nil, realTime)
		f.Server().Hang()
		for range 3 {
			must(t, is(get(t.Context(), c), apierr.ErrUnavailable))
		}
		time.Sleep(time.Minute)
		must(t, is(get(t.Context(), c), apierr.ErrUnavailable))
		must(t, f.Server().Up())
		time.Sleep(time.Minute)
		must(t, get(t.Context(), c))
		f.count(t, "keystone.ShowVersion", 2)
	})
}

// issueToken returns a token of the user of the cluster.
func issueToken(t *testing.T, f *fixture) string {
	t.Helper()
	made, err := f.Connect(bounded(t), f.AuthOptions(openstack.UserCCM))
	must(t, err)
	t.Cleanup(made.HTTPClient.CloseIdleConnections)

	return made.Token()
}
