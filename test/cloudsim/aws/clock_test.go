package aws

import (
	"testing"
	"time"

	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
)

func TestScaledClock(t *testing.T) {
	t.Parallel()
	base := testingclock.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	start := base.Now()
	fast := newScaledClock(base, 60)
	if got := fast.Since(start); got != 0 {
		t.Errorf("a new clock is %v ahead", got)
	}
	base.SetTime(start.Add(2 * time.Second))
	if got := fast.Since(start); got != 2*time.Minute {
		t.Errorf("%v passed in 2 s of 60 times the speed, want 2 m", got)
	}
}

func TestDelaysByClock(t *testing.T) {
	t.Parallel()
	own := Delays{SecurityGroups: time.Hour}
	tests := map[string]struct {
		reason string
		opts   Options
		want   Delays
	}{
		"real by default": {"suites on the real clock do not wait", Options{}, Delays{}},
		"real":            {"suites on the real clock do not wait", Options{Clock: clock.RealClock{}}, Delays{}},
		"simulated":       {"they cost no time", Options{Clock: ScaledClock(1000)}, TypicalDelays()},
		"real and given":  {"what the test sets", Options{Delays: &own}, own},
		"given":           {"what the test sets", Options{Clock: ScaledClock(1000), Delays: &own}, own},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := start(t, tc.opts).balancers.delays; got != tc.want {
				t.Errorf("%s: got %+v, want %+v", tc.reason, got, tc.want)
			}
		})
	}
}
