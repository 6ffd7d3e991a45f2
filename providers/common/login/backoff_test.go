package login_test

import (
	"errors"
	"testing"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
)

var errWrong = errors.New("wrong password")

// Each failure in a row has the next delay, and the last one is repeated.
func TestBackoff(t *testing.T) {
	t.Parallel()
	var b login.Backoff
	now := time.Now()
	if err := b.Err(now); err != nil {
		t.Errorf("Err() before a failure = %v", err)
	}
	delays := []time.Duration{15 * time.Second, 30 * time.Second, time.Minute}
	for i, want := range append(delays, delays[2], delays[2]) {
		b.Fail(now, delays, errWrong)
		if got := b.Until().Sub(now); got != want {
			t.Errorf("delay %d = %v, want %v", i, got, want)
		}
		if err := b.Err(b.Until().Add(-1)); !errors.Is(err, errWrong) {
			t.Errorf("Err() during delay %d = %v, want %v", i, err, errWrong)
		}
		now = b.Until()
		if err := b.Err(now); err != nil {
			t.Errorf("Err() after delay %d = %v", i, err)
		}
	}
}
