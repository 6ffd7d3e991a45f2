package octavia

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// maxReads is how many parts of one load balancer are read at the same time: other Services
// read, too.
const maxReads = 4

// errChanged means that parts that were read one after the other do not fit together. It is
// an ErrConflict: nothing was seen to be missing.
var errChanged = apierr.Mark(apierr.ErrConflict, errors.New("the load balancer was changed while it was read"))

// Reader makes the calls to Octavia that read the parts of one load balancer.
type Reader interface {
	ListenersByLoadBalancer(ctx context.Context, lb string) ([]*client.Listener, error)
	PoolsByLoadBalancer(ctx context.Context, lb string) ([]*client.Pool, error)
	ListMembers(ctx context.Context, pool string) ([]*client.Member, error)
	GetHealthMonitor(ctx context.Context, id string) (*client.HealthMonitor, error)
}

var _ Reader = (*client.LoadBalancerService)(nil)

// Own reports whether a part of a load balancer can belong to the Service, by its name and
// tags. Parts that are to be renamed are among them.
type Own func(kind request.Part, name string, tags []string) bool

// Read reads the parts of a load balancer. It makes two calls, and one or two for each pool
// that can be of the Service: one that has such a name or tag, or that is the default pool
// of a listener that has. All other pools are [Pool.Unread].
//
// A failed call is an error, and never a part that is missing. The error is an ErrConflict,
// and never an ErrNotFound, if a part was deleted meanwhile.
func Read(ctx context.Context, api Reader, lb *client.LoadBalancerInfo, own Own) (*Observed, error) {
	o := &Observed{LoadBalancer: lb, At: time.Now(), Pools: map[string]*Pool{}}
	listeners, err := api.ListenersByLoadBalancer(ctx, lb.ID)
	if err != nil {
		return nil, fmt.Errorf("read load balancer %s: %w", lb.ID, err)
	}
	pools, err := api.PoolsByLoadBalancer(ctx, lb.ID)
	if err != nil {
		return nil, fmt.Errorf("read load balancer %s: %w", lb.ID, err)
	}
	o.Listeners = SortListeners(listeners)
	for _, p := range pools {
		if !p.Provisioning.IsDeleted() {
			o.Pools[p.ID] = &Pool{Pool: *p, Unread: !own(request.PartPool, p.Name, p.Tags)}
		}
	}
	for _, l := range o.Listeners {
		if l.DefaultPoolID == "" || !own(request.PartListener, l.Name, l.Tags) {
			continue
		}
		p := o.Pools[l.DefaultPoolID]
		if p == nil {
			return nil, fmt.Errorf("pool %s of listener %s: %w", l.DefaultPoolID, l.ID, errChanged)
		}
		p.Unread = false
	}
	if err := o.readPools(ctx, api); err != nil {
		return nil, fmt.Errorf("read load balancer %s: %w", lb.ID, err)
	}

	return o, nil
}

// SortListeners returns the listeners that are not deleted, by port and protocol.
func SortListeners(all []*client.Listener) []*client.Listener {
	all = slices.DeleteFunc(slices.Clone(all), func(l *client.Listener) bool { return l.Provisioning.IsDeleted() })
	slices.SortFunc(all, func(a, b *client.Listener) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.ID, b.ID))
	})

	return all
}

// readPools reads the members and monitors of pools.
func (o *Observed) readPools(ctx context.Context, api Reader) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxReads)
	for _, p := range o.Pools {
		if p.Unread {
			continue
		}
		group.Go(func() (err error) {
			p.Members, err = ReadMembers(ctx, api, p.ID)

			return err
		})
		if p.MonitorID == "" {
			continue
		}
		group.Go(func() (err error) {
			p.Monitor, err = readMonitor(ctx, api, p.MonitorID)

			return err
		})
	}

	return group.Wait()
}

// readMonitor reads a health monitor that a pool has.
func readMonitor(ctx context.Context, api Reader, id string) (*client.HealthMonitor, error) {
	found, err := api.GetHealthMonitor(ctx, id)
	switch {
	case errors.Is(err, apierr.ErrNotFound), err == nil && found.Provisioning.IsDeleted():
		return nil, fmt.Errorf("health monitor %s: %w", id, errChanged)
	case err != nil:
		return nil, fmt.Errorf("read health monitor %s: %w", id, err)
	}

	return found, nil
}

// ReadMembers reads the members of a pool, sorted by address and port.
func ReadMembers(ctx context.Context, api interface {
	ListMembers(ctx context.Context, pool string) ([]*client.Member, error)
}, pool string,
) ([]Member, error) {
	found, err := api.ListMembers(ctx, pool)
	if err != nil {
		return nil, fmt.Errorf("read members of pool %s: %w", pool, err)
	}
	members := make([]Member, 0, len(found))
	for _, m := range found {
		if m.Provisioning.IsDeleted() {
			continue
		}
		member, err := NewMember(m)
		if err != nil {
			return nil, fmt.Errorf("read members of pool %s: %w", pool, err)
		}
		members = append(members, member)
	}
	SortMembers(members)

	return members, nil
}

// NewMember returns a member of a list.
func NewMember(m *client.Member) (Member, error) {
	addr, err := netip.ParseAddr(m.Address)
	if err != nil {
		return Member{}, apierr.Mark(apierr.ErrUnavailable, fmt.Errorf("address of %s: %w", m.ID, err))
	}
	member := Member{ID: m.ID, Name: m.Name, Address: addr, Port: int32(m.Port), Full: m}
	if m.MonitorPort != nil {
		member.MonitorPort = int32(*m.MonitorPort)
	}

	return member, nil
}

// SortMembers sorts members by address and port.
func SortMembers(members []Member) {
	slices.SortFunc(members, func(a, b Member) int {
		return cmp.Or(a.Address.Compare(b.Address), cmp.Compare(a.Port, b.Port), cmp.Compare(a.ID, b.ID))
	})
}
