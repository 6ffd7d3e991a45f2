package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Confirm looks a VM up in the vCenter itself, past everything in memory. Like
// Find it gives all VMs that fit equally well.
//
// No VM and no error means that it is gone: every datacenter has been searched
// and knows none, every VM that once had one of the UUIDs is deleted, and Find
// would be certain too. Everything else is an error.
func (i *Inventory) Confirm(ctx context.Context, q Query) ([]*VM, error) {
	vms, err := i.ask(ctx, q)
	if len(vms) == 0 && err == nil {
		err = i.stillFound(q)
	}
	if err != nil {
		return nil, unknown(fmt.Errorf("confirm VM %s in vCenter %s: %w", q, i.cfg.Name, err))
	}

	return vms, nil
}

// ask puts every question of the query to the vCenter, until one is answered.
func (i *Inventory) ask(ctx context.Context, q Query) ([]*VM, error) {
	within, doubt := i.store.searchable()
	if errors.Is(doubt, errNotSynced) {
		return nil, i.Current()
	}
	var failed []error
	for _, find := range searches(q) {
		refs, err := i.search(ctx, find, within)
		if len(refs) > 0 {
			return i.read(ctx, refs)
		}
		failed = append(failed, err)
	}
	vms, err := i.readKnown(ctx, q)
	if len(vms) > 0 {
		return vms, nil
	}

	return nil, errors.Join(append(failed, err, doubt)...)
}

// stillFound is an error unless Find is certain that there is no such VM.
func (i *Inventory) stillFound(q Query) error {
	vms, err := i.store.find(q)
	if len(vms) > 0 {
		return fmt.Errorf("VM %q (%s) has just left", vms[0].Name, vms[0].Ref.Value)
	}

	return cmp.Or(i.Current(), err)
}

// finder asks the search index of the vCenter, in one datacenter or in all.
type finder func(ctx context.Context, c *vim25.Client, datacenter *Ref) ([]Ref, error)

// searches lists the questions to ask for a query, in order of preference.
func searches(q Query) []finder {
	var out []finder
	for _, uuid := range q.UUIDs {
		out = append(out, byUUID(normal(uuid)))
	}
	for _, name := range q.Names {
		out = append(out, byDNSName(normal(name)))
	}
	for _, name := range q.Names {
		if short := shortName(normal(name)); short != normal(name) {
			out = append(out, byDNSName(short))
		}
	}
	for _, name := range q.Names {
		if ip, err := netip.ParseAddr(normal(name)); err == nil {
			out = append(out, byIP(ip.String()))
		}
	}

	return out
}

func byUUID(uuid string) finder {
	return func(ctx context.Context, c *vim25.Client, datacenter *Ref) ([]Ref, error) {
		res, err := methods.FindAllByUuid(ctx, c, &types.FindAllByUuid{
			This: *c.ServiceContent.SearchIndex, Datacenter: datacenter, Uuid: uuid, VmSearch: true, InstanceUuid: new(false),
		})
		if err != nil {
			return nil, fmt.Errorf("find VMs by UUID %s: %w", uuid, err)
		}

		return res.Returnval, nil
	}
}

func byDNSName(name string) finder {
	return func(ctx context.Context, c *vim25.Client, datacenter *Ref) ([]Ref, error) {
		res, err := methods.FindAllByDnsName(ctx, c, &types.FindAllByDnsName{
			This: *c.ServiceContent.SearchIndex, Datacenter: datacenter, DnsName: name, VmSearch: true,
		})
		if err != nil {
			return nil, fmt.Errorf("find VMs by DNS name %s: %w", name, err)
		}

		return res.Returnval, nil
	}
}

func byIP(ip string) finder {
	return func(ctx context.Context, c *vim25.Client, datacenter *Ref) ([]Ref, error) {
		res, err := methods.FindAllByIp(ctx, c, &types.FindAllByIp{
			This: *c.ServiceContent.SearchIndex, Datacenter: datacenter, Ip: ip, VmSearch: true,
		})
		if err != nil {
			return nil, fmt.Errorf("find VMs by IP address %s: %w", ip, err)
		}

		return res.Returnval, nil
	}
}

// search asks one question everywhere. What is found in one datacenter counts
// even if another one fails.
func (i *Inventory) search(ctx context.Context, find finder, within []*Ref) ([]Ref, error) {
	var found []Ref
	var failed []error
	for _, datacenter := range within {
		err := i.call(ctx, func(ctx context.Context, c *vim25.Client) error {
			refs, err := find(ctx, c, datacenter)
			found = append(found, refs...)

			return err
		})
		if err != nil && datacenter != nil {
			err = fmt.Errorf("in datacenter %s: %w", datacenter.Value, err)
		}
		failed = append(failed, err)
	}

	return found, errors.Join(failed...)
}

// readKnown asks for the VMs that the memory has for a query, wherever they are
// now. The search index does not know a VM whose files are out of reach, nor
// one by a part of its host name.
func (i *Inventory) readKnown(ctx context.Context, q Query) ([]*VM, error) {
	var vms []*VM
	var failed []error
	for _, r := range i.store.known(q) {
		found, err := i.read(ctx, []Ref{r})
		if err != nil && !isGone(err) {
			failed = append(failed, err)
		}
		vms = append(vms, found...)
	}

	return vms, errors.Join(failed...)
}

// read gives the VMs as they are now. A single one that is not there any more
// fails them all.
func (i *Inventory) read(ctx context.Context, refs []Ref) ([]*VM, error) {
	objects := make([]types.ObjectSpec, 0, len(refs))
	for _, r := range refs {
		objects = append(objects, types.ObjectSpec{Obj: r})
	}
	spec := types.PropertyFilterSpec{ObjectSet: objects, PropSet: []types.PropertySpec{i.vmSpec()}}

	var contents []types.ObjectContent
	err := i.call(ctx, func(ctx context.Context, c *vim25.Client) error {
		var err error
		contents, err = mo.RetrievePropertiesEx(ctx, c, types.RetrievePropertiesEx{
			This:    c.ServiceContent.PropertyCollector,
			SpecSet: []types.PropertyFilterSpec{spec},
		})
		for _, content := range contents {
			err = cmp.Or(err, authenticated(content.MissingSet))
		}

		return err
	})
	if err == nil && len(contents) != len(refs) {
		err = fmt.Errorf("%d answers", len(contents))
	}
	if err != nil {
		return nil, fmt.Errorf("read %d VMs, first %s: %w", len(refs), refs[0].Value, err)
	}

	return i.describe(contents), nil
}

// describe makes VMs of what was read, with what only the memory knows.
func (i *Inventory) describe(contents []types.ObjectContent) []*VM {
	now := i.cfg.Now()
	vms := make([]*VM, 0, len(contents))
	for _, content := range contents {
		vm := &VM{Ref: ref(content.Obj), Observed: now}
		for _, p := range content.PropSet {
			vm.set(p.Name, p.Val)
		}
		i.store.complete(vm)
		vms = append(vms, vm)
	}

	return vms
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

	var refs []Ref
	for _, vm := range s.match(q) {
		refs = append(refs, vm.Ref)
	}
	for _, uuid := range q.UUIDs {
		for _, d := range s.memory.of(normal(uuid)) {
			refs = append(refs, d.ref)
		}
	}
	slices.SortFunc(refs, byValue)

	return slices.Compact(refs)
}

// complete adds to a VM what the vCenter did not tell just now: where it
// stands, and its UUID if that cannot be read at the moment.
func (s *store) complete(vm *VM) {
	s.mu.RLock()
	defer s.mu.RUnlock()

	vm.Datacenter = s.live.tree.datacenter(vm)
	if rec, ok := s.live.vms[vm.Ref]; ok {
		vm.UUID = cmp.Or(vm.UUID, rec.vm.UUID)
	}
}
