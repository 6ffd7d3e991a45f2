package snapshot

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
	"unique"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/octavia"
)

// idSet stands for the IDs of the members of a pool, of which there can be hundreds of
// thousands in all pools. It is zero for none.
type idSet [sha256.Size]byte

// idSetOf sorts the IDs.
func idSetOf(ids []string) idSet {
	if len(ids) == 0 {
		return idSet{}
	}
	slices.Sort(ids)

	return sha256.Sum256([]byte(strings.Join(ids, "\n")))
}

// node is what the members of many pools have in common.
type node struct {
	name    string
	address netip.Addr
}

// member is a member of a pool in 16 bytes, without its ID.
type member struct {
	node              unique.Handle[node]
	port, monitorPort uint16
	// partial means that the monitor port is not known.
	partial bool
}

func (m member) pair() netip.AddrPort { return netip.AddrPortFrom(m.node.Value().address, m.port) }

// pool is what is known of the members of a pool, sorted by address and port.
type pool struct {
	ids     idSet
	members []member
	// known is false if the members were dropped.
	known bool
	// due is when they are read in full.
	due time.Time
}

// find returns the member with an address and a port.
func (p *pool) find(at netip.AddrPort) (member, bool) {
	i, ok := slices.BinarySearchFunc(p.members, at, func(m member, at netip.AddrPort) int { return m.pair().Compare(at) })
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

// get returns the members with these IDs, sorted, if they are known. Due means that they are
// to be read in full.
func (s *members) get(lb, id string, ids idSet) (found []octavia.Member, ok, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.all[lb][id]
	if p == nil {
		return nil, false, false
	}
	due = !time.Now().Before(p.due)
	if !p.known || p.ids != ids {
		return nil, false, due
	}
	found = lists.Map(p.members, func(m member) octavia.Member {
		n := m.node.Value()

		return octavia.Member{Name: n.name, Address: n.address, Port: int32(m.port), MonitorPort: int32(m.monitorPort), Partial: m.partial}
	})

	return found, true, due
}

// put stores the members of a pool, which are all of them, sorted by address and port. Full
// means that monitor ports are among it; those that are known stay otherwise.
func (s *members) put(lb, id string, found []octavia.Member, full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.all[lb][id]
	if before == nil {
		before = &pool{due: time.Now().Add(s.fullLook)}
	}
	now := &pool{
		ids: idSetOf(lists.Map(found, func(m octavia.Member) string { return m.ID })), members: make([]member, 0, len(found)),
		known: true, due: before.due,
	}
	if full {
		now.due = time.Now().Add(s.fullLook)
	}
	for _, m := range found {
		stored := member{
			node: unique.Make(node{m.Name, m.Address}), port: uint16(m.Port), monitorPort: uint16(m.MonitorPort), partial: !full,
		}
		if old, ok := before.find(stored.pair()); ok && !full {
			stored.monitorPort, stored.partial = old.monitorPort, old.partial
		}
		now.members = append(now.members, stored)
	}
	if s.all == nil {
		s.all = map[string]map[string]*pool{}
	}
	if s.all[lb] == nil {
		s.all[lb] = map[string]*pool{}
	}
	s.all[lb][id] = now
}

// drop drops the members of a load balancer that is written. When they are due stays.
func (s *members) drop(lb string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, p := range s.all[lb] {
		s.all[lb][id] = &pool{due: p.due}
	}
}

// remove drops a load balancer.
func (s *members) remove(lb string) {
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
//	the members with these IDs are known  no call
//	they are, for longer than FullLook    the members of the pool
//	they are not                          the status tree, for all pools of the load balancer
//
// A pool that no listener uses is not in the tree. If its members are not known, it is
// Unread.
func (s *Snapshot) addMembers(ctx context.Context, o *octavia.Observed, list *partList) (bool, error) {
	lb := o.LoadBalancer.ID
	var unknown []*poolRow
	for _, row := range list.pools[lb] {
		if row.ids == (idSet{}) {
			continue
		}
		found, ok, due := s.members.get(lb, row.ID, row.ids)
		if due {
			all, err := octavia.ReadMembers(ctx, s.api.Octavia, row.ID)
			if err != nil {
				return false, err
			}
			if !areActive(all) {
				return false, nil
			}
			s.members.put(lb, row.ID, all, true)
			if found, ok, _ = s.members.get(lb, row.ID, row.ids); !ok {
				return false, nil
			}
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
		if !ok {
			return false, nil
		}
		s.members.put(lb, row.ID, found, false)
		if found, ok, _ = s.members.get(lb, row.ID, row.ids); !ok {
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
	octavia.SortMembers(all)

	return all, true
}
