package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/vim25"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// Confirm looks a VM up in the vCenter itself, past the inventory. Like Find it
// returns all VMs that fit equally well.
//
// No VM and no error means that it is gone: every datacenter has been searched
// and knows none, every VM that once had one of the UUIDs is deleted, and Find
// would be certain too. Everything else is an error. What is found is certain also
// before the whole inventory has been read.
func (i *Inventory) Confirm(ctx context.Context, q Query) ([]*VM, error) {
	ctx, cancel := context.WithTimeout(ctx, i.cfg.CallTimeout)
	defer cancel()

	i.store.queried.note(q, i.cfg.Clock.Now())
	vms, err := i.query(ctx, q)
	if len(vms) == 0 && err == nil {
		err = i.stillFound(q)
	}
	if err != nil {
		return nil, unknown(fmt.Errorf("confirm VM %s in vCenter %s: %w", q, i.cfg.Name, err))
	}

	return vms, nil
}

// query searches the whole vCenter by each part of the query, until something that
// counts is found. One search without a datacenter serves however many of them are
// configured.
func (i *Inventory) query(ctx context.Context, q Query) ([]*VM, error) {
	incomplete := i.store.searchable()
	var failed []error
	for _, find := range searches(q) {
		found, err := i.search(ctx, find, q)
		if len(found) > 0 {
			return found, nil
		}
		failed = append(failed, err)
	}
	vms, err := i.readKnown(ctx, q)
	if len(vms) > 0 {
		return vms, nil
	}

	return nil, errors.Join(append(failed, err, incomplete)...)
}

// stillFound is an error unless Find is certain that there is no such VM.
func (i *Inventory) stillFound(q Query) error {
	vms, err := i.store.find(q)
	if len(vms) > 0 {
		return fmt.Errorf("VM %q (%s) has just left", vms[0].Name, vms[0].Ref.Value)
	}

	return cmp.Or(i.Current(), err)
}

// search returns the VMs that one search finds and that count. An error in what it
// finds is one of the search.
func (i *Inventory) search(ctx context.Context, find finder, q Query) ([]*VM, error) {
	var refs []Ref
	err := i.call(ctx, func(ctx context.Context, c *vim25.Client) error {
		var err error
		refs, err = find(ctx, c)

		return err
	})
	for k, r := range refs {
		refs[k] = ref(r) // only some responses have the GUID of the vCenter
	}
	refs = slices.DeleteFunc(refs, func(r Ref) bool { return slices.Contains(q.Except, r) })
	if err != nil || len(refs) == 0 {
		return nil, err
	}
	vms, err := i.read(ctx, refs)
	if err != nil {
		return nil, err
	}

	return i.store.counted(vms)
}

// readKnown reads the VMs that the inventory or a tombstone has for a query,
// wherever they are now. The search index does not have a VM whose files are
// out of reach, nor one by a part of its host name. A VM that has another UUID
// now is another one that was given the reference.
func (i *Inventory) readKnown(ctx context.Context, q Query) ([]*VM, error) {
	var vms []*VM
	var failed []error
	for _, r := range i.store.known(q) {
		found, err := i.read(ctx, []Ref{r})
		if err != nil && !isGone(err) {
			failed = append(failed, err)
		}
		vms = append(vms, slices.DeleteFunc(found, q.excludes)...)
	}

	return vms, errors.Join(failed...)
}

// excludes reports whether a VM has a UUID that is not looked for.
func (q Query) excludes(vm *VM) bool {
	return len(q.UUIDs) > 0 && vm.UUID != "" &&
		!slices.ContainsFunc(q.UUIDs, func(uuid string) bool { return normal(uuid) == vm.UUID })
}

// read returns the VMs that are machines of their own as they are now, with what only the store knows. A single
// one that is not there any more fails them all.
func (i *Inventory) read(ctx context.Context, refs []Ref) ([]*VM, error) {
	now := i.cfg.Clock.Now()
	contents, err := i.retrieve(ctx, refs, recordPaths())
	if err == nil && len(contents) < len(refs) {
		err = fmt.Errorf("read %d VMs, first %s: %w", len(refs), refs[0].Value, errNotReturned)
	}
	if err != nil {
		return nil, err
	}
	vms := make([]*VM, 0, len(contents))
	for _, content := range contents {
		rec := &record{value: content.Obj.Value, observed: now}
		scratch := newTree()
		for _, p := range content.PropSet {
			rec.set(scratch, p.Name, p.Val)
		}
		if rec.standsIn() {
			continue
		}
		vms = append(vms, rec.snapshot())
	}
	if err := i.readAncestors(ctx, vms); err != nil {
		return nil, err
	}
	for _, vm := range vms {
		i.store.complete(vm)
	}

	return vms, nil
}

// call makes one call with a deadline of its own.
func (i *Inventory) call(ctx context.Context, fn func(context.Context, *vim25.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, i.cfg.CallTimeout)
	defer cancel()

	return i.client.SOAP(ctx, fn)
}

// known lists the VMs that fit a query, and those that once counted and had one
// of its UUIDs.
func (s *store) known(q Query) []Ref {
	s.mu.RLock()
	defer s.mu.RUnlock()

	refs := lists.Map(s.match(q), (*record).ref)
	for _, uuid := range q.UUIDs {
		for _, d := range s.memory.of(normal(uuid)) {
			if !slices.Contains(q.Except, d.ref) {
				refs = append(refs, d.ref)
			}
		}
	}
	slices.SortFunc(refs, byValue)

	return slices.Compact(refs)
}

// matching lists the VMs that fit a query.
func (s *store) matching(q Query) []Ref {
	s.mu.RLock()
	defer s.mu.RUnlock()

	return lists.Map(s.match(q), (*record).ref)
}

// present lists those of the VMs that are in the inventory.
func (s *store) present(refs []Ref) []Ref {
	s.mu.RLock()
	defer s.mu.RUnlock()

	return slices.DeleteFunc(refs, func(r Ref) bool { return s.live.vms[r.Value] == nil })
}

// complete adds to a VM what the vCenter did not return just now: where it is,
// and its UUID if that cannot be read at the moment.
func (s *store) complete(vm *VM) {
	s.mu.RLock()
	defer s.mu.RUnlock()

	at := s.live.tree.ancestors
	vm.Datacenter = datacenterOf(&reported{
		host: at[vm.Host], pool: at[vm.Pool], parent: at[vm.Parent], vApp: at[vm.ParentVApp],
	}).reference()
	if rec, ok := s.live.vms[vm.Ref.Value]; ok {
		vm.UUID = cmp.Or(vm.UUID, rec.uuid)
	}
	vm.InScope = s.live.scope.all || s.live.scope.in[vm.Datacenter]
}

// counted returns those of the VMs that count, else those that did so once. A VM
// whose datacenter is not known may count: it is an error if there is no other.
func (s *store) counted(vms []*VM) ([]*VM, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()

	var in, once []*VM
	var failed []error
	for _, vm := range vms {
		rec := s.live.vms[vm.Ref.Value]
		switch {
		case vm.InScope:
			in = append(in, vm)
		case rec != nil && rec.wasInScope:
			once = append(once, vm)
		case vm.Datacenter == (Ref{}):
			failed = append(failed, apierr.Mark(ErrUnreadableVM,
				fmt.Errorf("VM %q (%s) was found but its datacenter cannot be read", vm.Name, vm.Ref.Value)))
		}
	}
	if len(in) > 0 {
		return in, nil
	}
	if len(once) > 0 {
		return once, nil
	}

	return nil, errors.Join(failed...)
}
