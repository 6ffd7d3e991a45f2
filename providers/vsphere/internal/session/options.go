package session

import (
	"time"

	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
)

// UserAgent is the default user agent of sessions.
const UserAgent = "k8s-cloud-provider-vsphere"

// Options are optional settings of a session.
type Options struct {
	// Metrics count calls and logins. Default: nothing is counted.
	Metrics *Metrics
	// LoginGuard limits refused logins together with the other sessions that share
	// it. Default: one for this session alone.
	LoginGuard *login.Guard
	// Clock is that of the delays between logins. Default: the real one.
	Clock clock.Clock
	// UserAgent is sent with each call. Default: [UserAgent].
	UserAgent string
	// CallTimeout bounds each call on the wire, in addition to the time that a poll
	// may wait. Default: 30 s.
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
