package client_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// names are the services by their names in the simulated cloud.
var names = map[client.Service]string{client.Compute: "nova", client.Network: "neutron", client.LoadBalancer: "octavia"}

// inBubble runs a test with a cloud in memory, whose time passes by itself.
func inBubble(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newFixture(t, openstack.Options{InMemory: true})) })
}

// calls is how many requests a service got.
func (f *fixture) calls(service client.Service) int {
	total := 0
	for op, n := range f.Interceptor().Calls() {
		if strings.HasPrefix(op, names[service]) {
			total += n
		}
	}

	return total
}

// succeed responds to every request with an empty object.
func succeed(w http.ResponseWriter, _ *http.Request) bool {
	reply(w, http.StatusOK, map[string]any{"thing": map[string]any{}})

	return true
}

// busy is the response of Octavia to a request for a project that another one holds.
func busy() simserver.Fault {
	return openstack.Error(http.StatusServiceUnavailable, "", "Project busy.  Unable to lock the project.  Please try again.")
}

// What is sent again, and how often.
func TestRetries(t *testing.T) {
	t.Parallel()
	const get, post, put, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete
	proxy := func(status int) simserver.Fault { return openstack.Proxy(status, "") }
	cases := map[string]struct {
		reason  string
		service client.Service
		method  string
		faults  int
		fault   simserver.Fault
		calls   int
		want    error
		applied bool // it may be
	}{
		"GET502":       {"a read after an error of a proxy", client.Compute, get, 1, proxy(502), 2, nil, false},
		"GET503":       {"a read after two errors", client.Compute, get, 2, proxy(503), 3, nil, false},
		"GET504":       {"a read after a time-out of a proxy", client.Network, get, 1, proxy(504), 2, nil, false},
		"GETdrop":      {"a read after a lost connection", client.Compute, get, 1, simserver.Drop(), 2, nil, false},
		"GET503always": {"a bounded number of attempts", client.Compute, get, 99, proxy(503), 4, apierr.ErrUnavailable, false},
		"GET500":       {"an error of the service itself", client.Compute, get, 99, openstack.Error(500, "", "x"), 1, apierr.ErrUnavailable, false},
		"GET501":       {"a permanent refusal", client.LoadBalancer, get, 99, openstack.Error(501, "", "x"), 1, apierr.ErrInvalid, false},
		"GET404proxy":  {"a 404 of a proxy is an outage, and not repeated", client.Compute, get, 99, proxy(404), 1, apierr.ErrUnavailable, false},
		"GET429":       {"a rate limit", client.Network, get, 1, openstack.Throttled("2"), 2, nil, false},
		"GET429none":   {"a rate limit without a time", client.Network, get, 2, openstack.Throttled(""), 3, nil, false},
		"GET429long":   {"a rate limit of an hour", client.Network, get, 99, openstack.Throttled("3600"), 1, apierr.ErrThrottled, false},
		"GET503after":  {"an outage with a time", client.Network, get, 1, openstack.Proxy(503, "3"), 2, nil, false},
		"GETdate":      {"a date as time", client.Network, get, 1, afterDate(5 * time.Second), 2, nil, false},

		"POST502":   {"a write may have been carried out", client.LoadBalancer, post, 99, proxy(502), 1, apierr.ErrUnavailable, true},
		"POST503":   {"the same", client.LoadBalancer, post, 99, proxy(503), 1, apierr.ErrUnavailable, true},
		"POST504":   {"the same", client.LoadBalancer, post, 99, openstack.ProxyAfter(504), 1, apierr.ErrUnavailable, true},
		"POST500":   {"the same", client.LoadBalancer, post, 99, openstack.Error(500, "", "x"), 1, apierr.ErrUnavailable, true},
		"POSTlost":  {"the same", client.LoadBalancer, post, 99, simserver.DropResponse(), 1, apierr.ErrUnavailable, true},
		"POST501":   {"a permanent refusal is not carried out", client.LoadBalancer, post, 99, openstack.Error(501, "", "x"), 1, apierr.ErrInvalid, false},
		"POST409":   {"a refusal", client.LoadBalancer, post, 99, openstack.Error(409, "", "x"), 1, apierr.ErrConflict, false},
		"POST404":   {"a 404 of a create names something else", client.Network, post, 99, openstack.Error(404, "PortNotFound", "Port x could not be found."), 1, apierr.ErrInvalid, false},
		"POST429":   {"a rate limit refuses before anything is done", client.LoadBalancer, post, 1, openstack.Throttled("1"), 2, nil, false},
		"POSTbusy":  {"so does a busy project", client.LoadBalancer, post, 2, busy(), 3, nil, false},
		"PUT504":    {"a change may have been carried out", client.Network, put, 99, proxy(504), 1, apierr.ErrUnavailable, true},
		"DELETE503": {"a deletion may have been carried out", client.Network, del, 99, proxy(503), 1, apierr.ErrUnavailable, true},
		"DELETE404": {"what is deleted is not found", client.Network, del, 99, openstack.Error(404, "PortNotFound", "Port x could not be found."), 1, apierr.ErrNotFound, false},
		"POST401":   {"a refused token is not a refused request", client.LoadBalancer, post, 1, openstack.Unauthorized(), 2, nil, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, f *fixture) {
				f.Interceptor().Inject(names[tc.service], simserver.First(tc.faults), tc.fault)
				f.serve(names[tc.service], succeed)
				c := f.open(t, nil, realTime)
				err := c.Do(t.Context(), tc.service, tc.method, "v2.0/things")
				if !errors.Is(err, tc.want) {
					t.Errorf("%s: %v, want %v", tc.reason, err, tc.want)
				}
				if got := client.MayBeApplied(err); got != tc.applied {
					t.Errorf("%s: MayBeApplied(%v) = %v", tc.reason, err, got)
				}
				if got := f.calls(tc.service); got != tc.calls {
					t.Errorf("%s: %d calls, want %d", tc.reason, got, tc.calls)
				}
			})
		})
	}
}

// afterDate is a rate limit that ends at a date.
func afterDate(d time.Duration) simserver.Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Retry-After", time.Now().Add(d).UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// A write that a service refuses with the token is not carried out, whatever happens to the
// login after it.
func TestWriteWithoutLogin(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, f *fixture) {
		c := f.open(t, nil, realTime)
		_, err := c.Project(t.Context())
		must(t, err)
		f.Interceptor().Inject("octavia", simserver.Always(), openstack.Unauthorized())
		f.Interceptor().Inject(opLogin, simserver.Always(), simserver.DropResponse())
		err = c.Do(t.Context(), client.LoadBalancer, http.MethodPost, "v2.0/things")
		if !errors.Is(err, apierr.ErrUnavailable) || client.MayBeApplied(err) {
			t.Errorf("write without a login = %v, may be applied: %v", err, client.MayBeApplied(err))
		}
		if got := f.calls(client.LoadBalancer); got != 1 {
			t.Errorf("%d calls, want 1", got)
		}
	})
}

// A write that was refused a connection is sent again: nothing was sent before.
func TestRefusedConnection(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, f *fixture) {
		f.serve("octavia", succeed)
		c := f.open(t, nil, realTime)
		must(t, c.Do(t.Context(), client.LoadBalancer, http.MethodGet, "v2.0/things"))
		f.Server().Down()
		go func() {
			time.Sleep(500 * time.Millisecond)
			_ = f.Server().Up() // a failure fails the call
		}()
		must(t, c.Do(t.Context(), client.LoadBalancer, http.MethodPost, "v2.0/things"))
		if got := f.calls(client.LoadBalancer); got != 2 {
			t.Errorf("%d calls, want 2", got)
		}
		f.Server().Down()
		err := c.Do(t.Context(), client.LoadBalancer, http.MethodPost, "v2.0/things")
		if !errors.Is(err, apierr.ErrUnavailable) || client.MayBeApplied(err) {
			t.Errorf("write without a connection = %v, which may be applied: %v", err, client.MayBeApplied(err))
		}
	})
}

// A caller that leaves ends its call.
func TestCallerLeaves(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, f *fixture) {
		f.Interceptor().Inject("neutron", simserver.Always(), openstack.Proxy(http.StatusServiceUnavailable, "20"))
		c := f.open(t, nil, realTime)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		must(t, is(c.Do(ctx, client.Network, http.MethodGet, "v2.0/things"), apierr.ErrUnavailable))
		if got := f.calls(client.Network); got != 1 {
			t.Errorf("%d calls, want 1", got)
		}
	})
}

// A request has a time; a caller without a deadline does not wait forever.
func TestTimeout(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, f *fixture) {
		f.serve("nova", succeed)
		c := f.open(t, nil, realTime, func(cfg *client.Config, _ *client.Options) { cfg.Timeout = 10 * time.Second })
		must(t, c.Do(t.Context(), client.Compute, http.MethodGet, "v2.0/things"))
		f.Server().Hang()
		err := c.Do(t.Context(), client.Compute, http.MethodPost, "v2.0/things")
		if apierr.Code(err) != apierr.CodeTimeout || !errors.Is(err, apierr.ErrUnavailable) || !client.MayBeApplied(err) {
			t.Errorf("call of a service that hangs = %v", err)
		}
		must(t, f.Server().Up())
	})
}

// A service that is slow or busy delays no other one, and its writes do not delay its
// reads.
func TestServicesAreIndependent(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, f *fixture) {
		hold := simserver.NewHold()
		f.Interceptor().Inject("octavia", simserver.Always(), func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			if r.Method == http.MethodGet {
				succeed(w, r)

				return
			}
			hold.Before(w, r, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { succeed(w, r) }))
		})
		f.serve("nova", succeed)
		c := f.open(t, nil, realTime)
		var writes sync.WaitGroup
		for range 20 {
			writes.Go(func() { must(t, c.Do(t.Context(), client.LoadBalancer, http.MethodPost, "v2.0/things")) })
		}
		synctest.Wait()
		if got := f.calls(client.LoadBalancer); got != 4 {
			t.Errorf("%d writes under way, want 4", got)
		}
		began := time.Now()
		must(t, c.Do(t.Context(), client.Compute, http.MethodGet, "v2.0/things"))
		must(t, c.Do(t.Context(), client.LoadBalancer, http.MethodGet, "v2.0/things"))
		if waited := time.Since(began); waited != 0 {
			t.Errorf("other calls waited for %s", waited)
		}
		hold.Release()
		writes.Wait()
		if got := f.calls(client.LoadBalancer); got != 21 {
			t.Errorf("%d calls, want 21", got)
		}
	})
}

// A service that is busy gets few requests for a while; the others none the less.
func TestBusyService(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, f *fixture) {
		f.Interceptor().Inject("octavia", simserver.First(4), busy())
		f.serve("octavia", succeed)
		f.serve("neutron", succeed)
		c := f.open(t, nil, realTime)
		var writes sync.WaitGroup
		for range 30 {
			writes.Go(func() { must(t, c.Do(t.Context(), client.LoadBalancer, http.MethodPost, "v2.0/things")) })
		}
		time.Sleep(time.Millisecond)
		began := time.Now()
		must(t, c.Do(t.Context(), client.Network, http.MethodPost, "v2.0/things"))
		must(t, c.Do(t.Context(), client.LoadBalancer, http.MethodGet, "v2.0/things"))
		if waited := time.Since(began); waited != 0 {
			t.Errorf("other calls waited for %s", waited)
		}
		writes.Wait()
		if got := f.calls(client.LoadBalancer); got != 35 {
			t.Errorf("%d calls, want 30 writes, 4 that were refused and a read", got)
		}
	})
}
