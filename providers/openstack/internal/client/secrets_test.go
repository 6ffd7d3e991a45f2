package client_test

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// loggedSecrets is set in the process of TestNoSecretIsLogged whose log is searched.
const loggedSecrets = "TEST_LOGGED_SECRETS"

// No password, secret or token is in a log or an error at the highest verbosity, also if a
// service sends the request back.
func TestNoSecretIsLogged(t *testing.T) {
	t.Parallel()
	if os.Getenv(loggedSecrets) != "" {
		logSecrets(t)

		return
	}
	cmd := exec.CommandContext(bounded(t), os.Args[0], "-test.run=^TestNoSecretIsLogged$", "-test.v")
	cmd.Env = append(os.Environ(), loggedSecrets+"=true")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !bytes.Contains(out, []byte("New credentials cannot be used")) || !bytes.Contains(out, []byte("<redacted>")) {
		t.Errorf("the log has not what it should have:\n%s", out)
	}
	for line := range strings.SplitSeq(string(out), "\n") {
		if secret, ok := strings.CutPrefix(line, "SECRET "); ok {
			if n := strings.Count(string(out), secret); n != 1 {
				t.Errorf("a secret is in the log %d times:\n%s", n-1, out)
			}
		}
	}
}

// logSecrets does all that uses secrets, and prints them.
func logSecrets(t *testing.T) {
	t.Helper()
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	must(t, flags.Parse([]string{"-v=10", "-logtostderr=true"}))
	f := newFixture(t, openstack.Options{})
	f.serveServer()
	var tokens []string
	echo := func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		tokens = append(tokens, r.Header.Get("X-Auth-Token"))
		dump, _ := httputil.DumpRequest(r, true)
		reply(w, http.StatusBadRequest, map[string]any{"error": map[string]any{"code": 400, "message": string(dump)}})
	}
	id, secret := f.AddApplicationCredential(openstack.ApplicationCredentialSpec{User: openstack.UserCCM, Name: "cluster"})
	all := []client.Credentials{
		f.wrong("the-wrong-password"),
		{ApplicationCredentialID: id, ApplicationCredentialSecret: secretOf(secret)},
		{ApplicationCredentialID: id, ApplicationCredentialSecret: "the-wrong-secret"},
		{Token: "the-wrong-token", ProjectID: f.ProjectID(openstack.ProjectCCM)},
	}
	from := newSource(f.Credentials(openstack.UserCCM))
	c := f.open(t, from)
	ctx := bounded(t)
	must(t, get(ctx, c))
	for i, credentials := range all {
		from.set(credentials)
		eventually(t, "login", func() bool { return f.Interceptor().Count(opLogin) == i+2 })
		fmt.Printf("%v %+v %#v\n", credentials, credentials, c)
		klog.InfoS("Credentials", "value", credentials)
	}
	f.Interceptor().Inject("nova", simserver.Always(), echo)
	f.Interceptor().Inject(opLogin, simserver.Always(), echo)
	fmt.Println(get(ctx, c))
	f.RevokeTokens()
	second := f.open(t, newSource(f.Credentials(openstack.UserCCM)))
	fmt.Println(get(ctx, second))
	fmt.Println(second.Close(ctx), c.Close(ctx))
	for _, s := range append(tokens, openstack.Password(openstack.UserCCM), secret, "the-wrong-password", "the-wrong-secret", "the-wrong-token") {
		if s != "" {
			fmt.Println("SECRET " + s)
		}
	}
}

// A redirect to another server is not followed: it would get the token. One to another path
// of the same server is.
func TestRedirects(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	var stolen atomic.Int32
	foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		stolen.Add(1)
		w.WriteHeader(http.StatusOK)
	}))
	t.Cleanup(foreign.Close)
	var location string
	f.serve("nova", func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/there") {
			return succeed(w, r)
		}
		w.Header().Set("Location", location)
		w.WriteHeader(http.StatusFound)

		return true
	})
	c := f.open(t, nil)
	for _, tc := range []struct {
		reason, method, to string
		want               error
	}{
		{"another server", http.MethodGet, foreign.URL + "/x", apierr.ErrUnavailable},
		{"another scheme", http.MethodGet, "https" + strings.TrimPrefix(f.URL(), "http") + "/compute/v2.1/there", apierr.ErrUnavailable},
		{"another path", http.MethodGet, "/compute/v2.1/there", nil},
		{"another path of a write", http.MethodPost, "/compute/v2.1/there", apierr.ErrUnavailable},
		{"a loop", http.MethodGet, "/compute/v2.1/here", apierr.ErrUnavailable},
	} {
		location = tc.to
		if err := c.Do(bounded(t), client.Compute, tc.method, "here"); tc.want == nil && err != nil || tc.want != nil && is(err, tc.want) != nil {
			t.Errorf("%s: %v, want %v", tc.reason, err, tc.want)
		}
	}
	if n := stolen.Load(); n != 0 {
		t.Errorf("%d requests to another server", n)
	}
}

// The header has the components of the flags, the last one first, then the name of the
// program and that of the library.
func TestUserAgent(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	f.serveServer()
	var got atomic.Value
	for _, service := range []string{"keystone", "nova"} {
		f.serve(service, func(_ http.ResponseWriter, r *http.Request) bool {
			got.Store(r.UserAgent())

			return false
		})
	}
	c := f.open(t, nil, func(cfg *client.Config, _ *client.Options) { cfg.UserAgent = []string{"first one", "second"} })
	ctx := bounded(t)
	if _, err := c.Project(ctx); err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		agent, _ := got.Load().(string)
		if !strings.HasPrefix(agent, "second first one openstack-cloud-controller-manager/") || !strings.Contains(agent, " gophercloud/") {
			t.Errorf("User-Agent = %q", agent)
		}
	}
	check()
	must(t, get(ctx, c))
	check()
}
