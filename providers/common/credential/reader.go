package credential

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// reader is the part of a Source that Secrets and files share: it keeps the newest
// complete credentials of each name, and forgets none, so that a source that is
// deleted or incomplete does not end what works.
type reader[C comparable] struct {
	source string
	read   func(context.Context) (map[string][]byte, error)
	parse  Parse[C]

	mu          sync.Mutex
	started     int // number of the newest read that was started
	applied     int // number of the newest read whose result is in use
	credentials map[string]C
	problem     error // of the newest read
	subscribers []func(context.Context)
}

// String implements [Source].
func (r *reader[C]) String() string { return r.source }

// Lookup implements [Source].
func (r *reader[C]) Lookup(ctx context.Context, name string) (C, error) {
	var none C
	if !r.wasRead() {
		if err := r.Refresh(ctx); err != nil && !r.has(name) {
			return none, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()

	if credentials, ok := r.credentials[name]; ok {
		return credentials, nil
	}
	if r.problem != nil {
		return none, apierr.Mark(apierr.ErrDenied, fmt.Errorf("%s: %w", r.source, r.problem))
	}

	return none, apierr.Mark(apierr.ErrDenied, fmt.Errorf("%s: %w of %q", r.source, ErrNotFound, name))
}

// Preset sets credentials that were read before, which stay in use until newer ones are
// complete. It must be called before everything else.
func (r *reader[C]) Preset(credentials map[string]C) { r.credentials = maps.Clone(credentials) }

func (r *reader[C]) has(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.credentials[name]

	return ok
}

// Refresh implements [Source].
func (r *reader[C]) Refresh(ctx context.Context) error {
	number := r.start()
	data, err := r.read(ctx)
	if err != nil {
		return apierr.Mark(apierr.ErrUnavailable, fmt.Errorf("read %s: %w", r.source, err))
	}
	r.apply(ctx, number, data)

	return nil
}

// Subscribe implements [Source].
func (r *reader[C]) Subscribe(changed func(context.Context)) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.subscribers = append(r.subscribers, changed)
}

func (r *reader[C]) wasRead() bool {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.applied > 0
}

// start numbers a read, so that an older one never replaces a newer one.
func (r *reader[C]) start() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started++

	return r.started
}

// apply stores the result of a read and calls the subscribers if it changed anything.
func (r *reader[C]) apply(ctx context.Context, number int, data map[string][]byte) {
	found, problem := r.parse(data)

	r.mu.Lock()
	if number < r.applied {
		r.mu.Unlock()

		return
	}
	r.applied = number
	isNew := fmt.Sprint(problem) != fmt.Sprint(r.problem)
	r.problem = problem
	credentials := map[string]C{}
	maps.Copy(credentials, r.credentials)
	maps.Copy(credentials, found)
	changed := !maps.Equal(credentials, r.credentials)
	r.credentials = credentials
	subscribers := r.subscribers
	r.mu.Unlock()

	logger := klog.FromContext(ctx)
	if problem != nil && isNew {
		logger.Error(problem, "Not all credentials can be used; what was known stays", "source", r.source)
	}
	if !changed {
		return
	}
	logger.V(2).Info("Read credentials", "source", r.source, "servers", len(credentials))
	for _, fn := range subscribers {
		fn(ctx)
	}
}
