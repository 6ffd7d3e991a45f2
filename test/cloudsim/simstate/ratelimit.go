package simstate

import (
	"math"
	"time"
)

// RateLimit is the size of a token bucket and its refill rate per second.
type RateLimit struct {
	Rate  float64
	Burst int
}

// RateLimits are token buckets by name. The zero value has none.
type RateLimits struct {
	buckets map[string]*bucket
}

// bucket is a token bucket. It is kept as the time when it is full again, so
// that no rounding of fractions of tokens adds up.
type bucket struct {
	each  time.Duration // until one more token is there
	burst int
	full  time.Time
}

// Set replaces the bucket of a name by a full one. A burst that is not positive
// removes it, and with it the limit.
func (l *RateLimits) Set(name string, limit RateLimit) {
	if limit.Burst <= 0 {
		delete(l.buckets, name)

		return
	}
	if l.buckets == nil {
		l.buckets = make(map[string]*bucket)
	}
	b := &bucket{burst: limit.Burst, each: math.MaxInt64 / time.Duration(limit.Burst+1)}
	if limit.Rate > 0 {
		b.each = min(b.each, time.Duration(float64(time.Second)/limit.Rate))
	}
	l.buckets[name] = b
}

// Take takes a token from each of the named buckets and returns true. If one of them
// is empty, it takes none and returns false. Names without a bucket have no limit.
func (l *RateLimits) Take(now time.Time, names ...string) bool {
	for _, name := range names {
		if b := l.buckets[name]; b != nil && b.empty(now) {
			return false
		}
	}
	for _, name := range names {
		if b := l.buckets[name]; b != nil {
			b.take(now)
		}
	}

	return true
}

func (b *bucket) empty(now time.Time) bool {
	return b.full.Sub(now) > time.Duration(b.burst-1)*b.each
}

func (b *bucket) take(now time.Time) {
	if b.full.Before(now) {
		b.full = now
	}
	b.full = b.full.Add(b.each)
}
