package client_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// Region and interface select the endpoints, and those of the first login stay.
func TestRegions(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, region, kind string
		want                 string // in the path
		none                 bool
	}{
		"First":       {"the first region", "RegionOne", "", "", false},
		"Second":      {"another region", "RegionTwo", "", "/RegionTwo", false},
		"Internal":    {"an interface", "RegionTwo", "internal", "/internal/RegionTwo", false},
		"InternalURL": {"an interface with a suffix", "RegionTwo", "internalURL", "/internal/RegionTwo", false},
		"Missing":     {"a region that does not exist", "RegionThree", "", "", true},
		"Any":         {"no region", "", "", "", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.Options{Regions: []string{"RegionOne", "RegionTwo"}})
			f.serve("nova", succeed)
			c := f.open(t, nil, func(cfg *client.Config, _ *client.Options) { cfg.Region, cfg.EndpointType = tc.region, tc.kind })
			ctx := bounded(t)
			err := c.Do(ctx, client.Compute, http.MethodPost, "404")
			if tc.none {
				must(t, is(err, apierr.ErrUnavailable))
				if !strings.Contains(err.Error(), "RegionThree") || !strings.Contains(err.Error(), "RegionTwo") {
					t.Errorf("%s: %v does not name the regions", tc.reason, err)
				}

				return
			}
			must(t, err)
			f.SetCatalog(openstack.Catalog{Reverse: true})
			f.RevokeTokens()
			f.Interceptor().Clear()
			f.Interceptor().Inject("nova", simserver.Always(), openstack.Error(http.StatusConflict, "", "x"))
			err = c.Do(ctx, client.Compute, http.MethodPost, "404")
			if want := f.URL() + tc.want + "/compute/v2.1/404"; err == nil || !strings.Contains(f.URL()+err.Error(), strings.TrimPrefix(want, f.URL())) || tc.want == "" && strings.Contains(err.Error(), "RegionTwo") {
				t.Errorf("%s: %v, want an error with %s", tc.reason, err, want)
			}
		})
	}
}

// OS-AUTH-5: without a region, a service that is first used after another login has the endpoint of
// the first one, whatever the order of the catalog is then.
func TestEndpointsArePinned(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{Regions: []string{"RegionOne", "RegionTwo"}})
	f.serveServer()
	c := f.open(t, nil, func(cfg *client.Config, _ *client.Options) { cfg.Region = "" })
	ctx := bounded(t)
	must(t, get(ctx, c))
	f.SetCatalog(openstack.Catalog{Reverse: true})
	f.RevokeTokens()
	must(t, get(ctx, c))
	f.count(t, opLogin, 2)
	f.Interceptor().Inject("neutron", simserver.Always(), openstack.Error(http.StatusConflict, "", "x"))
	if err := c.Do(ctx, client.Network, http.MethodGet, "v2.0/ports"); err == nil || strings.Contains(err.Error(), "RegionTwo") {
		t.Errorf("call of a service = %v, want an error of the first region", err)
	}
}

// The catalog is read for a missing service once a minute, without a login.
func TestMissingServiceAppears(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{Catalog: openstack.Catalog{Without: []string{"load-balancer", "key-manager"}}})
	c := f.open(t, nil)
	ctx := bounded(t)
	reads := 0
	catalog := []any{}
	f.serve("keystone", func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/auth/catalog") {
			return false
		}
		if r.Header.Get("X-Auth-Token") == "" {
			t.Error("no token")
		}
		reads++
		reply(w, http.StatusOK, map[string]any{"catalog": catalog})

		return true
	})
	for range 3 {
		must(t, is(c.LoadBalancer().Available(ctx), apierr.ErrUnavailable))
	}
	f.clock.Step(time.Minute)
	for range 3 {
		must(t, is(c.LoadBalancer().Available(ctx), apierr.ErrUnavailable))
	}
	if reads != 1 {
		t.Errorf("%d reads of the catalog, want 1", reads)
	}
	f.clock.Step(time.Minute)
	catalog = []any{map[string]any{"type": "load-balancer", "endpoints": []any{
		map[string]any{"interface": "public", "region": "RegionOne", "url": f.URL() + "/load-balancer"},
	}}}
	must(t, c.LoadBalancer().Available(ctx))
	f.count(t, opLogin, 1)
}

// A service that appears is found also if the token has ended meanwhile and no other service
// is called: the catalog is then that of a new login. OS-AUTH-5.
func TestMissingServiceAppearsAfterToken(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{Catalog: openstack.Catalog{Without: []string{"load-balancer", "key-manager"}}})
	c := f.open(t, nil)
	ctx := bounded(t)
	must(t, is(c.LoadBalancer().Available(ctx), apierr.ErrUnavailable))
	f.RevokeTokens()
	f.SetCatalog(openstack.Catalog{})
	f.clock.Step(time.Minute)
	must(t, c.LoadBalancer().Available(ctx))
	must(t, c.KeyManager().Available(ctx))
	f.count(t, opLogin, 2)
	f.count(t, "keystone.ShowCatalog", 1)
}

// A token that has ended is no login more than needed while a service stays missing.
func TestMissingServiceWithoutToken(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{Catalog: openstack.Catalog{Without: []string{"load-balancer", "key-manager"}}})
	c := f.open(t, nil)
	ctx := bounded(t)
	must(t, is(c.LoadBalancer().Available(ctx), apierr.ErrUnavailable))
	f.RevokeTokens()
	for range 3 {
		f.clock.Step(time.Minute)
		must(t, is(c.LoadBalancer().Available(ctx), apierr.ErrUnavailable))
	}
	f.count(t, opLogin, 2)
	f.count(t, "keystone.ShowCatalog", 3)
}

// The version of Octavia is the current one, else the highest by number.
func TestCurrentVersion(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, document string
		want             features.Version
	}{
		"Current": {"the status decides", `{"versions": [{"id": "v2.27", "status": "SUPPORTED"}, {"id": "v2.26", "status": "CURRENT"}]}`, features.Version{Major: 2, Minor: 26}},
		"Highest": {"numbers, not texts", `{"versions": [{"id": "v2.10", "status": "SUPPORTED"}, {"id": "v2.9", "status": "SUPPORTED"}]}`, features.Version{Major: 2, Minor: 10}},
		"Last":    {"the order does not matter", `{"versions": [{"id": "v2.5", "status": "CURRENT"}, {"id": "v2.0", "status": "SUPPORTED"}]}`, features.Version{Major: 2, Minor: 5}},
		"Several": {"one of each major version", `{"versions": [{"id": "v1", "status": "CURRENT"}, {"id": "v2.9", "status": "CURRENT"}]}`, features.Version{Major: 2, Minor: 9}},
		"Nested":  {"Keystone's form", `{"versions": {"values": [{"id": "v3.14", "status": "stable"}]}}`, features.Version{Major: 3, Minor: 14}},
		"One":     {"one version", `{"version": {"id": "v2.1", "status": "CURRENT", "version": "2.93"}}`, features.Version{Major: 2, Minor: 1}},
		"Plain":   {"one version without anything around it", `{"id": "v1", "status": "CURRENT"}`, features.Version{Major: 1}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := client.CurrentVersion(tc.document); err != nil || got != tc.want {
				t.Errorf("%s: %v, %v, want %v", tc.reason, got, err, tc.want)
			}
		})
	}
	for _, document := range []string{`{}`, `[]`, `{"versions": []}`, `{"versions": "x"}`, `x`} {
		if _, err := client.CurrentVersion(document); err == nil {
			t.Errorf("%s is taken for a version document", document)
		}
	}
}
