package session

import (
	"time"

	"k8s.io/utils/clock"
)

// UserAgent is how sessions introduce themselves by default.
const UserAgent = "k8s-cloud-provider-vsphere"

// Options are what a session can do without.
type Options struct {
	// Metrics count calls and logins. Default: nothing is counted.
	Metrics *Metrics
	// Lockout limits refused logins together with the other sessions that have
	// the same one. Default: one of its own.
	Lockout *Lockout
	// Clock times the pauses between logins. Default: the real one.
	Clock clock.Clock
	// UserAgent is sent with each call. Default: [UserAgent].
	UserAgent string
	// CallTimeout bounds each call on the wire, on top of the time that a poll
	// is meant to wait. Default: 30 s.
	CallTimeout time.Duration
	// LoginTimeout bounds a login with all its calls. Default: 30 s.
	LoginTimeout time.Duration
	// Dial makes the connections with the vCenter. Default: that of a
	// [net.Dialer].
	Dial DialFunc
	// TokenFile holds the token for session managers without one. Default: that
	// of the pod's service account.
	TokenFile string
}
