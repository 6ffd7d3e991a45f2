package credential

import (
	"context"
	"sync"
)

// InFile is the source of credentials in the cloud-config itself, which those of a later file can
// replace. Lookup ignores the name.
type InFile[C comparable] struct {
	mu          sync.Mutex
	credentials C
	err         error
	changed     []func(context.Context)
}

var _ Source[string] = (*InFile[string])(nil)

// NewInFile returns the source of credentials in the cloud-config. Lookup returns err if they
// cannot be used.
func NewInFile[C comparable](credentials C, err error) *InFile[C] {
	return &InFile[C]{credentials: credentials, err: err}
}

// Replace replaces the credentials with those of another cloud-config.
func (f *InFile[C]) Replace(ctx context.Context, credentials C) {
	f.mu.Lock()
	differ := f.credentials != credentials
	f.credentials, f.err = credentials, nil
	subscribers := f.changed
	f.mu.Unlock()
	if !differ {
		return
	}
	for _, changed := range subscribers {
		changed(ctx)
	}
}

// Lookup implements [Source].
func (f *InFile[C]) Lookup(context.Context, string) (C, error) {
	f.mu.Lock()
	defer f.mu.Unlock()

	return f.credentials, f.err
}

// Refresh implements [Source]. Only Replace changes the credentials.
func (*InFile[C]) Refresh(context.Context) error { return nil }

// Subscribe implements [Source].
func (f *InFile[C]) Subscribe(changed func(context.Context)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changed = append(f.changed, changed)
}

// String implements [Source].
func (*InFile[C]) String() string { return "cloud-config" }
