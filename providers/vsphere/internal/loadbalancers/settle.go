package loadbalancers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nsx"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/policy"
)

// maxRounds is how often an operation plans again: what is deleted is in use some seconds
// longer.
const maxRounds = 30

// settle plans and applies until nothing is left to do. It returns what was wanted in the
// end, and the paths of the virtual servers that it has created.
func (l *LoadBalancers) settle(ctx context.Context, in input, o *observed) (*desired, []string, error) {
	e := &env{LoadBalancers: l, o: o, addresses: map[address.Family]netip.Addr{}}
	for round := 0; ; round++ {
		d, steps, err := l.plan(ctx, in, o)
		if err != nil || len(steps) == 0 {
			return d, e.created, err
		}
		if in.request != nil {
			if err := l.checkLBService(ctx, o, d); err != nil {
				return d, e.created, err
			}
		}
		err = service.Apply(ctx, in.operation, steps, e, l.config.Step)
		if err == nil {
			return d, e.created, nil
		}
		if err := l.afterRefusal(ctx, o, err, round); err != nil {
			return d, e.created, err
		}
	}
}

// plan returns what is wanted, and the plan for it once all is read that it depends on.
func (l *LoadBalancers) plan(ctx context.Context, in input, o *observed) (*desired, steps, error) {
	for {
		d := build(in, o)
		planned := diff(in, o, d)
		if len(d.unread) == 0 {
			return d, planned, nil
		}
		if err := l.read(ctx, o, d.unread); err != nil {
			return d, nil, err
		}
	}
}

// read reads objects by their paths.
func (l *LoadBalancers) read(ctx context.Context, o *observed, paths []string) error {
	for _, path := range paths {
		raw, err := l.api.Get(ctx, path)
		var object *policy.Object
		switch {
		case err == nil:
			if object, err = policy.Read(path, raw); err != nil {
				return err
			}
		case policy.KindOf(path) == policy.Groups && errors.Is(err, apierr.ErrDenied) && !errors.Is(err, nsx.ErrLogin):
			// Without the right to read groups there are none.
		case !errors.Is(err, apierr.ErrNotFound):
			return err
		}
		o.store(path, object)
		l.snapshot.store(path, object)
	}

	return nil
}

// afterRefusal reads what the manager refused to write, or waits for what it is still deleting. It
// returns an error if planning again would not help.
func (l *LoadBalancers) afterRefusal(ctx context.Context, o *observed, failure error, round int) error {
	e, ok := errors.AsType[*nsx.Error](failure)
	switch {
	case !ok || round == maxRounds:
		return failure
	case errors.Is(failure, nsx.ErrDeleting), errors.Is(failure, nsx.ErrInUse):
		select {
		case <-time.After(cmp.Or(l.config.Tuning.Wait.Interval, interval)):
		case <-ctx.Done():
			return errors.Join(failure, context.Cause(ctx))
		}
	case !errors.Is(failure, nsx.ErrStale) && !errors.Is(failure, nsx.ErrExists):
		return failure
	}
	if err := l.read(ctx, o, []string{e.Path}); err != nil {
		return errors.Join(failure, err)
	}
	if o.others[e.Path] {
		return fmt.Errorf("%s exists and is not of this Service: %w", e.Path, failure)
	}

	return nil
}
