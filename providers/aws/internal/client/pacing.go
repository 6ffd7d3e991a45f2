package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

const (
	// firstBackoff is the time after the first throttled response of a call; it
	// doubles up to longestBackoff.
	firstBackoff   = 250 * time.Millisecond
	longestBackoff = 3 * time.Second
	// mostAttempts bounds the attempts of a call. Its time to wait usually ends
	// earlier.
	mostAttempts = 60
)

// pacing is the state that the attempts of one call share: how long they may
// wait, and when there is no further attempt. Its attempts are sequential.
type pacing struct {
	tuning  Tuning
	limiter *limiter
	// until is when the call stops waiting.
	until   time.Time
	backoff wait.Backoff

	// throttles and failures count the attempts that were throttled, and those
	// that failed otherwise. next is the time until the next attempt if the one
	// before was throttled, or zero.
	throttles, failures int
	next                time.Duration
}

// pacingKey is the context key of the pacing of a call.
type pacingKey struct{}

func newPacing(ctx context.Context, l *limiter, t Tuning) *pacing {
	return &pacing{
		tuning: t, limiter: l, until: t.Clock.Now().Add(t.maxWait(ctx)),
		backoff: wait.Backoff{
			Duration: time.Duration(float64(firstBackoff) / t.Speed), Cap: time.Duration(float64(longestBackoff) / t.Speed),
			Factor: 2, Jitter: 0.5, Steps: mostAttempts,
		},
	}
}

func (p *pacing) into(ctx context.Context) context.Context {
	return context.WithValue(ctx, pacingKey{}, p)
}

// pacingOf returns the pacing of the call that a context belongs to, which must
// have one.
func pacingOf(ctx context.Context) *pacing {
	return ctx.Value(pacingKey{}).(*pacing)
}

func (p *pacing) now() time.Time { return p.tuning.Clock.Now() }

// wait returns when an attempt may be made. One after a throttled one needs no
// second token: AWS took none. The error of a canceled call, or of one whose time
// to wait is over, is not retried.
func (p *pacing) wait(ctx context.Context) error {
	if !p.tuning.paced() {
		return nil
	}
	var err error
	if p.next > 0 {
		err = sleep(ctx, p.tuning.Clock, p.next)
	} else {
		err = p.limiter.take(ctx, p.until)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errNoToken):
		return apierr.Mark(apierr.ErrThrottled, err)
	default:
		return &aws.RequestCanceledError{Err: fmt.Errorf("wait for the rate limiter: %w", err)}
	}
}

// after records the result of an attempt. The error that it returns is not
// retried if there is no time or no attempt left.
func (p *pacing) after(sent time.Time, err error) error {
	p.next = 0
	switch {
	case err == nil:
		p.limiter.accepted(sent)

		return nil
	case throttled(err):
		p.throttles++
		p.next = p.backoff.Step()
		p.limiter.throttled(sent)
		if (p.tuning.paced() || p.throttles >= retry.DefaultMaxAttempts) && p.now().Add(p.next).After(p.until) {
			return p.giveUp(err)
		}

		return err
	}
	p.failures++
	if code := status(err); code != 0 && code < http.StatusInternalServerError && !isCredentials(err) {
		p.limiter.accepted(sent)
	}
	if p.failures >= retry.DefaultMaxAttempts {
		return p.giveUp(err)
	}

	return err
}

// giveUp marks an error as the last of the call.
func (p *pacing) giveUp(err error) error {
	return &retry.MaxAttemptsError{Attempt: p.throttles + p.failures, Err: err}
}
