package nsxt

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simstate"
)

// maxConcurrency is the number of requests at a time over all users ([KB] 411782).
const maxConcurrency = 199

// limits count the requests of each user.
type limits struct {
	rates     simstate.RateLimits
	running   map[string]int // requests at work by user
	total     int
	throttled map[string]int
}

// enter counts a request and returns its refusal, if it is one too many. Users are who
// requests say that they are from, as limits come before the login.
func (c *Cloud) enter(k *call) *apiError {
	c.mu.Lock()
	defer c.mu.Unlock()
	k.node = c.ids.Next("request") % c.spec.Nodes
	k.user = c.claimed(k.request)
	l := &c.limits
	if l.running == nil {
		l.running, l.throttled = map[string]int{}, map[string]int{}
	}
	key := c.limitKey(k)
	if _, known := l.running[key]; !known {
		l.rates.Set(key, c.spec.RateLimit)
	}
	l.running[key]++
	l.total++
	switch {
	case l.total > maxConcurrency:
		return newError(http.StatusServiceUnavailable, 0)
	case l.running[key] > c.spec.Concurrency, !l.rates.Take(c.now(), key):
		l.throttled[k.user]++

		return c.throttled(k.user)
	}

	return nil
}

func (c *Cloud) leave(k *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limits.running[c.limitKey(k)]--
	c.limits.total--
}

// limitKey is what requests are counted by.
func (c *Cloud) limitKey(k *call) string {
	if c.spec.LimitPerNode {
		return fmt.Sprintf("%s at %d", k.user, k.node)
	}

	return k.user
}

// throttled returns the refusal ([KB] 411782). Retry-After is not documented.
func (c *Cloud) throttled(user string) *apiError {
	e := newError(http.StatusTooManyRequests, 102)
	e.message = fmt.Sprintf("Client '%s' exceeded request rate of %v per second.", user, c.spec.RateLimit.Rate)
	if c.spec.RetryAfter > 0 {
		e.header = http.Header{"Retry-After": {strconv.Itoa(int(c.spec.RetryAfter.Seconds()))}}
	}

	return e
}

// Throttled returns how many requests of a user were refused as too many.
func (c *Cloud) Throttled(user string) int {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.limits.throttled[user]
}
