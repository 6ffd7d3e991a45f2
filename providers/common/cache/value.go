package cache

import (
	"context"
	"errors"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// Value keeps a single result, such as the list of all servers, with the
// promises of [Cache].
type Value[T any] struct {
	cache *Cache[struct{}, T]
}

// NewValue returns a Value of what fetch returns. Options.Size has no meaning.
func NewValue[T any](fetch func(context.Context) (T, error), opts Options) *Value[T] {
	opts.Size = 1

	return &Value[T]{cache: New(func(ctx context.Context, _ struct{}) (T, error) { return fetch(ctx) }, opts)}
}

// Get returns the value, younger than the TTL.
func (v *Value[T]) Get(ctx context.Context) (T, error) {
	return v.cache.Get(ctx, struct{}{})
}

// GetWithin returns the value, younger than maxAge and the TTL. With a maxAge of 0
// it is fetched for this very call.
func (v *Value[T]) GetWithin(ctx context.Context, maxAge time.Duration) (T, error) {
	return v.cache.GetWithin(ctx, struct{}{}, maxAge)
}

// Peek returns the last value and the moment its fetch began, however old it is:
// the caller must check its age. It makes no call.
func (v *Value[T]) Peek() (value T, at time.Time, ok bool) {
	return v.cache.Peek(struct{}{})
}

// ErrLate means that a fetch is still under way.
var ErrLate = apierr.Mark(apierr.ErrUnavailable, errors.New("it is not complete yet"))

// GetSoon is Get for a value that is [Options.Detached] and of which callers can do without: it waits for a
// fetch only until that has taken as long as wait, whichever caller began it. The error is [ErrLate] then.
func (v *Value[T]) GetSoon(ctx context.Context, wait time.Duration) (T, error) {
	if began, running := v.cache.began(struct{}{}); running {
		wait -= v.cache.opts.Clock.Since(began)
	}
	if wait <= 0 {
		var none T

		return none, ErrLate
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	value, err := v.Get(waiting)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return value, ErrLate
	}

	return value, err
}

// Forget drops the value: the next caller fetches it.
func (v *Value[T]) Forget() {
	v.cache.Forget(struct{}{})
}

// Close cancels the fetch under way.
func (v *Value[T]) Close() { v.cache.Close() }
