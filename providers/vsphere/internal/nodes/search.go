package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/inventory"
)

// While the first inventory of a vCenter is being read, a Node is found in it as soon
// as it is complete. A Node that is not initialized yet is searched for by itself, with
// some calls, unless many do so: vCenter reports 100 objects in 100 to 300 ms.
const (
	// searchAfter is how long after the start no search is made: most inventories are
	// complete by then.
	searchAfter = time.Second
	// searchTimeout bounds a search.
	searchTimeout = 5 * time.Second
	// searchPeriod is how often a search is made, the first one at once.
	searchPeriod = 10 * time.Second
	// firstSyncGrace is how long after the start a miss waits for the inventory.
	firstSyncGrace = 5 * time.Second
)

// Lookup implements instance.Source from the change feeds. It makes no call, but where several VMs
// or Nodes have one UUID: those VMs are told apart by their addresses, which are read. Before the
// first inventory of a vCenter is read, it searches for some.
func (s *Source) Lookup(ctx context.Context, ref instance.Ref) instance.Result {
	vcenters, err := s.current()
	if err != nil {
		return instance.Failed(err)
	}
	result := s.search(ctx, vcenters, ref, (*VCenter).find)
	if _, err := result.Get(); err == nil || !slices.ContainsFunc(vcenters, (*VCenter).arrives) {
		return result
	}

	return s.search(ctx, vcenters, ref, func(vc *VCenter, q inventory.Query) ([]vm, error) { return s.findArriving(ctx, vc, ref, q) })
}

// findArriving looks VMs up in a vCenter whose first inventory may still be being read.
// Only what a search finds is certain then: another VM with the UUID of one that has
// been reported may follow.
func (s *Source) findArriving(ctx context.Context, vc *VCenter, ref instance.Ref, q inventory.Query) ([]vm, error) {
	began := s.started.Load().at
	vc.awaitInventory(ctx, began.Add(searchAfter))
	if vc.arrives() && len(q.UUIDs) > 0 && !s.initialized(ref.NodeName) && vc.searches.Allow() {
		ctx, cancel := context.WithTimeout(ctx, searchTimeout)
		defer cancel()
		found, err := vc.confirm(ctx, q)
		if len(found) > 0 {
			return found, nil
		}
		klog.FromContext(ctx).V(4).Info("VM of Node was not found before the inventory of vCenter is read", "node", ref.NodeName, "vCenter", vc.Name, "err", err)
	}
	vc.awaitInventory(ctx, began.Add(firstSyncGrace))

	return vc.find(q)
}

// Confirm implements instance.Source by querying every vCenter. A VM that none
// of them has must have been missing for a while.
func (s *Source) Confirm(ctx context.Context, ref instance.Ref) instance.Result {
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
	result := s.search(ctx, vcenters, ref, func(vc *VCenter, q inventory.Query) ([]vm, error) { return vc.confirm(ctx, q) })
	if result.IsAbsent() {
		return s.missing(vcenters, ref, queries)
	}

	return result
}

// lookupFunc queries one vCenter.
type lookupFunc func(*VCenter, inventory.Query) ([]vm, error)

// search runs the queries of a Ref on all vCenters, in order of certainty,
// until one has a result:
//
//	found                                the VM that choose picks, or an error
//	found nowhere, a vCenter has failed  its error
//	found nowhere                        the next query; absent after the last
func (s *Source) search(ctx context.Context, vcenters []*VCenter, ref instance.Ref, lookup lookupFunc) instance.Result {
	queries, err := queriesOf(ref)
	if err != nil {
		return instance.Failed(err)
	}
	for _, q := range queries {
		n := s.identity(ctx, ref, q)
		r := s.machines(ctx, vcenters, q, n, lookup)
		err := r.err()
		switch {
		case len(r.found) > 0:
			s.assigned.found(keysOf(ref, queries))

			return s.choose(r, ref, q, n)
		case errors.Is(err, inventory.ErrUnreadableVM):
			return instance.Failed(instance.WithReason(instance.ReasonInstanceNotFound, err))
		case err != nil:
			return instance.Failed(s.blocked(r, n, err))
		}
	}

	return instance.Absent()
}

// blocked returns the error of vCenters that could not be searched. If the vCenter of
// the Node no longer has its VM, only they keep the Node from being deleted: the error
// then has a reason.
func (s *Source) blocked(r response, n identity, err error) error {
	home := cmp.Or(n.label, n.assigned.at.vcenter)
	silent := lists.Map(r.failed, func(f failure) string { return f.vcenter.Name })
	at := slices.IndexFunc(r.responded, func(vc *VCenter) bool { return vc.id() == home })
	if at < 0 || slices.ContainsFunc(r.failed, func(f failure) bool { return f.vcenter.id() == home }) {
		return err
	}

	return fmt.Errorf("%w: %w", instance.WithReason(reasonVCenterUnavailable, fmt.Errorf(
		"the VM is missing in vCenter %s. The Node is kept, since vCenter %s cannot be searched and the VM may have been migrated to it: "+
			"delete the Node if its machine is gone, or set retired = true for a vCenter that is no longer used",
		r.responded[at].Name, strings.Join(silent, ", "))), err)
}

// response is the result of one query to all vCenters.
type response struct {
	found []vm
	// responded are the vCenters that reported all VMs that they have; failed are
	// those that could not, but for retired ones, which need not.
	responded []*VCenter
	failed    []failure
}

// failure is why a vCenter could not report whether it has a VM.
type failure struct {
	vcenter *VCenter
	err     error
}

// err joins the errors of the vCenters.
func (r response) err() error {
	return errors.Join(lists.Map(r.failed, func(f failure) error { return f.err })...)
}

// doubt is why another VM than the found ones may fit the query, or nil: a vCenter
// does not respond, or has not been read completely. A VM that cannot be read is no
// reason to doubt the others, neither in one vCenter nor in two.
func (r response) doubt() error {
	r.failed = lists.Filter(r.failed, func(f failure) bool { return !errors.Is(f.err, inventory.ErrUnreadableVM) })

	return r.err()
}

// machines looks up the VMs that can be that of a Node, each once.
func (s *Source) machines(ctx context.Context, vcenters []*VCenter, q inventory.Query, n identity, lookup lookupFunc) response {
	all := queryAll(vcenters, q, lookup)
	found := s.merge(ctx, all.found)
	all.found = n.machines(found)
	if len(all.found) > 0 || len(found) == 0 {
		return all
	}
	// Only VMs of others are left. They must not hide what makes the absence uncertain.
	others := queryAll(vcenters, q, func(vc *VCenter, q inventory.Query) ([]vm, error) {
		for _, v := range found {
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
// alone can return. A retired one is not waited for: what it has is found in its
// inventory, as long as that is current.
func queryAll(vcenters []*VCenter, q inventory.Query, lookup lookupFunc) response {
	found := make([][]vm, len(vcenters))
	errs := make([]error, len(vcenters))
	var all sync.WaitGroup
	for i, vc := range vcenters {
		switch {
		case !vc.Retired:
			all.Go(func() { found[i], errs[i] = lookup(vc, q) })
		case vc.Inventory.Current() == nil:
			found[i], _ = vc.find(q) // it need not be certain
		}
	}
	all.Wait()
	r := response{found: slices.Concat(found...)}
	for i, vc := range vcenters {
		switch {
		case errs[i] != nil:
			r.failed = append(r.failed, failure{vc, errs[i]})
		case !vc.Retired:
			r.responded = append(r.responded, vc)
		}
	}

	return r
}
