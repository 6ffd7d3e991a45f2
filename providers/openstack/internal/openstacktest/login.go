package openstacktest

import (
	"time"

	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
)

// EagerGuard returns a guard that has refused logins repeated soon, for a cloud that locks
// no account.
func EagerGuard() *login.Guard {
	soon := []time.Duration{100 * time.Millisecond}

	return login.NewGuard(login.Limits{
		Interval: time.Millisecond, PerPassword: 100, PerAccount: 100, Delays: soon, DelaysIfAccepted: soon,
	}, clock.RealClock{})
}
