package login_test

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
)

var errWrong = errors.New("wrong password")

func TestBackoff(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		delays wait.Backoff
		want   []time.Duration
	}{
		"Doubled": {
			"each failure doubles the delay, up to the cap",
			wait.Backoff{Duration: 15 * time.Second, Factor: 2, Cap: time.Minute},
			[]time.Duration{15 * time.Second, 30 * time.Second, time.Minute, time.Minute},
		},
		"Cap": {
			"a delay beyond the cap is cut",
			wait.Backoff{Duration: time.Second, Factor: 2, Cap: 5 * time.Second},
			[]time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second},
		},
		"Steps": {
			"steps and jitter do not count",
			wait.Backoff{Duration: time.Second, Factor: 60, Cap: time.Hour, Steps: 1, Jitter: 1},
			[]time.Duration{time.Second, time.Minute, time.Hour, time.Hour},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b login.Backoff
			now := time.Now()
			if err := b.Err(now); err != nil {
				t.Errorf("Err() before a failure = %v", err)
			}
			for i, want := range tc.want {
				b.Fail(now, tc.delays, errWrong)
				if got := b.Until().Sub(now); got != want {
					t.Errorf("%s\ndelay %d = %v, want %v", tc.reason, i, got, want)
				}
				if err := b.Err(b.Until().Add(-1)); !errors.Is(err, errWrong) {
					t.Errorf("Err() during delay %d = %v, want %v", i, err, errWrong)
				}
				now = b.Until()
				if err := b.Err(now); err != nil {
					t.Errorf("Err() after delay %d = %v", i, err)
				}
			}
		})
	}
}
