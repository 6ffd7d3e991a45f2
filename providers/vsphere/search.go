package vsphere

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/inventory"
)

// firstSyncGrace is how long after the start a miss waits for vCenters that
// have not reported their inventory yet.
const firstSyncGrace = 5 * time.Second

// Lookup implements instance.Source from the change feeds, without any call.
func (s *source) Lookup(ctx context.Context, refs []instance.Ref) []instance.Result {
	results := make([]instance.Result, len(refs))
	for i, ref := range refs {
		results[i] = s.find(ctx, ref)
	}

	return results
}

func (s *source) find(ctx context.Context, ref instance.Ref) instance.Result {
	vcenters, err := s.current()
	if err != nil {
		return instance.Failed(err)
	}
	inMemory := func(vc *vcenter, q inventory.Query) ([]vm, error) { return vc.find(q) }
	result := s.search(ctx, vcenters, ref, inMemory)
	if _, err := result.Get(); err == nil || !s.awaitFirstSync(ctx, vcenters) {
		return result
	}

	return s.search(ctx, vcenters, ref, inMemory)
}

// awaitFirstSync waits, for a short time after the start, for inventories that
// are being read for the first time. It reports whether it waited: the result can
// be another one now.
func (s *source) awaitFirstSync(ctx context.Context, vcenters []*vcenter) bool {
	grace, cancel := context.WithDeadline(ctx, s.started.Load().at.Add(firstSyncGrace))
	defer cancel()
	waited := false
	for _, vc := range vcenters {
		status := vc.inventory.Status()
		if status.Synced || status.Err != nil || grace.Err() != nil {
			continue
		}
		waited = true
		_ = vc.inventory.WaitSynced(grace) // what is not synced then is an error in the result
	}

	return waited
}

// Confirm implements instance.Source by querying every vCenter. A VM that none
// of them has must have been missing for a while.
func (s *source) Confirm(ctx context.Context, ref instance.Ref) instance.Result {
	vcenters, err := s.current()
	if err != nil {
		return instance.Failed(err)
	}
	queries, err := queriesOf(ref)
	if err != nil {
		return instance.Failed(err)
	}
	if reason := s.tooEarly(vcenters, ref, queries); reason != nil && !errors.Is(reason, apierr.ErrUnavailable) {
		return instance.Missing(reason)
	}
	result := s.search(ctx, vcenters, ref, func(vc *vcenter, q inventory.Query) ([]vm, error) { return vc.confirm(ctx, q) })
	if result.IsAbsent() {
		return s.missing(vcenters, ref, queries)
	}

	return result
}

// lookupFunc queries one vCenter.
type lookupFunc func(*vcenter, inventory.Query) ([]vm, error)

// search runs the queries of a Ref on all vCenters, in order of certainty,
// until one has a result:
//
//	found                                the VM that choose picks, or an error
//	found nowhere, a vCenter has failed  its error
//	found nowhere                        the next query; absent after the last
func (s *source) search(ctx context.Context, vcenters []*vcenter, ref instance.Ref, lookup lookupFunc) instance.Result {
	queries, err := queriesOf(ref)
	if err != nil {
		return instance.Failed(err)
	}
	for _, q := range queries {
		r := s.machines(ctx, vcenters, q, lookup)
		err := errors.Join(r.errs...)
		switch {
		case len(r.found) > 0:
			s.assigned.found(queries)

			return s.choose(ctx, r, ref, q)
		case errors.Is(err, inventory.ErrUnreadableVM):
			return instance.Failed(instance.WithReason(instance.ReasonInstanceNotFound, err))
		case err != nil:
			return instance.Failed(err)
		}
	}

	return instance.Absent()
}

// response is the result of one query to all vCenters.
type response struct {
	found []vm
	// errs are those of the vCenters that could not report whether they have a
	// VM.
	errs []error
}

// doubt is why another VM than the found ones may fit the query, or nil: a vCenter
// does not respond, or has not been read completely. A VM that cannot be read is no
// reason to doubt the others, neither in one vCenter nor in two.
func (r response) doubt() error {
	return errors.Join(slices.DeleteFunc(slices.Clone(r.errs), func(err error) bool {
		return errors.Is(err, inventory.ErrUnreadableVM)
	})...)
}

// machines looks up the VMs that can be that of a query, each once.
func (s *source) machines(ctx context.Context, vcenters []*vcenter, q inventory.Query, lookup lookupFunc) response {
	all := queryAll(vcenters, q, lookup)
	all.found = s.merge(ctx, all.found)
	machines := s.assigned.get(q).machines(all.found)
	if len(machines) > 0 || len(all.found) == 0 {
		return response{found: machines, errs: all.errs}
	}
	// Only copies are left. They must not hide what makes the absence uncertain.
	others := queryAll(vcenters, q, func(vc *vcenter, q inventory.Query) ([]vm, error) {
		for _, v := range all.found {
			if v.vcenter.id() == vc.id() {
				q.Except = append(q.Except, v.Ref)
			}
		}

		return lookup(vc, q)
	})
	others.found = s.merge(ctx, others.found)

	return others
}

// queriesOf returns the queries that find a Ref's VM. The UUID that a guest reports
// can be in either byte order; the name counts only where the Node has no
// provider ID.
func queriesOf(ref instance.Ref) ([]inventory.Query, error) {
	if ref.ProviderID != "" {
		uuid, err := parseProviderID(ref.ProviderID)
		if err != nil {
			return nil, err
		}

		return []inventory.Query{{UUIDs: []string{uuid, swapUUID(uuid)}}}, nil
	}
	var list []inventory.Query
	if uuid := strings.ToLower(strings.TrimSpace(ref.SystemUUID)); uuid != "" {
		list = append(list, inventory.Query{UUIDs: []string{swapUUID(uuid), uuid}})
	}

	return append(list, inventory.Query{Names: []string{ref.NodeName}}), nil
}

// queryAll queries all vCenters at once, so that a slow one delays only what it
// alone can return.
func queryAll(vcenters []*vcenter, q inventory.Query, lookup lookupFunc) response {
	found := make([][]vm, len(vcenters))
	errs := make([]error, len(vcenters))
	var all sync.WaitGroup
	for i, vc := range vcenters {
		all.Go(func() { found[i], errs[i] = lookup(vc, q) })
	}
	all.Wait()
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })

	return response{found: slices.Concat(found...), errs: errs}
}
