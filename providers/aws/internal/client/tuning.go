package client

import (
	"cmp"
	"context"
	"net"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"k8s.io/utils/clock"
)

// paceable is the shortest ThrottleDelay with which calls wait for the rate
// limiters.
const paceable = time.Second

// Tuning are the durations that tests shorten. The zero value selects those of
// production.
type Tuning struct {
	// Timeout bounds one attempt of a call; 30 s.
	Timeout time.Duration
	// ReadTimeout bounds the wait for the response of an attempt that describes
	// something in EC2 or gets credentials, and then each wait for more of its
	// body; Timeout if that is set, otherwise 6 s. An attempt that hung while
	// the cloud did not respond is thus repeated soon after the cloud responds
	// again. A large page may take as long as Timeout.
	ReadTimeout time.Duration
	// MaxBackoff bounds the backoff before the next attempt; 20 s.
	MaxBackoff time.Duration
	// ThrottleDelay bounds the total time in which the attempts of one call
	// wait for the rate limiters; 30 s, and at most half of the time until the
	// deadline of the caller. Below one second, calls do not wait.
	ThrottleDelay time.Duration
	// Speed is the factor by which the rate limiters fill faster than the
	// buckets of AWS; 1.
	Speed float64
	// FileAge is how long keys that were read from a file are cached; 1 minute.
	FileAge time.Duration
	// Clock is the clock of the rate limiters; the real one.
	Clock clock.Clock
	// Dial connects to the cloud, in the place of the dialer of the SDK.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

func (t Tuning) withDefaults() Tuning {
	t.ReadTimeout = cmp.Or(t.ReadTimeout, t.Timeout, 6*time.Second)
	t.Timeout = cmp.Or(t.Timeout, 30*time.Second)
	t.MaxBackoff = cmp.Or(t.MaxBackoff, retry.DefaultMaxBackoff)
	t.ThrottleDelay = cmp.Or(t.ThrottleDelay, 30*time.Second)
	t.Speed = cmp.Or(t.Speed, 1)
	t.FileAge = cmp.Or(t.FileAge, time.Minute)
	t.Clock = cmp.Or[clock.Clock](t.Clock, clock.RealClock{})

	return t
}

// readTimeout returns how long an attempt of an operation waits for data.
// Writes keep the long timeout: an attempt that is abandoned may have been
// carried out.
func (t Tuning) readTimeout(service Service, operation string) time.Duration {
	if service == ServiceSTS || service == ServiceEC2 && strings.HasPrefix(operation, "Describe") {
		return t.ReadTimeout
	}

	return t.Timeout
}

// paced reports whether calls wait for the rate limiters.
func (t Tuning) paced() bool { return t.ThrottleDelay >= paceable }

// maxWait returns how long a call may wait for the rate limiters. Half of its
// time remains for the call itself.
func (t Tuning) maxWait(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return min(t.ThrottleDelay, time.Until(deadline)/2)
	}

	return t.ThrottleDelay
}
