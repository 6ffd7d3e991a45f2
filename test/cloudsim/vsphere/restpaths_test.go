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
