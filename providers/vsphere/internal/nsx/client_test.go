package nsx_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kmetrics "k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential/credentialtest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/drain"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/tlsfiles"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nsx"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/nsxt"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// route is a static route to a network.
func route(network string) nsxt.Object {
	return nsxt.Object{"network": network, "next_hops": []any{map[string]any{"ip_address": "192.0.2.1", "admin_distance": 5}}, "x_unknown": "kept"}
}

// TestObjects: a changed object keeps what is not known here, a revision that is stale is refused in each of its forms, and
// what is gone is deleted.
func TestObjects(t *testing.T) {
	t.Parallel()
	simulate(t, nsxt.Spec{}, password("secret"), func(f fixture) {
		f.put(path, route("10.0.0.0/24"))
		read, err := f.client.Get(f.Context(), path)
		must(f, err)
		changed, err := read.With(map[string]string{"display_name": "new"})
		must(f, err)
		written, err := f.client.Put(f.Context(), path, changed)
		must(f, err)
		if string(written["x_unknown"]) != `"kept"` || string(written["display_name"]) != `"new"` {
			f.Errorf("wrote %s", written)
		}
		for _, shape := range nsxt.StaleShapes() {
			must(f, f.cloud.MakeStale(path, shape))
			if _, err := f.client.Put(f.Context(), path, changed); !errors.Is(err, nsx.ErrStale) {
				f.Errorf("stale as %v: %v", shape, err)
			}
		}
		created, err := nsx.NewObject(map[string]string{"network": "10.0.0.0/24"})
		must(f, err)
		if _, err := f.client.Put(f.Context(), path, created); !errors.Is(err, apierr.ErrConflict) {
			f.Errorf("created what exists: %v", err)
		}
		must(f, f.client.Delete(f.Context(), path))
		must(f, f.client.Delete(f.Context(), path))
		if _, err := f.client.Put(f.Context(), path, created); !errors.Is(err, nsx.ErrDeleting) {
			f.Errorf("created what is being deleted: %v", err)
		}
	})
}

// TestList (VS-NSXT-8): all rows are read, once each, whatever the size of a page is. A page that is too large is read in
// smaller ones.
func TestList(t *testing.T) {
	t.Parallel()
	for _, code := range []int{0, 60576, 255} {
		t.Run(fmt.Sprint("code ", code), func(t *testing.T) {
			t.Parallel()
			simulate(t, nsxt.Spec{PageSize: 7}, password("secret"), func(f fixture) {
				for i := range 30 {
					f.put(fmt.Sprintf("%s/r%d", collection, i), route(fmt.Sprintf("10.0.%d.0/24", i)))
				}
				if code != 0 {
					status := map[int]int{60576: http.StatusServiceUnavailable, 255: http.StatusBadRequest}[code]
					f.cloud.Interceptor().Inject("ListStaticRoutes", simserver.First(2), nsxt.Fault(status, code))
				}
				rows, err := f.client.List(f.Context(), collection)
				must(f, err)
				ids := map[string]bool{}
				for _, row := range rows {
					ids[string(row["id"])] = true
				}
				if len(rows) != 30 || len(ids) != 30 {
					f.Errorf("%d rows, %d of them different", len(rows), len(ids))
				}
				if size := f.cloud.Requests("ListStaticRoutes")[2].Query.Get("page_size"); code != 0 && size != "250" {
					f.Errorf("the third request has page_size %q", size)
				}
			})
		})
	}
}

// TestRepeated (VS-NSXT-7): a call is sent again if that may help, and never led to another host.
func TestRepeated(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		fault  simserver.Fault
		calls  int
		want   error
	}{
		"throttled":           {"429", nsxt.Fault(http.StatusTooManyRequests, 0), 2, nil},
		"restarting":          {"503", nsxt.Fault(http.StatusServiceUnavailable, 101), 2, nil},
		"proxy":               {"502", simserver.Page(http.StatusBadGateway), 2, nil},
		"aborted":             {"500 with 607", nsxt.Fault(http.StatusInternalServerError, 607), 2, nil},
		"dropped":             {"no response", simserver.Drop(), 2, nil},
		"lost response":       {"the write was applied: its revision is stale then", simserver.DropResponse(), 2, nsx.ErrStale},
		"no response in time": {"30 s are long enough", simserver.Slow(time.Minute), 1, apierr.ErrUnavailable},
		"internal":            {"no other 500", nsxt.Fault(http.StatusInternalServerError, 1), 1, apierr.ErrUnavailable},
		"no right":            {"not 403", nsxt.Fault(http.StatusForbidden, 289), 1, apierr.ErrDenied},
		"page":                {"a page of a proxy is no object", simserver.Page(http.StatusOK), 1, apierr.ErrUnavailable},
		"other host":          {"the redirect is not followed", nsxt.Redirect(http.StatusTemporaryRedirect, "https://192.0.2.1"), 1, apierr.ErrUnavailable},
		"other method":        {"a redirect that makes PUT a GET is not followed", nsxt.Redirect(http.StatusMovedPermanently, ""), 1, apierr.ErrUnavailable},
		"same host":           {"the redirect is followed", nsxt.Redirect(http.StatusTemporaryRedirect, ""), 2, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			simulate(t, nsxt.Spec{}, password("secret"), func(f fixture) {
				f.put(path, route("10.0.0.0/24"))
				read, err := f.client.Get(f.Context(), path)
				must(f, err)
				f.cloud.Interceptor().Inject("PutStaticRoute", simserver.First(1), tc.fault)
				_, err = f.client.Put(f.Context(), path, read)
				if calls := f.cloud.Interceptor().Count("PutStaticRoute"); !errors.Is(err, tc.want) || calls != tc.calls {
					f.Errorf("%s: %d calls, want %d; error %v, want %v", tc.reason, calls, tc.calls, err, tc.want)
				}
			})
		})
	}
}

// TestPassword (VS-NSXT-5): however many calls there are, a wrong password is refused once at the start and twice later,
// so that the account is not locked. The right one is used at once, by two calls at a time.
func TestPassword(t *testing.T) {
	t.Parallel()
	source := credential.NewInFile(nsx.Credentials{User: "Admin", Password: "wrong"}, nil)
	auth := &nsx.Password{Host: "nsx", Guard: login.NewGuard(nsx.LoginLimits(), clock.RealClock{})}
	auth.Use(source)
	simulate(t, nsxt.Spec{Users: map[string]string{"Admin": "secret"}}, func(*nsxt.Cloud) nsx.Auth { return auth }, func(f fixture) {
		all := func(calls int) (failed error) {
			var group sync.WaitGroup
			var mu sync.Mutex
			for range calls {
				group.Go(func() {
					if _, err := f.client.List(f.Context(), collection); err != nil {
						mu.Lock()
						defer mu.Unlock()
						failed = err
					}
				})
			}
			group.Wait()

			return failed
		}
		if limits := nsx.LoginLimits(); limits.Interval < 15*time.Minute {
			f.Errorf("refused logins count for %s, those of a manager for 15 minutes", limits.Interval)
		}
		if err := all(20); !errors.Is(err, nsx.ErrLogin) || f.cloud.RefusedLogins("Admin") != 1 {
			f.Errorf("%d logins refused: %v", f.cloud.RefusedLogins("Admin"), err)
		}
		source.Replace(f.Context(), nsx.Credentials{User: "Admin", Password: "secret"})
		if err := all(1); err == nil {
			f.Error("another password was sent within the first 15 minutes")
		}
		time.Sleep(nsx.LoginLimits().Interval)
		must(f, all(20))
		f.cloud.SetPassword("Admin", "rotated")
		if err := all(20); !errors.Is(err, nsx.ErrLogin) || f.cloud.RefusedLogins("Admin") > 3 || f.cloud.Locked("Admin") {
			f.Errorf("%d logins refused: %v", f.cloud.RefusedLogins("Admin"), err)
		}
		source.Replace(f.Context(), nsx.Credentials{User: "Admin", Password: "rotated"})
		must(f, all(20))
	})
}

// TestLostAtStart (VS-NSXT-5): a manager that cuts the first connections, or does not respond, refuses no password: it is
// sent again a minute later.
func TestLostAtStart(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]simserver.Fault{
		"dropped": simserver.Drop(), "response dropped": simserver.DropResponse(), "no response in time": simserver.Slow(time.Minute),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			simulate(t, nsxt.Spec{}, password("secret"), func(f fixture) {
				lost := f.cloud.Interceptor().Inject("ListStaticRoutes", simserver.Always(), fault)
				for range 5 {
					if _, err := f.client.List(f.Context(), collection); !errors.Is(err, apierr.ErrUnavailable) {
						f.Errorf("no response: %v", err)
					}
				}
				if lost.Hits() != 2 {
					f.Errorf("%d requests at once, want 2", lost.Hits())
				}
				f.cloud.Interceptor().Clear()
				time.Sleep(time.Minute)
				_, err := f.client.List(f.Context(), collection)
				must(f, err)
			})
		})
	}
}

// TestAuthentication (VS-NSXT-3, VS-NSXT-6): the ways to authenticate.
func TestAuthentication(t *testing.T) {
	t.Parallel()
	token := func(refresh string) func(*nsxt.Cloud) nsx.Auth {
		return func(cloud *nsxt.Cloud) nsx.Auth {
			return nsx.NewToken(cloud.AuthHost(), config.Secret(refresh), transport(cloud))
		}
	}
	principal, err := nsxt.NewPrincipal("ccm")
	must(t, err)
	remote := newPassword("u@example.com", "secret")
	remote.Remote = true
	cases := map[string]struct {
		reason string
		spec   nsxt.Spec
		auth   func(*nsxt.Cloud) nsx.Auth
		want   error
	}{
		"password":        {"Basic", nsxt.Spec{}, password("secret"), nil},
		"remote":          {"a user of a directory", nsxt.Spec{RemoteUsers: map[string]string{"u@example.com": "secret"}}, func(*nsxt.Cloud) nsx.Auth { return remote }, nil},
		"certificate":     {"of the connection", nsxt.Spec{Principals: []nsxt.Principal{principal}}, func(*nsxt.Cloud) nsx.Auth { return nsx.Certificate{} }, nil},
		"no certificate":  {"refused", nsxt.Spec{}, func(*nsxt.Cloud) nsx.Auth { return nsx.Certificate{} }, nsx.ErrLogin},
		"not started":     {"no source yet", nsxt.Spec{}, func(*nsxt.Cloud) nsx.Auth { return new(nsx.Password) }, apierr.ErrUnavailable},
		"token":           {"with a number", nsxt.Spec{Token: nsxt.Token{Refresh: "r"}}, token("r"), nil},
		"token with text": {"as a text", nsxt.Spec{Token: nsxt.Token{Refresh: "r", ExpiresAsString: true}}, token("r"), nil},
		"other token":     {"refused", nsxt.Spec{Token: nsxt.Token{Refresh: "r"}}, token("other"), apierr.ErrDenied},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			simulate(t, tc.spec, tc.auth, func(f fixture) {
				if _, err := f.client.List(f.Context(), collection); !errors.Is(err, tc.want) {
					f.Errorf("%s: %v, want %v", tc.reason, err, tc.want)
				}
			})
		})
	}
}

// TestParseCredentials (VS-NSXT-3): a Secret has user and password, each with a newline at its end if it was made from a file.
func TestParseCredentials(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		user, password string
		want           map[string]nsx.Credentials
	}{
		"plain":          {"u", "p", map[string]nsx.Credentials{"": {User: "u", Password: "p"}}},
		"newlines":       {"u\n", "p\n", map[string]nsx.Credentials{"": {User: "u", Password: "p"}}},
		"two newlines":   {"u", "p\n\n", map[string]nsx.Credentials{"": {User: "u", Password: "p\n"}}},
		"no user":        {"", "p", nil},
		"only a newline": {"u", "\n", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := nsx.ParseCredentials(credentialtest.Data("username", tc.user, "password", tc.password))
			if diff := cmp.Diff(tc.want, got); diff != "" || (err == nil) != (tc.want != nil) {
				t.Errorf("error %v, credentials (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestToken (VS-NSXT-6): an access token is renewed after 80 % of its lifetime, and once if the manager refuses it.
func TestToken(t *testing.T) {
	t.Parallel()
	auth := func(cloud *nsxt.Cloud) nsx.Auth { return nsx.NewToken(cloud.AuthHost(), "r", transport(cloud)) }
	simulate(t, nsxt.Spec{Token: nsxt.Token{Refresh: "r", Lifetime: 10 * time.Minute}}, auth, func(f fixture) {
		var tokens []int
		list := func() {
			_, err := f.client.List(f.Context(), collection)
			must(f, err)
			tokens = append(tokens, f.cloud.Interceptor().Count("CreateToken"))
		}
		list()
		time.Sleep(7 * time.Minute)
		list()
		time.Sleep(90 * time.Second)
		list()
		f.cloud.Interceptor().Inject("ListStaticRoutes", simserver.First(1), nsxt.Fault(http.StatusUnauthorized, 0))
		list()
		if diff := cmp.Diff([]int{1, 1, 2, 3}, tokens); diff != "" {
			f.Errorf("tokens (-want +got):\n%s", diff)
		}
		time.Sleep(2 * time.Minute)
		f.cloud.Interceptor().Inject("ListStaticRoutes", simserver.Always(), nsxt.Fault(http.StatusUnauthorized, 0))
		for range 20 {
			if _, err := f.client.List(f.Context(), collection); !errors.Is(err, nsx.ErrLogin) {
				f.Errorf("refused again: %v", err)
			}
		}
		if n := f.cloud.Interceptor().Count("CreateToken"); n != 4 {
			f.Errorf("%d tokens after 20 calls that were refused", n)
		}
	})
	simulate(t, nsxt.Spec{Token: nsxt.Token{Refresh: "r"}}, auth, func(f fixture) {
		f.cloud.Interceptor().Inject("CreateToken", simserver.First(1), simserver.Slow(5*time.Second))
		ctx, cancel := context.WithTimeout(f.Context(), time.Second)
		defer cancel()
		if _, err := f.client.List(ctx, collection); !errors.Is(err, context.DeadlineExceeded) {
			f.Errorf("a caller that gave up: %v", err)
		}
		_, err := f.client.List(f.Context(), collection)
		must(f, err)
	})
}

// TestTokenNotRenewed (VS-NSXT-6): while an access token cannot be renewed, it is used until its lifetime is over or the
// manager refuses it, and not after that.
func TestTokenNotRenewed(t *testing.T) {
	t.Parallel()
	auth := func(cloud *nsxt.Cloud) nsx.Auth { return nsx.NewToken(cloud.AuthHost(), "r", transport(cloud)) }
	for name, end := range map[string]func(fixture){
		"over": func(fixture) { time.Sleep(90 * time.Second) },
		"refused": func(f fixture) {
			f.cloud.Interceptor().Inject("ListStaticRoutes", simserver.First(1), nsxt.Fault(http.StatusUnauthorized, 0))
			if _, err := f.client.List(f.Context(), collection); !errors.Is(err, apierr.ErrUnavailable) {
				f.Errorf("refused: %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			simulate(t, nsxt.Spec{Token: nsxt.Token{Refresh: "r", Lifetime: 10 * time.Minute}}, auth, func(f fixture) {
				_, err := f.client.List(f.Context(), collection)
				must(f, err)
				time.Sleep(510 * time.Second)
				failed := f.cloud.Interceptor().Inject("CreateToken", simserver.Always(), simserver.Status(http.StatusBadGateway))
				for range 20 {
					_, err := f.client.List(f.Context(), collection)
					must(f, err)
				}
				if failed.Hits() != 1 {
					f.Errorf("%d exchanges by 20 calls, want 1", failed.Hits())
				}
				end(f)
				calls := f.cloud.Interceptor().Count("ListStaticRoutes")
				_, err = f.client.List(f.Context(), collection)
				if more := f.cloud.Interceptor().Count("ListStaticRoutes") - calls; !errors.Is(err, apierr.ErrUnavailable) || more != 0 {
					f.Errorf("after the end: %d calls with the token, error %v", more, err)
				}
				f.cloud.Interceptor().Clear()
				time.Sleep(time.Minute)
				_, err = f.client.List(f.Context(), collection)
				must(f, err)
			})
		})
	}
}

// TestClosed: no write is sent after Close, or waited for.
func TestClosed(t *testing.T) {
	t.Parallel()
	simulate(t, nsxt.Spec{}, password("secret"), func(f fixture) {
		must(f, f.client.Close(f.Context()))
		began := time.Now()
		if err := f.client.Delete(f.Context(), path); !errors.Is(err, drain.ErrClosed) || time.Since(began) > 0 || f.cloud.Interceptor().Total() != 0 {
			f.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}

// TestPageOfProxy (VS-NSXT-8): a page of a proxy deletes nothing.
func TestPageOfProxy(t *testing.T) {
	t.Parallel()
	simulate(t, nsxt.Spec{}, password("secret"), func(f fixture) {
		f.cloud.Interceptor().Inject("DeleteStaticRoute", simserver.Always(), simserver.Page(http.StatusOK))
		if err := f.client.Delete(f.Context(), path); !errors.Is(err, apierr.ErrUnavailable) {
			f.Errorf("deleted by a proxy: %v", err)
		}
	})
}

// TestMetrics (VS-METRIC-1): logins, requests and how long they waited are counted.
func TestMetrics(t *testing.T) {
	t.Parallel()
	simulate(t, nsxt.Spec{}, password("wrong"), func(f fixture) {
		registry := kmetrics.NewKubeRegistry()
		m := nsx.NewMetrics(metrics.NewSet(registry, clock.RealClock{}).Recorder("vsphere"))
		m.Register(registry.MustRegister)
		source := credential.NewInFile(nsx.Credentials{User: "admin", Password: "wrong"}, nil)
		auth := &nsx.Password{Host: "nsx", Guard: login.NewGuard(nsx.LoginLimits(), clock.RealClock{})}
		auth.Use(source)
		client, err := nsx.New(nsx.Config{Host: "nsx", TLS: tlsfiles.Files{Insecure: true}, Auth: auth}, nsx.Options{Dial: f.cloud.Dial, Metrics: m})
		must(f, err)
		defer func() { must(f, client.Close(f.Context())) }()
		refused := func() string {
			families, err := registry.Gather()
			must(f, err)
			var values []string
			for _, family := range families {
				switch name := family.GetName(); name {
				case "multicloud_ccm_credentials_refused":
					values = append(values, fmt.Sprint("refused ", family.GetMetric()[0].GetGauge().GetValue()))
				case "multicloud_ccm_vsphere_nsxt_request_wait_duration_seconds":
					values = append(values, fmt.Sprint("waited ", family.GetMetric()[0].GetHistogram().GetSampleCount()))
				}
			}

			return strings.Join(values, ", ")
		}
		for range 2 {
			if _, err := client.List(f.Context(), collection); !errors.Is(err, nsx.ErrLogin) {
				f.Errorf("a wrong password: %v", err)
			}
			if got := refused(); got != "refused 1, waited 1" {
				f.Errorf("a wrong password: %s", got)
			}
		}
		time.Sleep(nsx.LoginLimits().Interval)
		source.Replace(f.Context(), nsx.Credentials{User: "admin", Password: "secret"})
		_, err = client.List(f.Context(), collection)
		must(f, err)
		if got := refused(); got != "refused 0, waited 2" {
			f.Errorf("the right password: %s", got)
		}
	})
}

// TestRealizedState: a new object is realized after a time, and the alarm of one that cannot be is read.
func TestRealizedState(t *testing.T) {
	t.Parallel()
	for _, missing := range []bool{false, true} {
		simulate(t, nsxt.Spec{RealizationNotFound: missing}, password("secret"), func(f fixture) {
			state := func() nsx.Realization {
				now, err := f.client.Realization(f.Context(), path)
				must(f, err)

				return now
			}
			f.put(path, route("10.0.0.0/24"))
			if now := state(); now.State != nsx.Pending {
				f.Errorf("at once: %v", now)
			}
			time.Sleep(time.Minute)
			if now := state(); now.State != nsx.Realized {
				f.Errorf("after a minute: %v", now)
			}
			f.cloud.FailRealization(path, nsxt.Alarm{Code: 1, Message: "no gateway"})
			if now := state(); now.State != nsx.Failed || now.Reason == "" {
				f.Errorf("failed: %v", now)
			}
		})
	}
}

// TestTokenRefused: what responds instead of a token says nothing about the object of a call.
func TestTokenRefused(t *testing.T) {
	t.Parallel()
	auth := func(cloud *nsxt.Cloud) nsx.Auth { return nsx.NewToken(cloud.AuthHost(), "r", transport(cloud)) }
	for status, want := range map[int]error{
		http.StatusTemporaryRedirect: apierr.ErrUnavailable, http.StatusBadRequest: apierr.ErrDenied, http.StatusUnauthorized: apierr.ErrDenied,
		http.StatusForbidden: apierr.ErrDenied, http.StatusNotFound: apierr.ErrUnavailable, http.StatusConflict: apierr.ErrUnavailable,
		http.StatusTooManyRequests: apierr.ErrThrottled, http.StatusBadGateway: apierr.ErrUnavailable,
	} {
		simulate(t, nsxt.Spec{Token: nsxt.Token{Refresh: "r"}}, auth, func(f fixture) {
			f.put(path, route("10.0.0.0/24"))
			f.cloud.Interceptor().Inject("CreateToken", simserver.Always(), simserver.Status(status))
			if _, err := f.client.Get(f.Context(), path); !errors.Is(err, want) || errors.Is(err, apierr.ErrNotFound) {
				f.Errorf("get with %d instead of a token: %v, want %v", status, err, want)
			}
			if err := f.client.Delete(f.Context(), path); err == nil {
				f.Errorf("deleted with %d instead of a token", status)
			}
		})
	}
}

// TestRealizedStateOfOthers: entities of other objects in the response do not count.
func TestRealizedStateOfOthers(t *testing.T) {
	t.Parallel()
	simulate(t, nsxt.Spec{}, password("secret"), func(f fixture) {
		respond := func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			fmt.Fprintf(w, `{"results":[{"state":"ERROR","intent_paths":[%q]},{"state":"REALIZED","intent_paths":["/infra/a",%q]},{"state":"REALIZED"}]}`, path+"2", path)
		}
		f.cloud.Interceptor().Inject("GetRealizedEntities", simserver.Always(), respond)
		now, err := f.client.Realization(f.Context(), path)
		must(f, err)
		if now.State != nsx.Realized {
			f.Errorf("got %v", now)
		}
	})
}

// TestRedirects (VS-NSXT-7): redirects end after three, and a refresh token is sent to the configured address alone.
func TestRedirects(t *testing.T) {
	t.Parallel()
	auth := func(cloud *nsxt.Cloud) nsx.Auth { return nsx.NewToken(cloud.AuthHost(), "r", transport(cloud)) }
	simulate(t, nsxt.Spec{Token: nsxt.Token{Refresh: "r"}}, auth, func(f fixture) {
		calls := f.cloud.Interceptor()
		for _, address := range []string{"", "https://192.0.2.1"} {
			rule := calls.Inject("CreateToken", simserver.Always(), nsxt.Redirect(http.StatusTemporaryRedirect, address))
			if _, err := f.client.List(f.Context(), collection); err == nil || rule.Hits() != 1 {
				f.Errorf("a redirect of the token to %q: %d requests, error %v", address, rule.Hits(), err)
			}
			calls.Clear()
			time.Sleep(time.Minute) // after the delay of a failure
		}
		redirect := calls.Inject("ListStaticRoutes", simserver.Always(), nsxt.Redirect(http.StatusTemporaryRedirect, ""))
		if _, err := f.client.List(f.Context(), collection); !errors.Is(err, apierr.ErrUnavailable) || redirect.Hits() != 4 {
			f.Errorf("endless redirects: %d requests, error %v", redirect.Hits(), err)
		}
		calls.Clear()
		calls.Inject("ListStaticRoutes", simserver.First(3), nsxt.Redirect(http.StatusTemporaryRedirect, ""))
		if _, err := f.client.List(f.Context(), collection); err != nil {
			f.Errorf("three redirects: %v", err)
		}
	})
}
