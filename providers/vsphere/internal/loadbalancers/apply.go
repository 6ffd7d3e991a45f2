package loadbalancers

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nsx"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/policy"
)

const (
	// interval is the time between two looks at something that changes by itself, and
	// realizationLimit how long an operation waits for a realized state. The next one goes on.
	interval         = time.Second
	realizationLimit = 15 * time.Second
)

var (
	// errPending means that NSX-T has not realized something yet.
	errPending = apierr.Mark(apierr.ErrUnavailable, errors.New("not realized yet"))
	// errUnrealized means that NSX-T cannot realize something as it is.
	errUnrealized = errors.New("NSX-T cannot realize it")
)

// env is what steps are applied with.
type env struct {
	*LoadBalancers

	o *observed
	// addresses are those that allocations have led to, by family.
	addresses map[address.Family]netip.Addr
	// created are the paths of the virtual servers that were created.
	created []string
}

// create creates an object.
func (e *env) create(ctx context.Context, path string, fields policy.Fields) error {
	object, err := nsx.NewObject(fields)
	if err != nil {
		return err
	}
	if err := e.put(ctx, path, object); err != nil {
		return err
	}
	if policy.KindOf(path) == policy.VirtualServers {
		e.created = append(e.created, path)
	}

	return nil
}

// change writes an object as it was read, with some fields changed and others removed.
func (e *env) change(ctx context.Context, o *policy.Object, set map[string]any, remove []string) error {
	object, err := o.Raw.With(set)
	if err != nil {
		return err
	}
	for _, field := range remove {
		delete(object, field)
	}

	return explain(e.put(ctx, o.Path, object), o)
}

// explain adds who has created an object to the error of a write that is denied: objects of a
// principal identity are closed to other accounts.
func explain(err error, o *policy.Object) error {
	if errors.Is(err, apierr.ErrDenied) && o.CreateUser != "" {
		return fmt.Errorf("%w (created by %s, protection %s)", err, o.CreateUser, o.Protection)
	}

	return err
}

func (e *env) put(ctx context.Context, path string, object nsx.Object) error {
	written, err := e.api.Put(ctx, path, object)
	if err != nil {
		return err
	}
	o, err := policy.Read(path, written)
	if err != nil {
		return err
	}
	e.o.store(path, o)
	e.snapshot.store(path, o)

	return nil
}

// remove deletes an object.
func (e *env) remove(ctx context.Context, o *policy.Object) error {
	if err := e.api.Delete(ctx, o.Path); err != nil {
		return explain(err, o)
	}
	if o.Kind == policy.VirtualServers {
		e.o.deleted = append(e.o.deleted, o.Path)
	}
	e.o.store(o.Path, nil)
	e.snapshot.store(o.Path, nil)

	return nil
}

// removeLBService deletes the LBService of the cluster, which stays if another Service uses it, is
// about to, or does without being known.
func (e *env) removeLBService(ctx context.Context, path string) error {
	if e.ensuring.Load() > 0 || e.snapshot.isShared(e.o) {
		return nil
	}
	if err := e.read(ctx, e.o, []string{path}); err != nil || e.o.lbServices[path] == nil {
		return err
	}
	err := e.config.Tuning.Wait.Poll(ctx, interval, realizationLimit, func() (bool, error) {
		err := e.remove(ctx, e.o.lbServices[path])

		return !errors.Is(err, nsx.ErrInUse), err
	})
	if errors.Is(err, nsx.ErrInUse) {
		return nil
	}
	e.realized.Delete(path)

	return err
}

// confirmGone returns an error if a virtual server that was deleted still exists: its address
// must not be released.
func (e *env) confirmGone(ctx context.Context) error {
	for _, path := range e.o.deleted {
		_, err := e.api.Get(ctx, path)
		switch {
		case err == nil:
			return apierr.Mark(apierr.ErrConflict, fmt.Errorf("virtual server %s still exists", path))
		case !errors.Is(err, apierr.ErrNotFound):
			return err
		}
	}

	return nil
}

// awaitAddress waits until an allocation has its address. One that failed is deleted, since
// it cannot be changed; nothing has its address.
func (e *env) awaitAddress(ctx context.Context, a wantedAddress) error {
	err := e.config.Tuning.Wait.Poll(ctx, interval, realizationLimit, func() (bool, error) {
		now, err := e.api.Realization(ctx, a.allocation)
		switch {
		case err != nil:
			return false, err
		case now.State == nsx.Failed:
			return true, fmt.Errorf("%w: %s", errUnrealized, now.Reason)
		}
		for _, value := range now.Attributes["allocation_ip"] {
			if ip, err := netip.ParseAddr(value); err == nil && now.State == nsx.Realized {
				e.addresses[a.family] = ip

				return true, nil
			}
		}

		return false, errPending
	})
	if !errors.Is(err, errUnrealized) {
		return err
	}
	o := e.o.objects[a.allocation]
	if o == nil {
		return err
	}

	return errors.Join(err, e.remove(ctx, o))
}

// address returns an address, which a step may have waited for.
func (e *env) address(a wantedAddress) (netip.Addr, error) {
	if a.ip.IsValid() {
		return a.ip, nil
	}
	if ip, ok := e.addresses[a.family]; ok {
		return ip, nil
	}

	return netip.Addr{}, fmt.Errorf("the %s: %w", a.key(), errPending)
}

// waitRealized waits until virtual servers and their LBService are realized.
func (l *LoadBalancers) waitRealized(ctx context.Context, lbService string, servers []string) error {
	pending := servers
	if _, known := l.realized.Load(lbService); !known {
		pending = append([]string{lbService}, servers...)
	}
	err := l.config.Tuning.Wait.Poll(ctx, interval, realizationLimit, func() (bool, error) {
		for ; len(pending) > 0; pending = pending[1:] {
			now, err := l.api.Realization(ctx, pending[0])
			switch {
			case err != nil:
				return false, err
			case now.State == nsx.Failed:
				return true, fmt.Errorf("%s: %w: %s", pending[0], errUnrealized, now.Reason)
			case now.State == nsx.Pending:
				return false, fmt.Errorf("%s: %w", pending[0], errPending)
			}
		}

		return true, nil
	})
	if err == nil {
		l.realized.Store(lbService, nil)
	}

	return err
}
