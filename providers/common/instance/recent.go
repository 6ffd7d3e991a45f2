package instance

import (
	"sync"
	"time"

	"k8s.io/utils/lru"
)

// recent remembers keys until a moment each, at most a fixed number of them:
// of too many it forgets those that were not touched for longest. Forgetting
// early is harmless to all its users: something is asked or said once more.
type recent[K comparable] struct {
	mu    sync.Mutex
	until *lru.Cache
}

// newRecent makes a memory of at most size keys.
func newRecent[K comparable](size int) *recent[K] {
	return &recent[K]{until: lru.New(size)}
}

// claim remembers the key until the given moment and answers true, or answers
// false if it is remembered still. Of several callers at once one gets it.
func (r *recent[K]) claim(key K, now, until time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.until.Get(key); ok && now.Before(known.(time.Time)) {
		return false
	}
	r.until.Add(key, until)

	return true
}

// holds reports whether the key is remembered still.
func (r *recent[K]) holds(key K, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.until.Get(key)

	return ok && now.Before(known.(time.Time))
}
