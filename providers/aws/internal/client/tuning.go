package client

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"k8s.io/utils/clock"
)

// paceable is the shortest ThrottleDelay with which calls wait for the rate
// limiters.
const paceable = time.Second

// Tuning are the times that tests shorten. The zero value is what production
// uses.
type Tuning struct {
	// Timeout bounds one attempt of a call; 30 s.
	Timeout time.Duration
	// ReadTimeout bounds the wait for the response of an attempt that describes
	// something in EC2 or gets credentials, and then each wait for more of its
	// body; Timeout if that is set, otherwise 6 s. An attempt that hung when the
	// cloud did not respond is so repeated soon once it does. A large page may
	// take as long as Timeout.
	ReadTimeout time.Duration
	// MaxBackoff bounds the pause before the next attempt; 20 s.
	MaxBackoff time.Duration
	// ThrottleDelay bounds how long the attempts of one call wait for the rate
	// limiters, all together; 30 s, and half of the time until the deadline of a
	// caller that has one. Below one second none waits.
	ThrottleDelay time.Duration
	// Speed is how many times faster than the buckets of AWS the rate limiters
	// fill; 1.
	Speed float64
	// FileAge is how long keys are known that were read from a file; 1 minute.
	FileAge time.Duration
	// Clock tells the time for the rate limiters; the real one.
	Clock clock.Clock
}

func (t Tuning) withDefaults() Tuning {
	t.ReadTimeout = cmp.Or(t.ReadTimeout, t.Timeout, 6*time.Second)
	t.Timeout = cmp.Or(t.Timeout, 30*time.Second)
	t.MaxBackoff = cmp.Or(t.MaxBackoff, retry.DefaultMaxBackoff)
	t.ThrottleDelay = cmp.Or(t.ThrottleDelay, 30*time.Second)
	t.Speed = cmp.Or(t.Speed, 1)
	t.FileAge = cmp.Or(t.FileAge, time.Minute)
	if t.Clock == nil {
		t.Clock = clock.RealClock{}
	}

	return t
}

// longestSilence returns how long an attempt of an operation may get nothing. What
// changes something keeps the long time: an attempt that is given up may have been
// carried out.
func (t Tuning) longestSilence(service Service, operation string) time.Duration {
	if service == ServiceSTS || service == ServiceEC2 && strings.HasPrefix(operation, "Describe") {
		return t.ReadTimeout
	}

	return t.Timeout
}

// paced reports whether calls wait for the rate limiters.
func (t Tuning) paced() bool { return t.ThrottleDelay >= paceable }

// maxWait is how long a call may wait for the rate limiters. Half of its time
// stays for the call itself.
func (t Tuning) maxWait(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return min(t.ThrottleDelay, time.Until(deadline)/2)
	}

	return t.ThrottleDelay
}
