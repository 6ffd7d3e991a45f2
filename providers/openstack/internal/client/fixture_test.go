package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The operations of Keystone in the request log.
const (
	opLogin  = "keystone.CreateToken"
	opLogout = "keystone.RevokeToken"
)

// serverID is the ID of a server.
const serverID = "11111111-2222-4333-8444-555555555555"

// fixture is a cloud, and a clock that only the test moves.
type fixture struct {
	*openstacktest.Cloud

	clock *clocktesting.FakeClock
}

func newFixture(t *testing.T, options openstack.Options) *fixture {
	t.Helper()

	return &fixture{Cloud: openstacktest.Start(t, options), clock: clocktesting.NewFakeClock(time.Now())}
}

// bounded is the context of a test, with an end.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), openstacktest.Timeout)
	t.Cleanup(cancel)

	return ctx
}

// eventually waits until a condition is true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(openstacktest.Timeout); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if is() {
			return
		}
	}
	t.Fatalf("%s: never", what)
}

// source is a source of credentials that a test changes.
type source struct {
	mu          sync.Mutex
	credentials client.Credentials
	unread      *client.Credentials
	subscribers []func(context.Context)
}

var _ credential.Source[client.Credentials] = (*source)(nil)

func newSource(credentials client.Credentials) *source { return &source{credentials: credentials} }

func (s *source) Lookup(context.Context, string) (client.Credentials, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.credentials, nil
}

func (s *source) Refresh(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unread != nil {
		s.credentials, s.unread = *s.unread, nil
	}

	return nil
}

func (s *source) Subscribe(changed func(context.Context)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribers = append(s.subscribers, changed)
}

func (*source) String() string { return "test" }

// set changes the credentials.
func (s *source) set(credentials client.Credentials) {
	s.mu.Lock()
	s.credentials = credentials
	subscribers := s.subscribers
	s.mu.Unlock()
	for _, fn := range subscribers {
		fn(context.Background())
	}
}

// open makes a client with the clock of the fixture.
func (f *fixture) open(t *testing.T, from client.Source, change ...func(*client.Config, *client.Options)) *client.Client {
	t.Helper()
	cfg, options := f.ClientConfig(), f.ClientOptions()
	options.Clock = clock.Clock(f.clock)
	options.Jitter = func(d time.Duration) time.Duration { return d }
	for _, fn := range change {
		fn(&cfg, &options)
	}
	if from == nil {
		from = credential.NewInFile(f.Credentials(openstack.UserCCM), nil)
	}

	return f.NewClient(t, cfg, from, options)
}

// realTime lets delays pass by themselves, for tests in a bubble.
func realTime(_ *client.Config, o *client.Options) { o.Clock = clock.RealClock{} }

// wrong are credentials with a wrong password.
func (f *fixture) wrong(password string) client.Credentials {
	c := f.Credentials(openstack.UserCCM)
	c.Password = config.Secret(password)

	return c
}

// serve responds to the calls of a service with a handler. What it leaves to the cloud, it
// responds to with nothing.
func (f *fixture) serve(service string, handler func(w http.ResponseWriter, r *http.Request) bool) {
	f.Interceptor().Inject(service, simserver.Always(), func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
		if !handler(w, r) {
			apply.ServeHTTP(w, r)
		}
	})
}

// reply responds with JSON.
func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a client that is gone misses it
}

// serveServer adds a server.
func (f *fixture) serveServer() { f.AddServer(openstack.ServerSpec{ID: serverID, Name: "node-1"}) }

// is returns an error unless err is a target.
func is(err, target error) error {
	if errors.Is(err, target) {
		return nil
	}

	return fmt.Errorf("error = %w, want %w", err, target)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// count checks how often an operation was called.
func (f *fixture) count(t *testing.T, op string, want int) {
	t.Helper()
	if got := f.Interceptor().Count(op); got != want {
		t.Errorf("%d calls of %s, want %d", got, op, want)
	}
}

func secretOf(s string) config.Secret { return config.Secret(s) }

// recorder is a response that a test changes.
type recorder struct{ *httptest.ResponseRecorder }

func newRecorder() *recorder { return &recorder{httptest.NewRecorder()} }

// project is the ID of the project in the response to a login.
func (r *recorder) project() string {
	var body struct {
		Token struct{ Project struct{ ID string } }
	}
	_ = json.Unmarshal(r.Body.Bytes(), &body) // empty if there is none

	return body.Token.Project.ID
}

// raw responds with a text in JSON.
func raw(status int, body string) simserver.Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body)) // a client that is gone misses it
	}
}
