package snapshot

import (
	"cmp"
	"context"
	"maps"
	"time"

	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/batch"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/cache"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
)

// API reads objects from the cloud. They are shared once returned, and no caller may
// change them.
type API[V any] struct {
	// List returns all objects. If it fails, it returns those that came before,
	// along with the error. It should bound each of its calls.
	List func(ctx context.Context) ([]*V, error)
	// Get returns the objects with these keys, at most Options.MaxKeys. It leaves
	// out those that do not exist.
	Get func(ctx context.Context, keys []string) ([]*V, error)
	// GetByAlias returns the objects with these aliases, at most
	// Options.MaxAliases. It may return others as well.
	GetByAlias func(ctx context.Context, aliases []string) ([]*V, error)
	// Key returns the key of an object, which no other one has.
	Key func(*V) string
	// Alias returns the alias of an object, which several may share, such as its
	// name. It is empty for an object without.
	Alias func(*V) string
}

// Options bounds the age of results and the size of calls.
type Options struct {
	// MaxAge is the age at which an object is read again; MissingAge is the age
	// at which one that is missing is.
	MaxAge, MissingAge time.Duration
	// Window is how long a first query waits for others.
	Window time.Duration
	// Timeout bounds all calls for one query, and a list; 0 means batch.DefaultTimeout.
	Timeout time.Duration
	// ListWait is how long after the beginning of a list queries wait for it; 0 means
	// DefaultListWait.
	ListWait time.Duration
	// MaxKeys and MaxAliases are how many of them one call takes; 0 means 1.
	MaxKeys, MaxAliases int
	// Clock is that of the ages; by default it is the real one.
	Clock clock.PassiveClock
	// Metrics counts queries and lists, unless it is nil.
	Metrics *metrics.Snapshot
	// ListFailed is called for a list that failed, with how many objects had come. It
	// may be nil.
	ListFailed func(ctx context.Context, listed int, err error)
}

func (o Options) withDefaults() Options {
	o.Timeout = cmp.Or(o.Timeout, batch.DefaultTimeout)
	o.ListWait = cmp.Or(o.ListWait, DefaultListWait)
	o.MaxKeys = cmp.Or(o.MaxKeys, 1)
	o.MaxAliases = cmp.Or(o.MaxAliases, 1)
	o.Clock = cmp.Or[clock.PassiveClock](o.Clock, clock.RealClock{})
	if o.ListFailed == nil {
		o.ListFailed = func(context.Context, int, error) {}
	}

	return o
}

// Snapshot serves queries about the objects of an API. It is safe for concurrent
// use.
type Snapshot[V any] struct {
	api     API[V]
	options Options
	store   *store[V]
	lister  lister
	// serial runs the calls for sets of objects, many of which are often the same.
	serial  *serial
	keys    *batch.Batcher[string, *V]
	aliases *batch.Batcher[string, []*V]
}

// New returns a Snapshot that has not read anything yet.
func New[V any](api API[V], options Options) *Snapshot[V] {
	options = options.withDefaults()
	s := &Snapshot[V]{
		api:     api,
		options: options,
		store:   newStore(api.Key, api.Alias, options.MaxAge, options.MissingAge),
		serial:  newSerial(options.Timeout),
		lister:  lister{burst: burst{span: options.MaxAge, largest: options.MaxKeys}},
	}
	s.keys = batch.New(batched(s.get), s.gather(options.MaxKeys))
	s.aliases = batch.New(batched(s.getByAlias), s.gather(options.MaxAliases))

	return s
}

// gather returns how single queries are gathered, if a call takes so many of them.
// As many as make a burst are worth waiting for in any case.
func (s *Snapshot[V]) gather(largest int) batch.Options {
	return batch.Options{Window: s.options.Window, MaxSize: max(largest, few+1), Timeout: s.options.Timeout}
}

// batched returns read for single queries that came at about the same time.
func batched[T any](read func(context.Context, []string) (map[string]T, error)) batch.Func[string, T] {
	return func(ctx context.Context, keys []string) (map[string]batch.Result[T], error) {
		found, err := read(ctx, keys)
		results := make(map[string]batch.Result[T], len(found))
		for key, value := range found {
			results[key] = batch.Result[T]{Value: value}
		}

		return results, err
	}
}

// Find returns the object with a key, nil if it is missing.
func (s *Snapshot[V]) Find(ctx context.Context, key string) (*V, error) {
	if found, known := s.store.find(key, s.now()); known {
		s.count(cache.Hit, 1)

		return found, nil
	}

	return s.keys.Get(ctx, key)
}

// FindByAlias returns the objects with an alias, none if they are missing.
func (s *Snapshot[V]) FindByAlias(ctx context.Context, alias string) ([]*V, error) {
	if found, known := s.store.findByAlias(alias, s.now()); known {
		s.count(cache.Hit, 1)

		return found, nil
	}

	return s.aliases.Get(ctx, alias)
}

// Get returns the objects with these keys. Those that are missing are left out.
func (s *Snapshot[V]) Get(ctx context.Context, keys []string) (map[string]*V, error) {
	known := newQuery(keys, s.now(), s.store.find)
	if known.take() == 0 {
		s.count(cache.Hit, len(keys))

		return existing(known.results), nil
	}

	return s.all(ctx, keys, s.get)
}

// Refresh reads the objects with these keys, whatever is known, and returns them
// like Get: for objects that are about to change.
func (s *Snapshot[V]) Refresh(ctx context.Context, keys []string) (map[string]*V, error) {
	if len(keys) == 0 {
		return map[string]*V{}, nil
	}

	return s.all(ctx, keys, s.refresh)
}

// all returns those of a set of objects that exist.
func (s *Snapshot[V]) all(ctx context.Context, keys []string, read func(context.Context, []string) (map[string]*V, error)) (map[string]*V, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	var found map[string]*V
	err := s.serial.do(ctx, func(ctx context.Context) (err error) {
		found, err = read(ctx, keys)

		return err
	})
	if err != nil {
		return nil, err
	}

	return existing(found), nil
}

// existing drops the keys of missing objects.
func existing[V any](found map[string]*V) map[string]*V {
	maps.DeleteFunc(found, func(_ string, one *V) bool { return one == nil })

	return found
}

// Confirm calls read for the object with a key, and stores the result: nil if there
// is certainly none. Unlike in other queries, nothing that is known counts.
func (s *Snapshot[V]) Confirm(ctx context.Context, key string, read func(context.Context) (*V, error)) (*V, error) {
	at := s.now()
	found, err := read(ctx)
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		s.store.put([]string{key}, nil, at, at)
	default:
		s.store.put(nil, []*V{found}, at, at)
	}

	return found, nil
}

// ConfirmByAlias calls read for the objects with an alias, and stores the result.
func (s *Snapshot[V]) ConfirmByAlias(ctx context.Context, alias string, read func(context.Context) ([]*V, error)) ([]*V, error) {
	at := s.now()
	found, err := read(ctx)
	if err != nil {
		return nil, err
	}
	s.store.putAlias(alias, found, at, at)

	return found, nil
}

// Peek returns all objects as they were last listed, in no order; none if that was
// longer ago than age, or the list failed. It makes no call.
func (s *Snapshot[V]) Peek(age time.Duration) []*V { return s.store.peek(s.now(), age) }

func (s *Snapshot[V]) now() time.Time { return s.options.Clock.Now() }

func (s *Snapshot[V]) count(outcome cache.Outcome, n int) {
	if s.options.Metrics == nil {
		return
	}
	for range n {
		s.options.Metrics.Observe(outcome)
	}
}
