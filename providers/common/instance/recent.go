package instance

import (
	"sync"
	"time"

	"k8s.io/utils/lru"
)

// recent stores keys until a moment each, at most a fixed number of them: the
// least recently used are evicted first. Evicting early is harmless to all its
// users: something is looked up or logged once more.
type recent[K comparable] struct {
	mu    sync.Mutex
	until *lru.Cache
}

// newRecent returns a store of at most size keys.
func newRecent[K comparable](size int) *recent[K] {
	return &recent[K]{until: lru.New(size)}
}

// claim stores the key until the given moment and returns true, or returns
// false if it is still stored. Of several callers at once one gets true.
func (r *recent[K]) claim(key K, now, until time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.until.Get(key); ok && now.Before(known.(time.Time)) {
		return false
	}
	r.until.Add(key, until)

	return true
}

// holds reports whether the key is still stored.
func (r *recent[K]) holds(key K, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.until.Get(key)

	return ok && now.Before(known.(time.Time))
}
