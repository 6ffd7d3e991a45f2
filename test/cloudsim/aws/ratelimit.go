package aws

import (
	"maps"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simstate"
)

// rateLimits is all that bounds the rate of calls. Cloud.mu guards it.
type rateLimits struct {
	simstate.RateLimits
	rejected map[string]int // calls by operation
}

// ThrottledCalls returns how many calls were rejected because of their rate, by
// operation. Faults of the interceptor do not count.
func (c *Cloud) ThrottledCalls() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()

	return maps.Clone(c.limits.rejected)
}

// throttled takes a token for a call from each of its buckets, and reports
// whether one of them is empty. The call takes none then.
func (c *Cloud) throttled(service *api, request Request) bool {
	names := append(documentedBuckets(service, request), request.Op, service.group, simserver.Any)
	if c.limits.Take(c.opts.Clock.Now(), names...) {
		return false
	}
	c.limits.rejected[request.Op]++

	return true
}
