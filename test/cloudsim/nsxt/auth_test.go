package nsxt_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"testing"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/nsxt"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simstate"
)

func anonymous(*http.Request) {}

func remote(user, password string) func(*http.Request) {
	return func(r *http.Request) {
		r.SetBasicAuth(user, password)
		r.Header.Set("Authorization", "Remote"+r.Header.Get("Authorization")[len("Basic"):])
	}
}

func header(pairs ...string) func(*http.Request) {
	return func(r *http.Request) {
		for i := 0; i < len(pairs); i += 2 {
			r.Header.Set(pairs[i], pairs[i+1])
		}
	}
}

func TestLogin(t *testing.T) {
	t.Parallel()
	simulate(t, nsxt.Spec{Prefix: "/vmc/nsx", RemoteUsers: map[string]string{"joe@corp": "pw"}}, func(c *client) {
		for name, tc := range map[string]struct {
			sign         func(*http.Request)
			status, code int
		}{
			"basic":             {basic("admin", "secret"), 200, 0},
			"wrong password":    {basic("admin", "wrong"), 403, 403},
			"unknown account":   {basic("unknown", "secret"), 403, 403},
			"no credentials":    {anonymous, 403, 403},
			"remote":            {remote("joe@corp", "pw"), 200, 0},
			"remote, as local":  {basic("joe@corp", "pw"), 403, 403},
			"local, as remote":  {remote("admin", "secret"), 403, 403},
			"unknown token":     {header("csp-auth-token", "x"), 401, 0},
			"unknown session":   {header("Cookie", "JSESSIONID=x"), 401, 403},
			"malformed":         {header("Authorization", "Basic *"), 403, 403},
			"unsupported":       {header("Authorization", "Bearer x"), 403, 403},
			"password with ':'": {basic("admin", "a:b"), 403, 403},
		} {
			got := c.as(tc.sign).call("GET", t1, nil)
			check(c.t, name, []int{tc.status, tc.code}, []int{got.status, got.code})
		}
		c.cloud.SetDenied("GetTier1", "search")
		c.want(403, 401, "GET", t1, nil)
		c.want(403, 401, "GET", "/search?query=id:x", nil)
		c.want(200, 0, "GET", routes, nil)
	})
}

func TestLockout(t *testing.T) {
	t.Parallel()
	simulate(t, nsxt.Spec{RefusedStatus: 401}, func(c *client) {
		wrong := c.as(basic("admin", "wrong"))
		for range 4 {
			wrong.want(401, 403, "GET", t1, nil)
		}
		c.get(t1) // starts the count again
		for range 4 {
			wrong.want(401, 403, "GET", t1, nil)
		}
		seconds(901)
		wrong.want(401, 403, "GET", t1, nil) // the earlier ones are out of the window
		check(c.t, "locked", false, c.cloud.Locked("admin"))
		for range 4 {
			wrong.want(401, 403, "GET", t1, nil)
		}
		check(c.t, "locked", true, c.cloud.Locked("admin"))
		c.want(401, 403, "GET", t1, nil)
		seconds(900)
		c.get(t1)
		check(c.t, "refused logins", 14, c.cloud.RefusedLogins("admin"))
		c.cloud.SetPassword("admin", "new")
		c.want(401, 403, "GET", t1, nil)
	})
}

func TestSession(t *testing.T) {
	t.Parallel()
	simulate(t, nsxt.Spec{Nodes: 2}, func(c *client) {
		form := []byte("j_username=admin&j_password=secret")
		got := c.as(anonymous).send("POST", c.cloud.Host()+"/api/session/create", form)
		cookie, xsrf := got.header.Get("Set-Cookie"), got.header.Get("X-Xsrf-Token")
		session := c.as(header("Cookie", cookie, "X-Xsrf-Token", xsrf))
		session.want(401, 403, "GET", t1, nil) // the other manager
		session.want(200, 0, "GET", t1, nil)
		check(c.t, "sessions", 1, c.cloud.Sessions())
		c.get(t1)
		c.as(header("Cookie", cookie)).want(403, 98, "GET", t1, nil)
		c.get(t1)
		session.send("GET", c.cloud.Host()+"/api/session/destroy", nil)
		check(c.t, "sessions", 0, c.cloud.Sessions())
		c.as(anonymous).send("POST", c.cloud.Host()+"/api/session/create", form)
		seconds(1801)
		check(c.t, "idle sessions", 0, c.cloud.Sessions())
		refused := c.as(anonymous).send("POST", c.cloud.Host()+"/api/session/create", []byte("j_username=admin&j_password=x"))
		check(c.t, "wrong password", 403, refused.status)
	})
}

func TestToken(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		asString bool
		want     any
	}{"number": {false, float64(60)}, "string": {true, "60"}} {
		simulate(t, nsxt.Spec{Token: nsxt.Token{Refresh: "r", Lifetime: time.Minute, ExpiresAsString: tc.asString}}, func(c *client) {
			check(c.t, "unknown", 400, c.as(anonymous).send("POST", c.cloud.AuthHost(), []byte("refresh_token=x")).status)
			got := c.as(anonymous).send("POST", c.cloud.AuthHost(), []byte("refresh_token=r"))
			check(c.t, name, tc.want, got.body["expires_in"])
			token, _ := got.body["access_token"].(string)
			bearer := c.as(header("csp-auth-token", token))
			bearer.get(t1)
			seconds(60)
			bearer.want(401, 0, "GET", t1, nil)
		})
	}
}

func TestPrincipal(t *testing.T) {
	t.Parallel()
	known, err := nsxt.NewPrincipal("ccm")
	if err != nil {
		t.Fatal(err)
	}
	unknown, err := nsxt.NewPrincipal("stranger")
	if err != nil {
		t.Fatal(err)
	}
	simulate(t, nsxt.Spec{Principals: []nsxt.Principal{known}}, func(c *client) {
		principal := func(p nsxt.Principal) *client {
			pair, err := tls.X509KeyPair(p.CertificatePEM, p.KeyPEM)
			if err != nil {
				c.t.Fatal(err)
			}
			other := c.as(anonymous)
			other.transport = c.transport.Clone()
			other.transport.DisableKeepAlives = true
			other.transport.TLSClientConfig.Certificates = []tls.Certificate{pair}

			return other
		}
		principal(unknown).want(500, 99, "GET", t1, nil)
		ccm := principal(known)
		r := route("10.244.1.0/24")
		check(c.t, "own", any("NOT_PROTECTED"), ccm.put(routes+"/a", r).body["_protection"])
		check(c.t, "of a principal", any("REQUIRE_OVERRIDE"), c.get(routes + "/a").body["_protection"])
		c.want(403, 289, "DELETE", routes+"/a", nil)
		c.want(403, 289, "PUT", routes+"/a", with(r, "_revision", 0))
		override := c.as(func(r *http.Request) { c.sign(r); r.Header.Set("X-Allow-Overwrite", "true") })
		override.put(routes+"/a", with(r, "_revision", 0))
		c.put(routes+"/b", r)
		if err := c.cloud.Protect(routes+"/b", "other"); err != nil {
			c.t.Error(err)
		}
		check(c.t, "of another principal", any("PROTECTED"), ccm.get(routes + "/b").body["_protection"])
		ccm.want(403, 289, "DELETE", routes+"/b", nil)
	})
}

func TestLimits(t *testing.T) {
	t.Parallel()
	spec := nsxt.Spec{
		Users:     map[string]string{"admin": "secret", "other": "pw"},
		RateLimit: simstate.RateLimit{Rate: 1, Burst: 2}, Concurrency: 2, RetryAfter: 3 * time.Second,
	}
	simulate(t, spec, func(c *client) {
		c.get(t1)
		c.get(t1)
		got := c.want(429, 102, "GET", t1, nil)
		check(c.t, "Retry-After", "3", got.header.Get("Retry-After"))
		c.as(basic("other", "pw")).get(t1) // each user has limits of its own
		check(c.t, "throttled", 1, c.cloud.Throttled("admin"))
		seconds(2)
		c.cloud.Interceptor().SetLatency(time.Second)
		results := make(chan int)
		for range 3 {
			go func() { results <- c.call("GET", t1, nil).status }()
		}
		sum := <-results + <-results + <-results
		check(c.t, "two at a time", 200+200+429, sum)
	})
	spec.Nodes, spec.LimitPerNode = 2, true
	simulate(t, spec, func(c *client) {
		for range 4 {
			c.get(t1)
		}
		c.want(429, 102, "GET", t1, nil)
	})
}

// TestPort uses a port and the certificate of the server.
func TestPort(t *testing.T) {
	t.Parallel()
	cloud, err := nsxt.Start(nsxt.Spec{Tier1s: []nsxt.Tier1{{ID: "t1"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer cloud.Close()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cloud.CertificatePEM())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	defer transport.CloseIdleConnections()
	c := &client{t: t, cloud: cloud, transport: transport, sign: basic("admin", "secret")}
	c.get(t1)
}

func TestFaults(t *testing.T) {
	t.Parallel()
	simulate(t, nsxt.Spec{}, func(c *client) {
		in := c.cloud.Interceptor()
		in.Inject("Search", simserver.Nth(1), nsxt.Fault(400, 60508))
		in.Inject("static-routes", simserver.Nth(1), nsxt.Redirect(307, "https://other"))
		c.want(400, 60508, "GET", "/search?query=id:t1", nil)
		check(c.t, "Location", "https://other/policy/api/v1"+routes, c.call("GET", routes, nil).header.Get("Location"))
		c.cloud.Restart(time.Minute)
		c.want(503, 101, "GET", t1, nil)
		seconds(60)
		c.get(t1)
		c.want(404, 600, "GET", "/orgs/default/projects/p"+t1, nil)
		c.want(404, 600, "PUT", t1, nsxt.Object{})
		c.put(routes+"/a", route("10.244.1.0/24"))
		check(c.t, "writes", map[string]int{"PutStaticRoute": 1}, c.cloud.Writes())
		put := c.cloud.Requests("PutStaticRoute")[0]
		check(c.t, "user", "admin", put.User)
		check(c.t, "all requests", 7, len(c.cloud.Requests(simserver.Any)))
	})
}
