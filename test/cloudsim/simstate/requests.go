package simstate

import (
	"slices"
	"sync"
)

// requestLimit bounds the memory of Requests.
const requestLimit = 4096

// Requests keeps the latest requests that a cloud received. The zero value is ready to
// use, by several goroutines at once.
type Requests[R any] struct {
	mu     sync.Mutex
	latest []R
}

// Add appends a request.
func (r *Requests[R]) Add(request R) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.latest) == requestLimit {
		r.latest = slices.Delete(r.latest, 0, requestLimit/2)
	}
	r.latest = append(r.latest, request)
}

// Select returns the requests that match, oldest first.
func (r *Requests[R]) Select(match func(R) bool) []R {
	r.mu.Lock()
	defer r.mu.Unlock()
	var selected []R
	for _, request := range r.latest {
		if match(request) {
			selected = append(selected, request)
		}
	}

	return selected
}
