package vsphere

import (
	"testing"
	"time"

	"github.com/vmware/govmomi/vapi/tags"
)

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
