package client

import (
	"sync"

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
	shared *sharedTokens

	mu    sync.Mutex
	byKey map[string]*limiter
}

func newLimiters(service Service, t Tuning) *limiters {
	l := &limiters{service: service, clock: t.Clock, speed: t.Speed, byKey: map[string]*limiter{}}
	if b, ok := sharedBuckets[service]; ok {
		l.shared = &sharedTokens{Limiter: newTokens(b, t.Speed)}
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
		l.byKey[key] = newLimiter(l.clock, b, l.shared, l.speed)
	}

	return l.byKey[key]
}
