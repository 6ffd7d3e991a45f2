package openstacktest

import (
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// EagerGuard returns a guard that has refused logins repeated soon, for a cloud that locks
// no account.
func EagerGuard() *login.Guard {
	soon := wait.Backoff{Duration: 100 * time.Millisecond, Factor: 1}
	limits := client.LoginLimits()
	limits.Interval, limits.PerPassword, limits.PerAccount = time.Millisecond, 100, 100
	limits.Delays, limits.DelaysIfAccepted = soon, soon

	return login.NewGuard(limits, clock.RealClock{})
}
