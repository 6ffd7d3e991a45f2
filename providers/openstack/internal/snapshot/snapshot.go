package snapshot

import (
	"cmp"
	"context"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/cache"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/keylock"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/octavia"
)

// Defaults of [Options].
const (
	DefaultMaxAge   = 10 * time.Second
	DefaultSettle   = 30 * time.Second
	DefaultFullLook = time.Hour
	DefaultTimeout  = time.Minute
	DefaultWait     = 5 * time.Second
)

// Octavia makes the calls to Octavia.
type Octavia interface {
	ListLoadBalancers(ctx context.Context, q client.LoadBalancerQuery) ([]*client.LoadBalancerInfo, error)
	ListListeners(ctx context.Context) ([]*client.Listener, error)
	EachPool(ctx context.Context, fn func(*client.Pool)) error
	ListHealthMonitors(ctx context.Context) ([]*client.HealthMonitor, error)
	GetStatusTree(ctx context.Context, id string) (*client.StatusTree, error)
	ListMembers(ctx context.Context, pool string) ([]*client.Member, error)
}

// Network makes the calls to Neutron.
type Network interface {
	ListFloatingIPs(ctx context.Context) ([]*client.FloatingIP, error)
	ListSecurityGroups(ctx context.Context) ([]*client.SecurityGroup, error)
}

var (
	_ Octavia = (*client.LoadBalancerService)(nil)
	_ Network = (*client.NetworkService)(nil)
)

// API is what a Snapshot reads from.
type API struct {
	Octavia Octavia
	Network Network
}

// Options bound the age of what is returned. Zero fields have the defaults.
type Options struct {
	// MaxAge is the age at which a list is read again.
	MaxAge time.Duration
	// Settle is how long a load balancer is not returned after a write of this process.
	Settle time.Duration
	// FullLook is the age at which the members of a pool are read in full: others may have
	// changed their names and monitor ports.
	FullLook time.Duration
	// Timeout bounds a list with all its pages.
	Timeout time.Duration
	// Wait is how long a caller waits for a list, which goes on.
	Wait time.Duration
}

func (o Options) withDefaults() Options {
	return Options{
		MaxAge:   cmp.Or(o.MaxAge, DefaultMaxAge),
		Settle:   cmp.Or(o.Settle, DefaultSettle),
		FullLook: cmp.Or(o.FullLook, DefaultFullLook),
		Timeout:  cmp.Or(o.Timeout, DefaultTimeout),
		Wait:     cmp.Or(o.Wait, DefaultWait),
	}
}

// Snapshot has the shared lists of one project. It is safe for concurrent use. What it
// returns is shared, and must not be changed.
type Snapshot struct {
	api     API
	options Options

	balancers *cache.Value[*balancerList]
	parts     *cache.Value[*partList]
	addresses *cache.Value[*addressList]
	groups    *cache.Value[*groupList]

	// locks has callers for the same load balancer read its members once.
	locks   keylock.Set
	members members

	mu sync.Mutex
	// written has the time of the last write by the ID of the load balancer.
	written map[string]time.Time
}

// New makes no call.
func New(api API, options Options) *Snapshot {
	s := &Snapshot{api: api, options: options.withDefaults(), written: map[string]time.Time{}}
	s.members.fullLook = s.options.FullLook
	s.balancers = newList(s, s.listBalancers)
	s.parts = newList(s, s.listParts)
	s.addresses = newList(s, s.listAddresses)
	s.groups = newList(s, s.listGroups)

	return s
}

func newList[T any](s *Snapshot, fetch func(context.Context) (T, error)) *cache.Value[T] {
	return cache.NewValue(fetch, cache.Options{TTL: s.options.MaxAge, Timeout: s.options.Timeout, Detached: true})
}

// Close cancels the lists under way.
func (s *Snapshot) Close() {
	s.balancers.Close()
	s.parts.Close()
	s.addresses.Close()
	s.groups.Close()
}

// Observed returns a load balancer with its parts, and the floating IPs of its VIP port. It
// returns false if the load balancer must be read alone:
//
//   - It is not in the lists. Nothing is known about it then.
//   - It, or a part of it, is not ACTIVE.
//   - This process has just written it, or the lists do not fit together.
//
// The error is [cache.ErrLate] if a list takes longer than [Options.Wait].
//
// The monitor ports of members that are Partial are not known: if some are wanted, the
// load balancer must be read alone, too. [Snapshot.Keep] spares the next caller that.
func (s *Snapshot) Observed(ctx context.Context, lb string) (*octavia.Observed, []*client.FloatingIP, bool, error) {
	if s.wroteWithin(lb, s.options.Settle) {
		return nil, nil, false, nil
	}
	l, err := s.read(ctx)
	if err != nil {
		return nil, nil, false, err
	}
	if s.wroteSince(lb, l.begun()) {
		return nil, nil, false, nil
	}
	o := l.observed(lb)
	if o == nil {
		return nil, nil, false, nil
	}
	unlock, err := s.locks.Lock(ctx, lb)
	if err != nil {
		return nil, nil, false, err
	}
	defer unlock()
	ok, err := s.addMembers(ctx, o, l.parts)
	if err != nil || !ok || s.dropOld(o) {
		return nil, nil, false, err
	}

	return o, l.addresses.byPort[o.LoadBalancer.VIPPortID], true, nil
}

// read reads the lists that a load balancer is in.
func (s *Snapshot) read(ctx context.Context) (allLists, error) {
	var l allLists
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		l.balancers, err = s.balancers.GetSoon(ctx, s.options.Wait)

		return err
	})
	group.Go(func() (err error) {
		l.parts, err = s.parts.GetSoon(ctx, s.options.Wait)

		return err
	})
	group.Go(func() (err error) {
		l.addresses, err = s.addresses.GetSoon(ctx, s.options.Wait)

		return err
	})

	return l, group.Wait()
}

// Groups returns the security groups with a name. One that was created within
// [Options.MaxAge] may be missing: before one is created, they are listed by name.
func (s *Snapshot) Groups(ctx context.Context, name string) ([]*client.SecurityGroup, error) {
	list, err := s.groups.GetSoon(ctx, s.options.Wait)
	if err != nil {
		return nil, err
	}

	return list.byName[name], nil
}

// ExpireGroups has security groups listed again, after one was created or deleted.
func (s *Snapshot) ExpireGroups() { s.groups.Forget() }

// Wrote notes that this process changes a load balancer, a part of it or its floating IP
// now. It is called before the change, and again once it has ended.
func (s *Snapshot) Wrote(lb string) {
	s.mu.Lock()
	now := time.Now()
	// No list counts for longer, so that all of them began after such a write.
	old := s.options.Settle + s.options.MaxAge + 2*s.options.Timeout
	maps.DeleteFunc(s.written, func(_ string, at time.Time) bool { return now.Sub(at) > old })
	s.written[lb] = now
	s.mu.Unlock()
	s.members.drop(lb)
}

// Drop drops what is stored of a load balancer that was deleted.
func (s *Snapshot) Drop(lb string) { s.members.remove(lb) }

// Keep stores the members of a load balancer that was read alone, with their monitor ports.
func (s *Snapshot) Keep(o *octavia.Observed) {
	if o.Shared {
		return
	}
	for id, p := range o.Pools {
		if !p.Unread {
			s.members.put(o.LoadBalancer.ID, id, p.Members, true)
		}
	}
	s.dropOld(o)
}

// dropOld drops the members of a load balancer that was written while they were read, and
// reports whether it was.
func (s *Snapshot) dropOld(o *octavia.Observed) bool {
	old := s.wroteSince(o.LoadBalancer.ID, o.At)
	if old {
		s.members.drop(o.LoadBalancer.ID)
	}

	return old
}

// wroteSince reports whether this process has written a load balancer at a time or later.
func (s *Snapshot) wroteSince(lb string, at time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	written, ok := s.written[lb]

	return ok && !written.Before(at)
}

func (s *Snapshot) wroteWithin(lb string, age time.Duration) bool {
	return s.wroteSince(lb, time.Now().Add(-age))
}
