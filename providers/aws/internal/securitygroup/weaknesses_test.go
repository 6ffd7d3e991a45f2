package securitygroup

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// W7: a worker waits for a group that stays in use for half a minute at most.
func TestPatienceIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, asked := time.Now(), 0
		err := change.Wait{}.Poll(t.Context(), askWhileInUse, patience, func() (bool, error) {
			asked++
			return false, apierr.ErrConflict
		})
		if waited := time.Since(began); err == nil || waited > 30*time.Second || asked < 2 {
			t.Errorf("W7: %v after %s and %d questions", err, waited, asked)
		}
	})
}
