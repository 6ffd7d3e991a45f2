package inventory

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// Query says which VM is looked for. UUIDs come before names.
type Query struct {
	// UUIDs are BIOS UUIDs, in order of preference: the first one that any VM
	// has wins.
	UUIDs []string
	// Names are host names or IP addresses, in order of preference. They are
	// compared with what the guest reports: as they are, then without the
	// domain if one side has none, then as an address.
	Names []string
}

func (q Query) String() string {
	return strings.Join(slices.Concat(q.UUIDs, q.Names), " or ")
}

// Find looks a VM up in memory. It finds all VMs that fit equally well, such as
// clones with one UUID: telling them apart is up to the caller. A VM that once
// was in a configured datacenter is found by its UUID wherever it went.
//
// No VM and no error means that the feed is current and knows none.
// Found VMs can be as old as [Inventory.Current] says.
func (i *Inventory) Find(q Query) ([]*VM, error) {
	vms, doubt := i.store.find(q)
	if len(vms) > 0 {
		return vms, nil
	}
	if err := cmp.Or(i.Current(), doubt); err != nil {
		return nil, unknown(fmt.Errorf("find VM %s in vCenter %s: %w", q, i.cfg.Name, err))
	}

	return nil, nil
}

// unknown says what every error about a VM means: nothing is known of it, even
// if something else was not found.
func unknown(err error) error { return apierr.Mark(apierr.ErrUnavailable, err) }

// ErrUnreadableVM marks an error of [Inventory.Find] and [Inventory.Confirm]
// whose reason is one other VM: it could be the wanted one, but cannot be read
// well enough to tell. The text names it.
var ErrUnreadableVM = errors.New("VM cannot be read")

var (
	errNotSynced    = errors.New("inventory has not been read yet")
	errNoDatacenter = errors.New("no datacenter can be read")
)

// find gives the VMs that fit best, or the reason why a VM that fits can be
// there without our knowing it.
func (s *store) find(q Query) ([]*VM, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()

	if s.live == nil {
		return nil, errNotSynced
	}
	if vms := s.match(q); len(vms) > 0 {
		return vms, nil
	}

	return nil, s.doubt(q)
}

func (s *store) match(q Query) []*VM {
	for _, uuid := range q.UUIDs {
		if vms := s.byUUID(normal(uuid)); len(vms) > 0 {
			return vms
		}
	}
	for _, by := range []func(string) []*VM{s.byHostName, s.byShortName, s.byAddress} {
		for _, name := range q.Names {
			if vms := by(normal(name)); len(vms) > 0 {
				return vms
			}
		}
	}

	return nil
}

// byUUID prefers VMs that count to those that did so once.
func (s *store) byUUID(uuid string) []*VM {
	refs := s.live.byUUID[uuid]
	if vms := s.pick(refs, inScope); len(vms) > 0 {
		return vms
	}

	return s.pick(refs, func(r *record) bool { return r.wasInScope })
}

func (s *store) byHostName(host string) []*VM {
	return s.pick(s.live.byHost[host], inScope)
}

// byShortName accepts a different form of the same name, never a different
// domain.
func (s *store) byShortName(host string) []*VM {
	return s.pick(s.live.byShort[shortName(host)], func(r *record) bool {
		return r.inScope && (!strings.Contains(host, ".") || !strings.Contains(r.vm.HostName, "."))
	})
}

// byAddress looks at the main address alone: the others are not always unique,
// think of bridges inside of the guests.
func (s *store) byAddress(address string) []*VM {
	return s.pick(s.live.byIP[canonicalIP(address)], inScope)
}

func inScope(r *record) bool { return r.inScope }

// pick gives the chosen VMs in a fixed order.
func (s *store) pick(refs []Ref, choose func(*record) bool) []*VM {
	var vms []*VM
	for _, r := range refs {
		if rec := s.live.vms[r]; choose(rec) {
			vms = append(vms, rec.vm)
		}
	}
	slices.SortFunc(vms, func(a, b *VM) int { return byValue(a.Ref, b.Ref) })

	return vms
}

// doubt says why a VM that nothing was found of can exist nevertheless.
func (s *store) doubt(q Query) error {
	if err := s.live.scope.doubt(); err != nil {
		return err
	}
	for _, uuid := range q.UUIDs {
		if err := s.doubtUUID(normal(uuid)); err != nil {
			return err
		}
	}
	for _, name := range q.Names {
		if err := s.doubtName(normal(name)); err != nil {
			return err
		}
	}

	return nil
}

// doubtUUID finds a VM that could have the UUID: one that has it but stands
// where we cannot see whether it counts, or one that never told its UUID. The
// latter is somebody else if it was there already while the wanted VM was known
// to us.
func (s *store) doubtUUID(uuid string) error {
	for _, r := range s.live.byUUID[uuid] {
		if rec := s.live.vms[r]; !rec.placed {
			return unreadable(rec.vm, fmt.Sprintf("has UUID %s but its datacenter cannot be read", uuid))
		}
	}
	var left uint64
	for _, d := range s.memory.of(uuid) {
		left = max(left, d.at)
	}
	for r := range s.live.unnamed {
		if rec := s.live.vms[r]; (rec.inScope || !rec.placed) && rec.since >= left {
			return unreadable(rec.vm, fmt.Sprintf("does not tell its UUID: it is %s", cmp.Or(rec.vm.Connection, "unknown")))
		}
	}

	return nil
}

// unreadable blames a VM that cannot be told from the wanted one.
func unreadable(vm *VM, why string) error {
	return apierr.Mark(ErrUnreadableVM, fmt.Errorf("VM %q (%s) %s", vm.Name, vm.Ref.Value, why))
}

// doubtName finds a VM of that name whose guest reports no host name.
func (s *store) doubtName(name string) error {
	for r, rec := range s.live.vms {
		if rec.vm.HostName != "" || rec.placed && !rec.inScope {
			continue
		}
		if n := normal(rec.vm.Name); n == name || shortName(n) == shortName(name) {
			return fmt.Errorf("VM %q (%s) has that name but its guest reports no host name", rec.vm.Name, r.Value)
		}
	}

	return nil
}

// normal is the form in which UUIDs and host names are compared.
func normal(text string) string { return strings.ToLower(strings.TrimSpace(text)) }
