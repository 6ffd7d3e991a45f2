package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"
	"unique"

	"github.com/google/uuid"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/octavia"
)

// memberID is the ID of a member in 16 bytes instead of a text of 36.
type memberID = uuid.UUID

// parseMemberID reports whether the ID is a UUID in the usual form, which alone is the same
// when it is written again.
func parseMemberID(text string) (memberID, bool) {
	id, err := uuid.Parse(text)

	return id, err == nil && id.String() == text
}

// member is a member of a pool in 40 bytes: names and addresses are those of nodes, which
// many pools have.
type member struct {
	id                memberID
	name              unique.Handle[string]
	address           unique.Handle[netip.Addr]
	port, monitorPort uint16
	// partial means that the monitor port is not known.
	partial bool
}

func compareID(m member, id memberID) int { return slices.Compare(m.id[:], id[:]) }

// pool is what is known of the members of a pool, sorted by ID.
type pool struct {
	members []member
	// known is false if the members were dropped.
	known bool
	// due is when they are read in full.
	due time.Time
}

// find returns a member.
func (p *pool) find(id memberID) (member, bool) {
	i, ok := slices.BinarySearchFunc(p.members, id, compareID)
	if !ok {
		return member{}, false
	}

	return p.members[i], true
}

// members stores members by load balancer and pool.
type members struct {
	fullLook time.Duration

	mu  sync.Mutex
	all map[string]map[string]*pool
}

// get returns the members with some IDs, sorted, if all of them are known. Due means that
// they are to be read in full.
func (s *members) get(lb, id string, ids []memberID) (found []octavia.Member, ok, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.all[lb][id]
	if p == nil {
		return nil, false, false
	}
	due = !time.Now().Before(p.due)
	if !p.known {
		return nil, false, due
	}
	found = make([]octavia.Member, 0, len(ids))
	for _, id := range ids {
		m, known := p.find(id)
		if !known {
			return nil, false, due
		}
		found = append(found, octavia.Member{
			ID: id.String(), Name: m.name.Value(), Address: m.address.Value(), Port: int32(m.port),
			MonitorPort: int32(m.monitorPort), Partial: m.partial,
		})
	}
	octavia.SortMembers(found)

	return found, true, due
}

// put stores the members of a pool, which are all of them. Full means that monitor ports are
// among it; those that are known stay otherwise. It reports whether all IDs are UUIDs.
func (s *members) put(lb, id string, found []octavia.Member, full bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.all[lb][id]
	if before == nil {
		before = &pool{due: time.Now().Add(s.fullLook)}
	}
	now := &pool{members: make([]member, 0, len(found)), known: true, due: before.due}
	if full {
		now.due = time.Now().Add(s.fullLook)
	}
	for _, m := range found {
		memberID, ok := parseMemberID(m.ID)
		if !ok {
			return false
		}
		stored := member{
			id: memberID, name: unique.Make(m.Name), address: unique.Make(m.Address), port: uint16(m.Port),
			monitorPort: uint16(m.MonitorPort), partial: !full,
		}
		if old, ok := before.find(memberID); ok && !full {
			stored.monitorPort, stored.partial = old.monitorPort, old.partial
		}
		now.members = append(now.members, stored)
	}
	slices.SortFunc(now.members, func(a, b member) int { return compareID(a, b.id) })
	if s.all == nil {
		s.all = map[string]map[string]*pool{}
	}
	if s.all[lb] == nil {
		s.all[lb] = map[string]*pool{}
	}
	s.all[lb][id] = now

	return true
}

// drop drops the members of a load balancer that is written. When they are due stays.
func (s *members) drop(lb string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, p := range s.all[lb] {
		s.all[lb][id] = &pool{due: p.due}
	}
}

// forget drops a load balancer.
func (s *members) forget(lb string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, lb)
}

// retain drops the load balancers that are not there.
func (s *members) retain(is func(lb string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.all, func(lb string, _ map[string]*pool) bool { return !is(lb) })
}

// addMembers adds the members to the pools of a load balancer. It returns false if the lists
// and the members do not fit together.
//
//	all IDs of a pool are known         no call
//	they are, for longer than FullLook  the members of the pool
//	some are not                        the status tree, for all pools of the load balancer
//
// A pool that no listener uses is not in the tree. If its members are not known, it is
// Unread.
func (s *Snapshot) addMembers(ctx context.Context, o *octavia.Observed, list *partList) (bool, error) {
	lb := o.LoadBalancer.ID
	var unknown []*poolRow
	for _, row := range list.pools[lb] {
		if row.odd {
			return false, nil
		}
		if len(row.memberIDs) == 0 {
			continue
		}
		found, ok, due := s.members.get(lb, row.ID, row.memberIDs)
		if due {
			all, err := octavia.ReadMembers(ctx, s.api.Octavia, row.ID)
			if err != nil {
				return false, err
			}
			if !areActive(all) || !s.members.put(lb, row.ID, all, true) || len(all) != len(row.memberIDs) {
				return false, nil
			}
			found, ok, _ = s.members.get(lb, row.ID, row.memberIDs)
		}
		if !ok {
			unknown = append(unknown, row)
		}
		o.Pools[row.ID].Members = found
	}
	if len(unknown) == 0 {
		return true, nil
	}

	return s.addFromTree(ctx, o, unknown)
}

func areActive(all []octavia.Member) bool {
	return !slices.ContainsFunc(all, func(m octavia.Member) bool { return !isActive(&m.Full.LBObject) })
}

// addFromTree adds the members of pools that are in the status tree of a load balancer.
func (s *Snapshot) addFromTree(ctx context.Context, o *octavia.Observed, unknown []*poolRow) (bool, error) {
	lb := o.LoadBalancer.ID
	tree, err := s.api.Octavia.GetStatusTree(ctx, lb)
	if errors.Is(err, apierr.ErrNotFound) {
		return false, nil // a verdict needs more than that
	}
	if err != nil {
		return false, fmt.Errorf("read members of load balancer %s: %w", lb, err)
	}
	if tree.Provisioning != client.ProvisioningActive {
		return false, nil
	}
	pools := map[string]*client.PoolStatus{}
	for i := range tree.Listeners {
		for j := range tree.Listeners[i].Pools {
			p := &tree.Listeners[i].Pools[j]
			pools[p.ID] = p
		}
	}
	for _, row := range unknown {
		p, used := pools[row.ID]
		if !used {
			o.Pools[row.ID].Unread = true

			continue
		}
		found, ok := fromTree(p)
		if !ok || len(found) != len(row.memberIDs) || !s.members.put(lb, row.ID, found, false) {
			return false, nil
		}
		if found, ok, _ = s.members.get(lb, row.ID, row.memberIDs); !ok {
			return false, nil
		}
		o.Pools[row.ID].Members = found
	}

	return true, nil
}

// fromTree returns the members of a pool in a status tree. It returns false if one of them is
// not ACTIVE.
func fromTree(p *client.PoolStatus) ([]octavia.Member, bool) {
	all := make([]octavia.Member, 0, len(p.Members))
	for _, m := range p.Members {
		addr, err := netip.ParseAddr(m.Address)
		if err != nil || cmp.Or(m.Provisioning, client.ProvisioningActive) != client.ProvisioningActive {
			return nil, false
		}
		all = append(all, octavia.Member{ID: m.ID, Name: m.Name, Address: addr, Port: int32(m.Port)})
	}

	return all, true
}
