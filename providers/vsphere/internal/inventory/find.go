package inventory

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// Query identifies the VM to look up. UUIDs come before names.
type Query struct {
	// UUIDs are BIOS UUIDs, in order of preference: the first one that any VM
	// has wins.
	UUIDs []string
	// Names are host names or IP addresses, in order of preference. They are
	// compared with what the guest reports: as they are, then without the
	// domain if one side has none, then as an address.
	Names []string
	// Except lists VMs that are not looked for.
	Except []Ref
}

// String returns all UUIDs and names, for messages.
func (q Query) String() string {
	return strings.Join(slices.Concat(q.UUIDs, q.Names), " or ")
}

// Find looks up a VM without a call. It finds all VMs that fit equally well,
// such as clones with one UUID: telling them apart is up to the caller. A VM
// that once was in a configured datacenter is found by its UUID wherever it
// went.
//
// No VM and no error means that the feed is current and has none.
// Found VMs can be as old as [Inventory.Current] reports.
func (i *Inventory) Find(q Query) ([]*VM, error) {
	i.store.queried.note(q, i.cfg.Clock.Now())
	vms, doubt := i.store.find(q)
	if len(vms) > 0 {
		return vms, nil
	}
	if err := cmp.Or(i.Current(), doubt); err != nil {
		return nil, unknown(fmt.Errorf("find VM %s in vCenter %s: %w", q, i.cfg.Name, err))
	}

	return nil, nil
}

// unknown marks every error about a VM with its meaning: nothing is known of
// it, even if something else was not found.
func unknown(err error) error { return apierr.Mark(apierr.ErrUnavailable, err) }

// ErrUnreadableVM marks an error of [Inventory.Find] and [Inventory.Confirm]
// whose reason is one other VM: it could be the wanted one, but cannot be read
// well enough to decide. The text names it.
var ErrUnreadableVM = errors.New("VM cannot be read")

var (
	errNotSynced    = errors.New("inventory has not been read yet")
	errNoDatacenter = errors.New("no datacenter can be read")
)

// find returns the VMs that fit best, or the reason why a VM that fits can be
// there without our knowing it.
func (s *store) find(q Query) ([]*VM, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()

	if !s.synced {
		return nil, errNotSynced
	}
	if found := s.match(q); len(found) > 0 {
		if len(q.UUIDs) > 0 {
			s.prove()
		}

		return lists.Map(found, (*record).snapshot), nil
	}

	return nil, s.doubt(q)
}

// match finds the VMs that fit best.
func (s *store) match(q Query) []*record {
	for _, uuid := range q.UUIDs {
		if found := q.other(s.byUUID(normal(uuid))); len(found) > 0 {
			return found
		}
	}
	for _, by := range []func(string) []*record{s.byHostName, s.byShortName, s.byAddress} {
		for _, name := range q.Names {
			if found := by(normal(name)); len(found) > 0 {
				return found
			}
		}
	}

	return nil
}

// byUUID prefers VMs that count to those that did so once.
func (s *store) byUUID(uuid string) []*record {
	same := s.live.byUUID[uuid]
	if found := pick(same, counts); len(found) > 0 {
		return found
	}

	return pick(same, func(r *record) bool { return r.wasInScope && !r.standsIn() })
}

func (s *store) byHostName(host string) []*record {
	return pick(s.live.byShort[shortName(host)], func(r *record) bool {
		return counts(r) && strings.ToLower(r.hostName) == host
	})
}

// byShortName accepts a different form of the same name, never a different
// domain.
func (s *store) byShortName(host string) []*record {
	return pick(s.live.byShort[shortName(host)], func(r *record) bool {
		return counts(r) && (!strings.Contains(host, ".") || !strings.Contains(r.hostName, "."))
	})
}

// byAddress looks at the main address alone: the others are not always unique,
// think of bridges inside of the guests.
func (s *store) byAddress(address string) []*record {
	return pick(s.live.byIP[canonicalIP(address)], counts)
}

// counts reports whether a VM can be that of a Node.
func counts(r *record) bool { return r.inScope && !r.standsIn() }

// other returns the VMs that the query does not leave out.
func (q Query) other(found []*record) []*record {
	return slices.DeleteFunc(found, func(r *record) bool { return slices.Contains(q.Except, r.ref()) })
}

// pick returns the chosen VMs in a fixed order.
func pick(from []*record, choose func(*record) bool) []*record {
	found := lists.Filter(from, choose)
	slices.SortFunc(found, func(a, b *record) int { return strings.Compare(a.value, b.value) })

	return found
}

// doubt returns why a VM that nothing was found of can exist nevertheless.
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

// doubtUUID finds a VM that could have the UUID: one that has it but is where
// we cannot see whether it counts, or one whose UUID was never read. A VM
// without a UUID is ruled out if it was there already while the wanted VM was
// known to us.
func (s *store) doubtUUID(uuid string) error {
	for _, rec := range s.live.byUUID[uuid] {
		if !rec.scopeKnown && !rec.standsIn() {
			return unreadable(rec, fmt.Sprintf("has UUID %s but its datacenter cannot be read", uuid))
		}
	}
	var left uint64
	for _, d := range s.memory.of(uuid) {
		left = max(left, d.at)
	}
	for rec := range s.live.unnamed {
		if (rec.inScope || !rec.scopeKnown) && rec.since >= left {
			return unreadable(rec, fmt.Sprintf("does not report its UUID: it is %s", cmp.Or(rec.connection, "unknown")))
		}
	}

	return nil
}

// unreadable is the error of a VM that cannot be distinguished from the wanted
// one.
func unreadable(rec *record, why string) error {
	return apierr.Mark(ErrUnreadableVM, fmt.Errorf("VM %q (%s) %s", rec.name, rec.value, why))
}

// doubtName finds a VM of that name whose guest reports no host name.
func (s *store) doubtName(name string) error {
	for _, rec := range s.live.vms {
		if rec.hostName != "" || rec.scopeKnown && !rec.inScope {
			continue
		}
		if n := normal(rec.name); n == name || shortName(n) == shortName(name) {
			return fmt.Errorf("VM %q (%s) has that name but its guest reports no host name", rec.name, rec.value)
		}
	}

	return nil
}
