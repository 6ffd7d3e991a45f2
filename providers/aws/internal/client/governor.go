package client

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"k8s.io/utils/clock"
)

const (
	// firstRequests are counted before there were any, so that the first calls
	// alone do not decide.
	firstRequests = 4
	// decay is what remains of both counts after decayPeriod.
	decay       = 0.8
	decayPeriod = 20 * time.Second
	// tolerated is the share of throttled calls that is not reacted to.
	tolerated = 0.1
)

// governor makes calls wait while AWS throttles many of them. It is shared by
// all clients of a region, and safe for concurrent use.
type governor struct {
	clock clock.Clock
	// longest is how long a call waits if all others were throttled.
	longest time.Duration

	mu sync.Mutex
	// requests and throttles are counts that fade with time.
	requests, throttles float64
	faded               time.Time
}

func newGovernor(clk clock.Clock, longest time.Duration) *governor {
	return &governor{clock: clk, longest: longest, requests: firstRequests, faded: clk.Now()}
}

// next counts a call and tells how long it has to wait, in whole seconds.
func (g *governor) next() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()

	now := g.clock.Now()
	remains := math.Pow(decay, float64(now.Sub(g.faded))/float64(decayPeriod))
	g.requests, g.throttles, g.faded = g.requests*remains+1, g.throttles*remains, now
	share := g.throttles / g.requests
	if share < tolerated {
		return 0
	}

	// A count that floating point makes a hair smaller costs no second.
	return time.Duration(share * float64(g.longest)).Round(time.Millisecond).Truncate(time.Second)
}

// throttled counts a call that was.
func (g *governor) throttled() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.throttles++
}

// wait returns when the call may be made. A caller that gives up meanwhile gets
// an error that is not retried.
func (g *governor) wait(ctx context.Context) error {
	pause := affordable(ctx, g.next())
	if pause <= 0 {
		return nil
	}
	timer := g.clock.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return &aws.RequestCanceledError{Err: fmt.Errorf("wait %s because AWS throttles calls: %w", pause, ctx.Err())}
	}
}

// affordable shortens a pause to half of the time that a caller has left. One
// that waited longer could only fail: if all callers did, nobody would ever find
// out that AWS throttles no more.
func affordable(ctx context.Context, pause time.Duration) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return pause
	}
	return min(pause, time.Until(deadline)/2)
}
