package session

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// reader is what a Secret and a directory have in common: it reads keys and
// values from somewhere, and of each server it keeps the newest credentials that
// were whole. Nothing is ever forgotten, so that a Secret that is deleted or
// broken does not end what works.
type reader struct {
	name string
	load func(context.Context) (map[string][]byte, error)

	mu       sync.Mutex
	turns    int // readings that were started
	applied  int // the newest reading that counted
	known    map[string]Credentials
	problem  error // of the newest reading
	watchers []func(context.Context)
}

// String says where the credentials come from.
func (r *reader) String() string { return r.name }

// Lookup returns the newest whole credentials of a server, and reads them first
// if nothing was ever read.
func (r *reader) Lookup(ctx context.Context, server string) (Credentials, error) {
	if !r.wasRead() {
		if err := r.Refresh(ctx); err != nil {
			return Credentials{}, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()

	if credentials, ok := r.known[server]; ok {
		return credentials, nil
	}
	if r.problem != nil {
		return Credentials{}, apierr.Mark(apierr.ErrDenied, fmt.Errorf("%s: %w", r.name, r.problem))
	}

	return Credentials{}, apierr.Mark(apierr.ErrDenied, fmt.Errorf("%s: %w for server %q", r.name, ErrNotFound, server))
}

// Refresh reads now.
func (r *reader) Refresh(ctx context.Context) error {
	turn := r.begin()
	data, err := r.load(ctx)
	if err != nil {
		return apierr.Mark(apierr.ErrUnavailable, fmt.Errorf("read %s: %w", r.name, err))
	}
	r.take(ctx, turn, data)

	return nil
}

// Subscribe has fn called after each change.
func (r *reader) Subscribe(fn func(context.Context)) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.watchers = append(r.watchers, fn)
}

func (r *reader) wasRead() bool {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.applied > 0
}

// begin numbers a reading, so that an older one never replaces a newer one.
func (r *reader) begin() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turns++

	return r.turns
}

// take puts what a reading found in place, and tells those who want to know.
func (r *reader) take(ctx context.Context, turn int, data map[string][]byte) {
	found, problem := Parse(data)

	r.mu.Lock()
	if turn < r.applied {
		r.mu.Unlock()
		return
	}
	r.applied = turn
	news := fmt.Sprint(problem) != fmt.Sprint(r.problem)
	r.problem = problem
	known := maps.Clone(r.known)
	if known == nil {
		known = map[string]Credentials{}
	}
	maps.Copy(known, found)
	changed := !maps.Equal(known, r.known)
	r.known = known
	watchers := r.watchers
	r.mu.Unlock()

	logger := klog.FromContext(ctx)
	if problem != nil && news {
		logger.Error(problem, "Not all credentials can be used; what was known stays", "source", r.name)
	}
	if !changed {
		return
	}
	logger.V(2).Info("Read credentials", "source", r.name, "servers", len(known))
	for _, fn := range watchers {
		fn(ctx)
	}
}
