package client

import (
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
)

// refusedDelays are those after a password was refused: it is tried once more soon, and
// then once an hour.
var refusedDelays = wait.Backoff{Duration: 15 * time.Second, Factor: 240, Cap: time.Hour}

// LoginLimits keep accounts from being locked. Keystone can lock an account after a
// number of failures in a row, however much time passes between them, for 30 minutes by
// default:
// https://docs.openstack.org/keystone/latest/admin/configuration.html#setting-an-account-lockout-threshold.
// A password that is refused is tried twice, then once an hour. The interval is short: a
// login without a response counts like a failure in it, and a Keystone that did not
// respond must not keep a right password unused for long.
func LoginLimits() login.Limits {
	return login.Limits{
		Interval:         10 * time.Minute,
		PerPassword:      2,
		PerAccount:       3,
		Delays:           refusedDelays,
		DelaysIfAccepted: refusedDelays,
		Retention:        24 * time.Hour,
	}
}

// NewLoginGuard returns a guard that keeps the clients which share it from locking an
// account.
func NewLoginGuard(clock clock.PassiveClock, options ...login.Option) *login.Guard {
	return login.NewGuard(LoginLimits(), clock, options...)
}
