package openstack_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// TestFaultsHaveTheShapeOfTheService injects the same fault into each service.
func TestFaultsHaveTheShapeOfTheService(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		path, want string
	}{
		"nova":     {"/compute/v2.1/servers", `{"conflictingRequest":{"code":409,"message":"no"}}`},
		"neutron":  {"/network/", `{"NeutronError":{"detail":"","message":"no","type":"InUse"}}`},
		"octavia":  {"/load-balancer/", `{"debuginfo":null,"faultcode":"Client","faultstring":"no"}`},
		"keystone": {"/identity/v3", `{"error":{"code":409,"message":"no","title":"Conflict"}}`},
	}
	for group, tc := range cases {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			cloud := start(t, openstack.Options{})
			cloud.Interceptor().Inject(group, simserver.First(1), openstack.Error(http.StatusConflict, "InUse", "no"))
			cloud.Interceptor().Inject(group, simserver.First(2), openstack.Proxy(http.StatusGatewayTimeout, "7"))
			cloud.Interceptor().Inject(group, simserver.First(3), openstack.Unauthorized())
			first := send(t, cloud, "GET", tc.path, "")
			if first.Status != http.StatusConflict || strings.TrimSpace(first.Body) != tc.want {
				t.Errorf("error = %d %s, want %s", first.Status, first.Body, tc.want)
			}
			second := send(t, cloud, "GET", tc.path, "")
			if second.Status != http.StatusGatewayTimeout || second.Header.Get("Retry-After") != "7" || !strings.HasPrefix(second.Body, "<html>") {
				t.Errorf("proxy = %d %s", second.Status, second.Body)
			}
			if third := send(t, cloud, "GET", tc.path, ""); third.Status != http.StatusUnauthorized {
				t.Errorf("unauthorized = %d %s", third.Status, third.Body)
			}
		})
	}
}

// TestResponseThatIsLost applies a write whose response a proxy replaces.
func TestResponseThatIsLost(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{})
	id := cloud.AddServer(openstack.ServerSpec{Name: "node-1"})
	client := nova(t, cloud, openstack.UserCCM, "")
	cloud.Interceptor().Inject("nova.UpdateServer", simserver.Nth(1), openstack.ProxyAfter(http.StatusGatewayTimeout))
	_, err := servers.Update(t.Context(), client, id, servers.UpdateOpts{Name: "node-2"}).Extract()
	if status(err) != http.StatusGatewayTimeout {
		t.Errorf("update: %v, want 504", err)
	}
	if server, err := servers.Get(t.Context(), client, id).Extract(); err != nil || server.Name != "node-2" {
		t.Errorf("server = %+v, %v; want it renamed", server, err)
	}
}

// TestCallsInFlight lets two calls in and refuses the third.
func TestCallsInFlight(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{})
	hold := simserver.NewHold()
	cloud.Interceptor().Inject("keystone.ShowVersion", simserver.Always(),
		openstack.MaxInFlight(2, hold.Before, openstack.Error(http.StatusServiceUnavailable, "", "busy")))
	statuses := make(chan int, 3)
	var wait sync.WaitGroup
	for range cap(statuses) {
		wait.Go(func() { statuses <- send(t, cloud, "GET", "/identity/v3", "").Status })
	}
	if first := <-statuses; first != http.StatusServiceUnavailable {
		t.Errorf("the call that is not held = %d, want 503", first)
	}
	hold.Release()
	wait.Wait()
	if got := []int{<-statuses, <-statuses}; !slices.Equal(got, []int{http.StatusOK, http.StatusOK}) {
		t.Errorf("calls within the bound = %v", got)
	}
	if got := send(t, cloud, "GET", "/identity/v3", ""); got.Status != http.StatusOK {
		t.Errorf("call after the others = %d", got.Status)
	}
}

// TestStaleReads reads after each tenth write, which is the one that shows the
// state before it.
func TestStaleReads(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		reads  *openstack.StaleReads
		stale  []int // the writes after which the first read is stale
	}{
		"default": {"each tenth write", nil, []int{10, 20}},
		"often":   {"", &openstack.StaleReads{Every: 7, Reads: 1}, []int{7, 14, 21}},
		"never":   {"", &openstack.StaleReads{}, nil}, // that is what is tested
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := start(t, openstack.Options{StaleReads: tc.reads})
			id := cloud.AddServer(openstack.ServerSpec{Name: "node"})
			client := nova(t, cloud, openstack.UserCCM, "")
			var stale []int
			for i := 1; i <= 21; i++ {
				want := "node-" + strings.Repeat("x", i)
				if _, err := servers.Update(t.Context(), client, id, servers.UpdateOpts{Name: want}).Extract(); err != nil {
					t.Fatal(err)
				}
				for read := range 2 {
					server, err := servers.Get(t.Context(), client, id).Extract()
					if err != nil {
						t.Fatal(err)
					}
					if server.Name == want {
						continue
					}
					stale = append(stale, i)
					if read > 0 {
						t.Errorf("%s: the second read after write %d is stale, too", tc.reason, i)
					}
				}
			}
			if diff := cmp.Diff(tc.stale, stale); diff != "" {
				t.Errorf("%s: stale reads after writes (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestSnapshots restores a state, and gets the same IDs again.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{})
	first := cloud.AddServer(openstack.ServerSpec{Name: "node-1"})
	client := nova(t, cloud, openstack.UserCCM, "")
	state := cloud.Snapshot()
	before := cloud.Dump()
	var again []string
	for range 2 {
		again = append(again, cloud.AddServer(openstack.ServerSpec{Name: "node-2"}))
		if err := servers.Delete(t.Context(), client, first).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		cloud.DeleteFlavor("m1.tiny")
		cloud.SetCell("", "cell1", openstack.CellDown)
		cloud.Restore(state)
		if diff := cmp.Diff(before, cloud.Dump()); diff != "" {
			t.Errorf("restored state (-want +got):\n%s", diff)
		}
		if _, err := servers.Get(t.Context(), client, first).Extract(); err != nil {
			t.Errorf("server of the snapshot: %v", err)
		}
	}
	if again[0] != again[1] {
		t.Errorf("IDs differ: %v", again)
	}
}

// TestTLSProxy has links that say http, as behind a proxy that ends TLS, unless the
// services read the headers of the proxy.
func TestTLSProxy(t *testing.T) {
	t.Parallel()
	for scheme, headers := range map[string]bool{"http://": false, "https://": true} {
		cloud := start(t, openstack.Options{TLS: true, ProxyHeaders: headers, PageSize: 1})
		cloud.AddServer(openstack.ServerSpec{Name: "node-1"})
		body, err := getJSON(t, nova(t, cloud, openstack.UserCCM, ""), "servers")
		if err != nil {
			t.Fatal(err)
		}
		links, _ := body["servers_links"].([]any)
		first, _ := links[0].(map[string]any)
		if href, _ := first["href"].(string); !strings.HasPrefix(href, scheme) {
			t.Errorf("next link with proxy headers %v = %s, want %s", headers, href, scheme)
		}
	}
}

// TestOutages takes the cloud away from its clients.
func TestOutages(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{})
	id := cloud.AddServer(openstack.ServerSpec{Name: "node-1"})
	client := nova(t, cloud, openstack.UserCCM, "")
	cloud.Server().Down()
	if _, err := servers.Get(t.Context(), client, id).Extract(); err == nil || status(err) != 0 {
		t.Errorf("get while the cloud is down: %v, want an error of the connection", err)
	}
	if err := cloud.Server().Up(); err != nil {
		t.Fatal(err)
	}
	if _, err := servers.Get(t.Context(), client, id).Extract(); err != nil {
		t.Error(err)
	}
}

// TestCloudInABubble runs a cloud in memory, with the time of a synctest bubble.
func TestCloudInABubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cloud, err := openstack.Start(openstack.Options{InMemory: true, TokenLifetime: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		client, err := cloud.Connect(t.Context(), cloud.AuthOptions(openstack.UserCCM))
		if err != nil {
			t.Fatal(err)
		}
		c := compute(t, client, "")
		for range 3 {
			if _, err := servers.List(c, nil).AllPages(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		if got := cloud.Interceptor().Count("keystone.CreateToken"); got != 3 {
			t.Errorf("%d logins in three minutes, want 3", got)
		}
		client.HTTPClient.CloseIdleConnections()
		if err := cloud.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestDroppedCalls cuts connections before and after a call is applied.
func TestDroppedCalls(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{})
	id := cloud.AddServer(openstack.ServerSpec{Name: "node-1"})
	client := nova(t, cloud, openstack.UserCCM, "")
	cloud.Interceptor().Inject("nova.RunServerAction", simserver.Nth(1), simserver.Drop())
	cloud.Interceptor().Inject("nova.RunServerAction", simserver.Nth(2), simserver.DropResponse())
	for _, want := range []string{"ACTIVE", "SHUTOFF"} {
		err := servers.Stop(t.Context(), client, id).ExtractErr()
		if err == nil || status(err) != 0 {
			t.Errorf("stop: %v, want an error of the connection", err)
		}
		if server, err := servers.Get(t.Context(), client, id).Extract(); err != nil || server.Status != want {
			t.Errorf("server = %+v, %v; want %s", server, err, want)
		}
	}
}
