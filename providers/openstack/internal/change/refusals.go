package change

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
)

// refusalAge is how long an option counts as refused: a cloud may be upgraded.
const refusalAge = time.Hour

// Refusals stores the options that providers of load balancers have refused, for all plans
// of a process, so that requests that would fail are not sent for an hour. The zero value is
// empty. It is safe for concurrent use. Nil is empty, and stores nothing.
type Refusals struct {
	mu sync.Mutex
	// at has the time of the last refusal by provider and option.
	at map[string]map[features.Option]time.Time
}

// Add stores that a provider has refused an option.
func (r *Refusals) Add(provider string, option features.Option) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at == nil {
		r.at = map[string]map[features.Option]time.Time{}
	}
	if r.at[provider] == nil {
		r.at[provider] = map[features.Option]time.Time{}
	}
	r.at[provider][option] = time.Now()
}

// Of returns the options that a provider has refused within the last hour, sorted.
func (r *Refusals) Of(provider string) []features.Option {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.at[provider], func(_ features.Option, at time.Time) bool { return time.Since(at) >= refusalAge })

	return slices.Sorted(maps.Keys(r.at[provider]))
}
