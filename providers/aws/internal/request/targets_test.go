package request_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
)

// Instances that are only to be kept are not registered.
func TestKeepInstances(t *testing.T) {
	t.Parallel()
	list := request.Instances{Registered: []string{"i-1", "i-2", "i-3"}, Kept: []string{"i-4", "i-0"}}
	want := request.Instances{Registered: []string{"i-1", "i-3"}, Kept: []string{"i-0", "i-2", "i-4"}}
	if diff := cmp.Diff(want, list.Keep([]string{"i-2", "i-9"})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
