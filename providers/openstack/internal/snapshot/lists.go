package snapshot

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/octavia"
)

// balancerList has all load balancers that are not deleted.
type balancerList struct {
	begun time.Time
	byID  map[string]*client.LoadBalancerInfo
}

func (s *Snapshot) listBalancers(ctx context.Context) (*balancerList, error) {
	list := &balancerList{begun: time.Now(), byID: map[string]*client.LoadBalancerInfo{}}
	all, err := s.api.Octavia.ListLoadBalancers(ctx, client.LoadBalancerQuery{})
	if err != nil {
		return nil, fmt.Errorf("list load balancers: %w", err)
	}
	for _, lb := range all {
		if !lb.Provisioning.IsDeleted() {
			list.byID[lb.ID] = lb
		}
	}
	s.members.retain(func(lb string) bool { return list.byID[lb] != nil })

	return list, nil
}

// partList has the parts of all load balancers, without their members.
type partList struct {
	begun time.Time
	// listeners and pools are by the ID of the load balancer.
	listeners map[string][]*client.Listener
	pools     map[string][]*poolRow
	monitors  map[string]*client.HealthMonitor
}

// poolRow is a pool, with an idSet in place of the IDs of its members.
type poolRow struct {
	client.Pool

	ids idSet
}

func (s *Snapshot) listParts(ctx context.Context) (*partList, error) {
	list := &partList{
		begun: time.Now(), listeners: map[string][]*client.Listener{}, pools: map[string][]*poolRow{},
		monitors: map[string]*client.HealthMonitor{},
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.eachListener(ctx, list) })
	group.Go(func() error { return s.api.Octavia.EachPool(ctx, list.addPool) })
	group.Go(func() error { return s.eachMonitor(ctx, list) })
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("list parts of load balancers: %w", err)
	}

	return list, nil
}

func (s *Snapshot) eachListener(ctx context.Context, list *partList) error {
	all, err := s.api.Octavia.ListListeners(ctx)
	for _, listener := range all {
		for _, lb := range listener.LoadBalancers {
			list.listeners[lb] = append(list.listeners[lb], listener)
		}
	}

	return err
}

func (s *Snapshot) eachMonitor(ctx context.Context, list *partList) error {
	all, err := s.api.Octavia.ListHealthMonitors(ctx)
	for _, monitor := range all {
		list.monitors[monitor.ID] = monitor
	}

	return err
}

func (l *partList) addPool(p *client.Pool) {
	if p.Provisioning.IsDeleted() {
		return
	}
	row := &poolRow{Pool: *p, ids: idSetOf(p.Members)}
	row.Members = nil
	for _, lb := range p.LoadBalancers {
		l.pools[lb] = append(l.pools[lb], row)
	}
}

// addressList has all floating IPs that are associated.
type addressList struct {
	begun  time.Time
	byPort map[string][]*client.FloatingIP
}

func (s *Snapshot) listAddresses(ctx context.Context) (*addressList, error) {
	list := &addressList{begun: time.Now(), byPort: map[string][]*client.FloatingIP{}}
	all, err := s.api.Network.ListFloatingIPs(ctx)
	if err != nil {
		return nil, err
	}
	for _, ip := range all {
		if ip.PortID != "" {
			list.byPort[ip.PortID] = append(list.byPort[ip.PortID], ip)
		}
	}

	return list, nil
}

// groupList has all security groups.
type groupList struct {
	byName map[string][]*client.SecurityGroup
}

func (s *Snapshot) listGroups(ctx context.Context) (*groupList, error) {
	list := &groupList{byName: map[string][]*client.SecurityGroup{}}
	all, err := s.api.Network.ListSecurityGroups(ctx)
	if err != nil {
		return nil, err
	}
	for _, group := range all {
		list.byName[group.Name] = append(list.byName[group.Name], group)
	}

	return list, nil
}

// allLists are those that a load balancer is in.
type allLists struct {
	balancers *balancerList
	parts     *partList
	addresses *addressList
}

// begun is when the first of them began.
func (l allLists) begun() time.Time {
	first := l.balancers.begun
	for _, at := range []time.Time{l.parts.begun, l.addresses.begun} {
		if at.Before(first) {
			first = at
		}
	}

	return first
}

// observed returns a load balancer with its parts, without members. It is nil if the load
// balancer or a part of it is missing, or is not ACTIVE.
func (l allLists) observed(id string) *octavia.Observed {
	lb := l.balancers.byID[id]
	if lb == nil || !isActive(&lb.LBObject) {
		return nil
	}
	o := &octavia.Observed{LoadBalancer: lb, Shared: true, At: l.begun(), Pools: map[string]*octavia.Pool{}}
	for _, row := range l.parts.pools[id] {
		p := &octavia.Pool{Pool: row.Pool}
		if p.MonitorID != "" {
			if p.Monitor = l.parts.monitors[p.MonitorID]; p.Monitor == nil || !isActive(&p.Monitor.LBObject) {
				return nil
			}
		}
		if !isActive(&p.LBObject) {
			return nil
		}
		o.Pools[p.ID] = p
	}
	o.Listeners = octavia.SortListeners(l.parts.listeners[id])
	for _, listener := range o.Listeners {
		if !isActive(&listener.LBObject) || listener.DefaultPoolID != "" && o.Pools[listener.DefaultPoolID] == nil {
			return nil
		}
	}

	return o
}

func isActive(o *client.LBObject) bool { return o.Provisioning == client.ProvisioningActive }
