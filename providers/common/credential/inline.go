package credential

import (
	"context"
	"sync"
)

// Replaceable is the source of credentials in the cloud-config, which those of a later one can
// replace. They are those of every name.
type Replaceable[C comparable] struct {
	mu          sync.Mutex
	credentials C
	err         error
	// offered are other credentials, nil if there are none.
	offered *C
	changed []func(context.Context)
}

// Inline returns the source of credentials in the cloud-config itself. Lookup returns err if they
// cannot be used.
func Inline[C comparable](credentials C, err error) *Replaceable[C] {
	return &Replaceable[C]{credentials: credentials, err: err}
}

// Replace replaces the credentials with those of a cloud-config that was proven.
func (r *Replaceable[C]) Replace(ctx context.Context, credentials C) {
	r.mu.Lock()
	differ := r.credentials != credentials
	r.credentials, r.err, r.offered = credentials, nil, nil
	subscribers := r.changed
	r.mu.Unlock()
	if !differ {
		return
	}
	for _, changed := range subscribers {
		changed(ctx)
	}
}

// Offer stores the credentials of a cloud-config that is not proven. They are tried when the cloud
// refuses the others, which are tried again when it refuses these.
func (r *Replaceable[C]) Offer(credentials C) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.credentials != credentials {
		r.offered = &credentials
	}
}

// Lookup implements [Source].
func (r *Replaceable[C]) Lookup(context.Context, string) (C, error) {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.credentials, r.err
}

// Refresh implements [Source]: after a refusal, the other credentials are used, if there are some.
func (r *Replaceable[C]) Refresh(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.offered != nil {
		r.credentials, *r.offered = *r.offered, r.credentials
		r.err = nil
	}

	return nil
}

// Subscribe implements [Source].
func (r *Replaceable[C]) Subscribe(changed func(context.Context)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed = append(r.changed, changed)
}

// String implements [Source].
func (*Replaceable[C]) String() string { return "cloud-config" }
