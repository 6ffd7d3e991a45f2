package vsphere

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

func TestCallsAreCountedByName(t *testing.T) {
	t.Parallel()
	v := start(t, large()).VCenter("vc")
	c := login(t, v)
	r := loginREST(t, v, c)
	manager := tags.NewManager(r)
	ref := v.VM("node").Reference()
	v.Reset()
	for _, call := range []func() error{
		func() error {
			_, err := manager.ListCategories(t.Context())

			return err
		},
		func() error {
			_, err := manager.ListTags(t.Context())

			return err
		},
		func() error {
			_, err := manager.GetAttachedTags(t.Context(), ref)

			return err
		},
		func() error {
			_, err := manager.ListAttachedTagsOnObjects(t.Context(), []mo.Reference{ref})

			return err
		},
		func() error {
			_, err := manager.ListTagsForCategory(t.Context(), v.tags.category("zone"))

			return err
		},
		func() error {
			_, err := manager.CreateTag(t.Context(), &tags.Tag{Name: "new", CategoryID: v.tags.category("zone")})

			return err
		},
		func() error { return manager.AttachTag(t.Context(), "new", ref) },
		func() error { return manager.DetachTag(t.Context(), "new", ref) },
		func() error {
			_, err := r.Session(t.Context())

			return err
		},
		func() error { return r.Logout(t.Context()) },
		func() error { return c.Logout(t.Context()) },
	} {
		if err := call(); err != nil {
			t.Fatal(err)
		}
	}
	calls := v.Calls()
	delete(calls, "GetTag") // as many as there are tags: the client looks names up
	want := map[string]int{
		"ListCategories": 1, "ListTags": 3, "ListAttachedTags": 1, "ListAttachedTagsOnObjects": 1, "ListTagsForCategory": 1,
		"CreateTag": 1, "AttachTag": 1, "DetachTag": 1, "RESTSession": 1, "RESTLogout": 1, "Logout": 1,
	}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestUnknownPathsAreRefused(t *testing.T) {
	t.Parallel()
	v := start(t, small()).VCenter("vc")
	client := soap.NewClient(v.URL(), true)
	t.Cleanup(client.CloseIdleConnections)
	for _, path := range []string{"/rest/com/vmware/content/library", "/api", "/folder/x", "/rest/com/vmware/cis/tagging/other", "/about"} {
		u := v.URL()
		u.Path = path
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u.String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound || v.Count("GET "+path) != 1 {
			t.Errorf("%s: %s, calls %v", path, resp.Status, v.Calls())
		}
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		effect simserver.Fault
		want   func(error) bool
	}{
		"NoPermission":     {Fault(&types.NoPermission{PrivilegeId: "System.View"}), func(err error) bool { return isFault(err, &types.NoPermission{}) }},
		"InvalidLogin":     {Fault(&types.InvalidLogin{}), func(err error) bool { return isFault(err, &types.InvalidLogin{}) }},
		"NotAuthenticated": {Fault(&types.NotAuthenticated{}), func(err error) bool { return isFault(err, &types.NotAuthenticated{}) }},
		"RuntimeFault":     {Fault(&types.RuntimeFault{}), func(err error) bool { return isFault(err, &types.RuntimeFault{}) }},
		"HTTP503":          {simserver.Status(http.StatusServiceUnavailable), func(err error) bool { return strings.Contains(err.Error(), "503") }},
		"Drop":             {simserver.Drop(), func(err error) bool { return strings.Contains(err.Error(), "EOF") }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := start(t, small()).VCenter("vc")
			index := object.NewSearchIndex(login(t, v).Client)
			rule := v.Inject("FindByIp", simserver.Nth(2), tc.effect)
			for i := 1; i <= 3; i++ {
				ref, err := index.FindByIp(t.Context(), nil, "10.0.0.1", true)
				switch {
				case i == 2 && (err == nil || !tc.want(err)):
					t.Errorf("the broken call: %v, %v", ref, err)
				case i != 2 && (err != nil || ref == nil):
					t.Errorf("call %d: %v, %v", i, ref, err)
				}
			}
			if rule.Hits() != 1 || v.Count("FindByIp") != 3 {
				t.Errorf("hits %d, calls %v", rule.Hits(), v.Calls())
			}
		})
	}
}

func TestTagServiceFaults(t *testing.T) {
	t.Parallel()
	v := start(t, large()).VCenter("vc")
	c := login(t, v)
	manager := tags.NewManager(loginREST(t, v, c))
	rule := v.Inject(GroupTags, simserver.Always(), simserver.Status(http.StatusInternalServerError))
	if _, err := manager.ListTags(t.Context()); err == nil {
		t.Error("the tag service responded")
	}
	if currentSession(t, c) == nil {
		t.Error("SOAP broke as well")
	}
	rule.Remove()
	if _, err := manager.ListTags(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestOutage(t *testing.T) {
	t.Parallel()
	v := start(t, small()).VCenter("vc")
	c := login(t, v)
	w := startWatch(t, c)
	w.pageIn(t)
	done := make(chan error)
	go func() {
		_, _, err := w.next(t.Context())
		done <- err
	}()
	eventually(t, v.isPolling)
	v.Down()
	if err := <-done; err == nil {
		t.Error("the long poll got a response")
	}
	if _, err := tryLogin(t.Context(), v, v.Password()); err == nil {
		t.Error("logged in while down")
	}
	if err := v.VM("one").PowerOff(); err != nil {
		t.Fatal(err)
	}
	if err := v.Up(); err != nil {
		t.Fatal(err)
	}
	if updates, _, err := w.next(t.Context()); err != nil || len(updates) != 1 {
		t.Errorf("the session and what it missed are still there: %v, %v", updates, err)
	}
	go func() {
		_, _, err := w.next(t.Context())
		done <- err
	}()
	eventually(t, v.isPolling)
	v.Hang()
	if err := v.VM("one").PowerOn(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return !v.isPolling() })
	select {
	case err := <-done:
		t.Errorf("the long poll got through: %v", err)
	default:
	}
	if err := v.Up(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("the response that hung: %v", err)
	}
}
