package aws

import (
	"time"

	"k8s.io/utils/clock"
)

// scaledClock runs by another clock, faster or slower.
type scaledClock struct {
	base   clock.PassiveClock
	start  time.Time
	factor float64
}

// ScaledClock returns a clock for [Options] that starts now and passes factor
// seconds in each real one: delays of minutes end after moments, and token
// buckets fill as much faster. A test that steps the time itself uses a clock of
// k8s.io/utils/clock/testing instead.
func ScaledClock(factor float64) clock.PassiveClock {
	return newScaledClock(clock.RealClock{}, factor)
}

func newScaledClock(base clock.PassiveClock, factor float64) scaledClock {
	return scaledClock{base: base, start: base.Now(), factor: factor}
}

// Now implements [clock.PassiveClock].
func (c scaledClock) Now() time.Time {
	return c.start.Add(time.Duration(float64(c.base.Since(c.start)) * c.factor))
}

// Since implements [clock.PassiveClock].
func (c scaledClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// simulated reports whether a clock is another one than that of the machine.
func simulated(c clock.PassiveClock) bool {
	switch c.(type) {
	case nil, clock.RealClock, *clock.RealClock:
		return false
	}

	return true
}
