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
	// Timeout bounds one attempt of a call; 30 s, and less for the first ones that
	// describe something in EC2 or get credentials.
	Timeout time.Duration
	// growing means that the timeouts of those grow: Timeout is not set.
	growing bool
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
	if t.Timeout == 0 {
		t.Timeout, t.growing = 30*time.Second, true
	}
	t.MaxBackoff = cmp.Or(t.MaxBackoff, retry.DefaultMaxBackoff)
	t.ThrottleDelay = cmp.Or(t.ThrottleDelay, 30*time.Second)
	t.Speed = cmp.Or(t.Speed, 1)
	t.FileAge = cmp.Or(t.FileAge, time.Minute)
	t.Clock = cmp.Or[clock.Clock](t.Clock, clock.RealClock{})

	return t
}

// CallTimeout has room for three attempts to describe something in EC2, ListTimeout for
// some pages that take that long.
const (
	CallTimeout = time.Minute
	ListTimeout = 3 * time.Minute
)

// firstTimeouts bound the first attempts to describe something in EC2 or to get
// credentials. A connection that hangs is left soon, and an account with many
// instances, where a filtered call can take 20 s, still gets its response.
var firstTimeouts = []time.Duration{6 * time.Second, 15 * time.Second}

// timeout returns how long an attempt of an operation may take after so many
// failures. A write has all the time at once: an attempt that is abandoned may
// have been carried out.
func (t Tuning) timeout(service Service, operation string, failures int) time.Duration {
	reads := service == ServiceSTS || service == ServiceEC2 && strings.HasPrefix(operation, "Describe")
	if t.growing && reads && failures < len(firstTimeouts) {
		return firstTimeouts[failures]
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
