package aws

import (
	"maps"
	"math"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/front"
)

// throttle is all that bounds the rate of calls. Cloud.mu guards it.
type throttle struct {
	buckets map[string]*bucket
	refused map[string]int // calls by operation
}

// bucket is a token bucket. It is kept as the time when it is full again, so
// that no rounding of fractions of tokens adds up.
type bucket struct {
	each    time.Duration // until one more token is there
	burst   int
	full    time.Time
	refused int
}

func newBucket(rate float64, burst int) *bucket {
	b := &bucket{burst: burst, each: math.MaxInt64 / time.Duration(burst+1)}
	if rate > 0 {
		b.each = min(b.each, time.Duration(float64(time.Second)/rate))
	}
	return b
}

// empty reports whether there is no token.
func (b *bucket) empty(now time.Time) bool {
	return b.full.Sub(now) > time.Duration(b.burst-1)*b.each
}

// take removes a token.
func (b *bucket) take(now time.Time) {
	if b.full.Before(now) {
		b.full = now
	}
	b.full = b.full.Add(b.each)
}

// SetThrottle bounds the calls of an operation or group, by its name in the
// gate's log, or of all APIs together when the name is [front.Any]: burst calls at
// once, refilled with rate calls a second. More fail as they do on AWS. A burst
// of 0 removes the bound.
//
// The names of the buckets that AWS documents, which exist from the start, are
// elb/account and elbv2/account for all calls of the API; elb/ and elbv2/ with
// resource-intensive, registration, mutating and non-mutating for these
// categories; ec2/ with the operation, as in ec2/CreateTags, and
// ec2/DescribeInstances/unfiltered for calls without filter and page size.
// Setting one of them is what AWS Support does on request.
func (c *Cloud) SetThrottle(name string, rate float64, burst int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if burst <= 0 {
		delete(c.throttle.buckets, name)
		return
	}
	c.throttle.buckets[name] = newBucket(rate, burst)
}

// Throttles returns how many calls the bound of that name has refused.
func (c *Cloud) Throttles(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b := c.throttle.buckets[name]; b != nil {
		return b.refused
	}
	return 0
}

// ThrottledCalls returns how many calls were refused because of their rate, by
// operation. Faults of the gate do not count.
func (c *Cloud) ThrottledCalls() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.throttle.refused)
}

// tooFast takes a token for a call from each of its buckets, and reports whether
// one of them is empty. The call takes none then.
func (c *Cloud) tooFast(service *api, request Request) bool {
	now := c.opts.Clock.Now()
	names := append(documentedBuckets(service, request), request.Op, service.group, front.Any)
	for _, name := range names {
		if b := c.throttle.buckets[name]; b != nil && b.empty(now) {
			b.refused++
			c.throttle.refused[request.Op]++
			return true
		}
	}
	for _, name := range names {
		if b := c.throttle.buckets[name]; b != nil {
			b.take(now)
		}
	}
	return false
}
