package vsphere

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
)

// The newer path takes other forms than the deprecated one, and a session is good
// for both.
func TestRESTPaths(t *testing.T) {
	t.Parallel()
	v := start(t, large()).VCenter("vc")
	c := bareREST(t, v)
	call := func(method, path, action string, body, result any) error {
		t.Helper()
		resource := c.Resource(path)
		if action != "" {
			resource = resource.WithParam("action", action)
		}
		req := resource.Request(method, body)
		if path == "/api/session" && method == http.MethodPost {
			req.SetBasicAuth(v.User(), v.Password())
		}

		return c.Do(t.Context(), req, result)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var session string
	must(call(http.MethodPost, "/api/session", "", nil, &session))
	c.SessionID(session)
	var categories, ids []string
	must(call(http.MethodGet, "/api/cis/tagging/category", "", nil, &categories))
	byName := map[string]string{}
	for _, id := range categories {
		var category tags.Category
		must(call(http.MethodGet, "/api/cis/tagging/category/"+id, "", nil, &category))
		byName[category.Name] = id
	}
	must(call(http.MethodPost, "/api/cis/tagging/tag", "list-tags-for-category", map[string]string{"category_id": byName["rack"]}, &ids))
	var tag tags.Tag
	must(call(http.MethodGet, "/api/cis/tagging/tag/"+ids[0], "", nil, &tag))
	var attached []tags.AttachedObjects
	must(call(http.MethodPost, "/api/cis/tagging/tag-association", "list-attached-objects-on-tags", map[string][]string{"tag_ids": ids}, &attached))
	if tag.Name != "r1" || len(attached) != 1 || len(attached[0].ObjectIDs) != 1 {
		t.Errorf("tag %+v is on %+v", tag, attached)
	}
	if n := v.RESTCalls(LegacyRESTPath); n != 0 {
		t.Errorf("%d calls to %s", n, LegacyRESTPath)
	}
	if _, err := tags.NewManager(c).ListTags(t.Context()); err != nil {
		t.Errorf("call to the other path: %v", err)
	}
	must(call(http.MethodDelete, "/api/session", "", nil, nil))
	if left := v.Sessions(); len(left) != 0 {
		t.Errorf("sessions after the logout: %+v", left)
	}
}

func TestRESTPathsAreTakenAway(t *testing.T) {
	t.Parallel()
	v := start(t, small()).VCenter("vc")
	c := loginREST(t, v, login(t, v))
	list := func(path string) error {
		var ids []string

		return c.Do(t.Context(), c.Resource(path).Request(http.MethodGet), &ids)
	}
	const legacy, newer = "/com/vmware/cis/tagging/category", "/api/cis/tagging/category"
	cases := map[string]struct {
		served []string
		want   map[string]bool
	}{
		"before 7.0 U2": {[]string{LegacyRESTPath}, map[string]bool{legacy: true, newer: false}},
		"both":          {[]string{LegacyRESTPath, RESTPath}, map[string]bool{legacy: true, newer: true}},
		"later":         {[]string{RESTPath}, map[string]bool{legacy: false, newer: true}},
	}
	for name, tc := range cases {
		v.SetRESTPaths(tc.served...)
		for path, want := range tc.want {
			err := list(path)
			if (err == nil) != want || err != nil && !rest.IsStatusError(err, http.StatusNotFound) {
				t.Errorf("%s: %s: %v", name, path, err)
			}
		}
	}
}

func TestTagOperationsAreLimited(t *testing.T) {
	t.Parallel()
	v := start(t, small()).VCenter("vc")
	now := time.Now()
	v.mu.Lock()
	v.sessions.now = func() time.Time { return now }
	v.mu.Unlock()
	manager := tags.NewManager(loginREST(t, v, login(t, v)))
	for n := range maxTagCalls {
		if _, err := manager.ListCategories(t.Context()); err != nil {
			t.Fatalf("call %d: %v", n+1, err)
		}
	}
	if _, err := manager.ListCategories(t.Context()); !isUnavailable(err) {
		t.Errorf("call %d: %v", maxTagCalls+1, err)
	}
	v.mu.Lock()
	v.sessions.now = func() time.Time { return now.Add(time.Second) }
	v.mu.Unlock()
	if _, err := manager.ListCategories(t.Context()); err != nil {
		t.Errorf("a second later: %v", err)
	}
}

func TestHiddenTags(t *testing.T) {
	t.Parallel()
	v := start(t, large()).VCenter("vc")
	manager := tags.NewManager(loginREST(t, v, login(t, v)))
	vm := v.VM("node")
	zone, err := manager.GetTagForCategory(t.Context(), "one", "zone")
	if err != nil {
		t.Fatal(err)
	}
	all, err := manager.ListCategories(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := v.SetTagHidden("zone", "one", true); err != nil {
		t.Fatal(err)
	}
	if _, err := manager.GetTag(t.Context(), zone.ID); !rest.IsStatusError(err, http.StatusForbidden) {
		t.Errorf("read a hidden tag: %v", err)
	}
	attached, err := manager.GetAttachedTags(t.Context(), vm.Reference())
	if err != nil || len(attached) != 1 || attached[0].Name != "two" {
		t.Errorf("tags of the VM: %+v, %v", attached, err)
	}
	if err := v.SetTagHidden("zone", "", true); err != nil {
		t.Fatal(err)
	}
	left, err := manager.ListCategories(t.Context())
	if err != nil || len(left) != len(all)-1 {
		t.Errorf("%d of %d categories are left, %v", len(left), len(all), err)
	}
}

// An object without permission is neither in views nor in the responses of the
// tag service.
func TestHiddenObjects(t *testing.T) {
	t.Parallel()
	v := start(t, large()).VCenter("vc")
	manager := tags.NewManager(loginREST(t, v, login(t, v)))
	tag, err := manager.GetTagForCategory(t.Context(), "r1", "rack")
	if err != nil {
		t.Fatal(err)
	}
	counts := func() string {
		objects, err := manager.ListAttachedObjectsOnTags(t.Context(), []string{tag.ID})
		if err != nil {
			t.Fatal(err)
		}

		return fmt.Sprint(len(objects[0].ObjectIDs))
	}
	before := counts()
	const path = "/emea/prod/dc-a/host/cluster/host-1"
	if err := v.SetHidden(path, true); err != nil {
		t.Fatal(err)
	}
	hidden := counts()
	if err := v.SetHidden(path, false); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1", "0", "1"}, []string{before, hidden, counts()}); diff != "" {
		t.Errorf("objects with the tag (-want +got):\n%s", diff)
	}
}
