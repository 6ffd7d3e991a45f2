package client

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
)

// limiters are the limiters of one service in one region, one for each bucket.
// They are safe for concurrent use.
type limiters struct {
	service Service
	clock   clock.Clock
	speed   float64
	// shared is the bucket that all of them take tokens from, too; nil if there
	// is none.
	shared *rate.Limiter

	mu    sync.Mutex
	byKey map[string]*limiter
}

func newLimiters(service Service, t Tuning) *limiters {
	l := &limiters{service: service, clock: t.Clock, speed: t.Speed, byKey: map[string]*limiter{}}
	if b, ok := sharedBuckets[service]; ok {
		l.shared = newTokens(b, t.Speed)
	}

	return l
}

// of returns the limiter for an operation.
func (l *limiters) of(operation string, input any) *limiter {
	b := bucketOf(l.service, operation, input)
	key := b.key(operation)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byKey[key] == nil {
		l.byKey[key] = l.limiter(b)
	}

	return l.byKey[key]
}

func (l *limiters) limiter(b bucket) *limiter {
	tokens := newTokens(b, l.speed)
	normal := tokens.Limit()

	return &limiter{
		clock: l.clock, mu: &l.mu, tokens: tokens, shared: l.shared, head: make(chan struct{}, 1), waiting: l.clock.Now(),
		lowest: min(normal, max(normal*lowestShare, rate.Limit(lowestPace*l.speed))), normal: normal, highest: normal * highestShare,
		raiseAfter: time.Duration(float64(raiseAfter) / l.speed),
	}
}
