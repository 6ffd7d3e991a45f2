package nsxt

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// codeNoAddress is the alarm of an allocation without an address (nsx-operator util/errors.go).
const codeNoAddress = 8212

// addresses are those of an IP pool.
type addresses struct {
	ranges    [][2]netip.Addr
	used      map[netip.Addr]string // the unique ID of the allocation
	exhausted bool                  // nothing is free, as others have all addresses
	collide   int                   // allocations that fail although there are free addresses
	leaked    int                   // addresses that failed allocations have taken
}

func (a *addresses) own() { a.used = maps.Clone(a.used) }

// newAddresses reads the ranges of a pool.
func newAddresses(ranges []string) (*addresses, error) {
	a := &addresses{used: map[netip.Addr]string{}}
	for _, text := range ranges {
		first, last, ok := strings.Cut(text, "-")
		if !ok {
			last = first
		}
		low, err := netip.ParseAddr(first)
		if err != nil {
			return nil, err
		}
		high, err := netip.ParseAddr(last)
		if err != nil {
			return nil, err
		}
		a.ranges = append(a.ranges, [2]netip.Addr{low, high})
	}

	return a, nil
}

// free returns the first free address: none while as many have leaked as are free.
func (a *addresses) free() (netip.Addr, bool) {
	leaked := a.leaked
	for _, r := range a.ranges {
		for ip := r[0]; !a.exhausted && ip.Compare(r[1]) <= 0; ip = ip.Next() {
			if _, used := a.used[ip]; used {
				continue
			}
			if leaked == 0 {
				return ip, true
			}
			leaked--
		}
	}

	return netip.Addr{}, false
}

// holds reports whether an address is free and in a range of the pool.
func (a *addresses) holds(ip netip.Addr) bool {
	_, used := a.used[ip]

	return !used && !a.exhausted && slices.ContainsFunc(a.ranges, func(r [2]netip.Addr) bool {
		return r[0].Compare(ip) <= 0 && ip.Compare(r[1]) <= 0
	})
}

// take returns the address of an allocation. A pool seems exhausted when transactions
// collide, and loses an address each time (nsx-operator PR 1509).
func (a *addresses) take(requested string) (netip.Addr, bool) {
	if a.collide > 0 {
		a.collide--
		a.leaked++

		return netip.Addr{}, false
	}
	if requested == "" {
		return a.free()
	}
	ip, err := netip.ParseAddr(requested)

	return ip, err == nil && a.holds(ip)
}

// allocate realizes an allocation. An address that is used or outside of the pool is accepted
// in the intent, and fails here ([terraform] 817).
func (c *Cloud) allocate(path, uid string) {
	o := c.state.objects[path]
	if o == nil || o.uid != uid || o.marked || o.address.IsValid() {
		return
	}
	a, requested := cmp.Or(c.state.pools[parentOf(path)], &addresses{}), o.fields.text("allocation_ip")
	ip, ok := a.take(requested)
	if ok {
		a.used[ip], o.address, o.failure = uid, ip, nil

		return
	}
	o.failure = &Alarm{Code: codeNoAddress, Message: fmt.Sprintf("IpAddressPool %s is exhausted, no free IPs available", parentOf(path))}
	if requested != "" {
		o.failure.Message = "The address " + requested + " is not available."
	}
	if c.spec.AllocationRetry > 0 {
		c.after(c.spec.AllocationRetry, func(c *Cloud) { c.allocate(path, uid) })
	}
}

// release returns the address of an allocation to its pool.
func (c *Cloud) release(o *object) {
	if o.address.IsValid() {
		delete(c.state.pools[parentOf(o.path)].used, o.address)
		o.address = netip.Addr{}
	}
}

// allocationAttributes returns where the address of an allocation is shown, which is returned
// once it is realized ([SDK] IpAllocationsClient; clients take the first value of the
// attribute without a check: [terraform] nsxt/resource_nsxt_policy_ip_address_allocation.go).
func (o *object) allocationAttributes() []Object {
	return []Object{{"key": "allocation_ip", "data_type": "STRING", "multivalue": false, "values": []string{o.address.String()}}}
}

// ExhaustPool makes a pool have no free address, or ends that.
func (c *Cloud) ExhaustPool(id string, exhausted bool) {
	c.inspect(func() { c.state.pools[poolPath+id].exhausted = exhausted })
}

// CollideAllocations makes the next allocations in a pool fail as if it were exhausted.
func (c *Cloud) CollideAllocations(id string, n int) {
	c.inspect(func() { c.state.pools[poolPath+id].collide = n })
}

const poolPath = "/infra/ip-pools/"

// seedPool makes a pool of the spec.
func (c *Cloud) seedPool(p Pool) error {
	a, err := newAddresses(p.Ranges)
	if err != nil {
		return fmt.Errorf("pool %s: %w", p.ID, err)
	}
	c.state.pools[poolPath+p.ID] = a

	return c.Put(poolPath+p.ID, Object{"display_name": p.Name})
}
