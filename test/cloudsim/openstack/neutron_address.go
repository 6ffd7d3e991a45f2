package openstack

import (
	"encoding/hex"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// wantedIP is an entry of fixed_ips in a request: a subnet, an address, or both.
type wantedIP struct {
	subnetID string
	ip       netip.Addr // the zero value for any
}

// allocate gives a port addresses (neutron: db/ipam_pluggable_backend.py,
// _allocate_ips_for_port). Without any wanted one it is one of the IPv4 subnets,
// and one of the IPv6 subnets that give out addresses; in each case the port gets
// one more of each subnet with stateless addresses, even if it was not asked for,
// unless the port is that of a router. Nothing is allocated after an error.
func (s *neutronState) allocate(p *port, wanted []wantedIP) ([]fixedIP, error) {
	subnets := s.subnetsOf(p.networkID)
	var ips []fixedIP
	var err error
	if wanted == nil {
		ips, err = s.anyAddresses(p, subnets)
	} else {
		ips, err = s.wantedAddresses(p, subnets, wanted)
	}
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(p.owner, "network:router") {
		return s.lease(p, ips), nil
	}
	for _, n := range subnets {
		if n.slaac() && !slices.ContainsFunc(ips, func(f fixedIP) bool { return f.subnetID == n.id }) {
			ips = append(ips, fixedIP{n.id, eui64(n.cidr, p.mac)})
		}
	}

	return s.lease(p, ips), nil
}

func (s *neutronState) lease(p *port, ips []fixedIP) []fixedIP {
	for _, f := range ips {
		s.leases[f] = p.id
	}

	return ips
}

// release frees the addresses of a port.
func (s *neutronState) release(p *port) {
	for _, f := range p.fixedIPs {
		delete(s.leases, f)
	}
}

// anyAddresses returns a free address of each IP version that the network has.
func (s *neutronState) anyAddresses(p *port, subnets []*subnet) ([]fixedIP, error) {
	var ips []fixedIP
	for _, v6 := range []bool{false, true} {
		candidates := slices.DeleteFunc(slices.Clone(subnets), func(n *subnet) bool {
			return n.cidr.Addr().Is6() != v6 || n.slaac()
		})
		if len(candidates) == 0 {
			continue
		}
		found := false
		for _, n := range candidates {
			ip, ok := s.free(n, ips)
			if ok {
				ips, found = append(ips, fixedIP{n.id, ip}), true

				break
			}
		}
		if !found {
			return nil, noAddress(p.networkID)
		}
	}

	return ips, nil
}

// noAddress is the response when a network has no free address.
func noAddress(networkID string) *apiError {
	return fail(http.StatusConflict, "IpAddressGenerationFailure", "No more IP addresses available on network %s.", networkID)
}

// wantedAddresses returns what a request asks for.
func (s *neutronState) wantedAddresses(p *port, subnets []*subnet, wanted []wantedIP) ([]fixedIP, error) {
	ips := make([]fixedIP, 0, len(wanted))
	for _, w := range wanted {
		n, err := s.wantedSubnet(p, subnets, w)
		if err != nil {
			return nil, err
		}
		ip, err := s.wantedAddress(p, n, w, ips)
		if err != nil {
			return nil, err
		}
		ips = append(ips, fixedIP{n.id, ip})
	}

	return ips, nil
}

func (s *neutronState) wantedAddress(p *port, n *subnet, w wantedIP, others []fixedIP) (netip.Addr, error) {
	if !w.ip.IsValid() && n.slaac() && !strings.HasPrefix(p.owner, "network:router") {
		return eui64(n.cidr, p.mac), nil
	}
	if !w.ip.IsValid() {
		ip, ok := s.free(n, others)
		if !ok {
			return ip, noAddress(p.networkID)
		}

		return ip, nil
	}
	holder, taken := s.leases[fixedIP{n.id, w.ip}]
	if (taken && holder != p.id) || slices.Contains(others, fixedIP{n.id, w.ip}) {
		return w.ip, fail(http.StatusConflict, "IpAddressAlreadyAllocated", "IP address %s already allocated in subnet %s", w.ip, n.id)
	}

	return w.ip, nil
}

// wantedSubnet returns the subnet of an entry of fixed_ips (neutron:
// db/ipam_backend_mixin.py, _get_subnet_for_fixed_ip).
func (s *neutronState) wantedSubnet(p *port, subnets []*subnet, w wantedIP) (*subnet, error) {
	if w.subnetID == "" {
		for _, n := range subnets {
			if n.cidr.Contains(w.ip) {
				return n, nil
			}
		}

		return nil, fail(http.StatusBadRequest, "InvalidIpForNetwork",
			"IP address %s is not a valid IP for any of the subnets on the specified network.", w.ip)
	}
	n := s.subnets.get(w.subnetID)
	if n == nil {
		return nil, missing("Subnet", w.subnetID)
	}
	if n.networkID != p.networkID {
		return nil, invalidInput("Failed to create port on network %s, because fixed_ips included invalid subnet %s", p.networkID, n.id)
	}
	if w.ip.IsValid() && !n.usable(w.ip) {
		return nil, fail(http.StatusBadRequest, "InvalidIpForSubnet", "IP address %s is not a valid IP for the specified subnet.", w.ip)
	}
	if w.ip.IsValid() && n.slaac() && !strings.HasPrefix(p.owner, "network:router") && w.ip != eui64(n.cidr, p.mac) {
		return nil, fail(http.StatusBadRequest, "AllocationOnAutoAddressSubnet",
			"IPv6 address %s cannot be directly assigned to a port on subnet %s as the subnet is configured for automatic addresses", w.ip, n.id)
	}

	return n, nil
}

// usable reports whether an address of the subnet may be that of a port: not the
// first and the last one of an IPv4 subnet.
func (n *subnet) usable(ip netip.Addr) bool {
	if !n.cidr.Contains(ip) {
		return false
	}

	return ip.Is6() || n.cidr.Bits() >= 31 || (ip != n.cidr.Addr() && ip != lastAddress(n.cidr))
}

// free returns the next free address in the pools of a subnet. Addresses that
// became free come last, so that a freed one is not given to the next port, which
// real clouds do at random (neutron: ipam/drivers/neutrondb_ipam/driver.py).
func (s *neutronState) free(n *subnet, others []fixedIP) (netip.Addr, bool) {
	ip, inPool := n.next, false
	for _, pool := range n.pools {
		inPool = inPool || pool.contains(ip)
	}
	if !inPool {
		if len(n.pools) == 0 {
			return ip, false
		}
		ip = n.pools[0].first
	}
	for begin, first := ip, true; first || ip != begin; first = false {
		_, taken := s.leases[fixedIP{n.id, ip}]
		if !taken && ip != n.gateway && !slices.Contains(others, fixedIP{n.id, ip}) {
			n.next = n.after(ip)

			return ip, true
		}
		ip = n.after(ip)
	}

	return ip, false
}

func (r addressRange) contains(ip netip.Addr) bool {
	return ip.IsValid() && !ip.Less(r.first) && !r.last.Less(ip)
}

// after returns the address behind one in the pools, the first one at their end.
func (n *subnet) after(ip netip.Addr) netip.Addr {
	for i, pool := range n.pools {
		if !pool.contains(ip) {
			continue
		}
		if ip != pool.last {
			return ip.Next()
		}

		return n.pools[(i+1)%len(n.pools)].first
	}

	return n.pools[0].first
}

// available returns how many addresses the pools of a subnet still have, at most
// most.
func (s *neutronState) available(n *subnet, most int) int {
	count := 0
	for _, pool := range n.pools {
		for ip := pool.first; count < most; ip = ip.Next() {
			if _, taken := s.leases[fixedIP{n.id, ip}]; !taken && ip != n.gateway {
				count++
			}
			if ip == pool.last {
				break
			}
		}
	}

	return count
}

// eui64 returns the address that a device computes from its MAC address (RFC 4291,
// appendix A).
func eui64(prefix netip.Prefix, mac string) netip.Addr {
	digits, err := hex.DecodeString(strings.ReplaceAll(mac, ":", ""))
	if err != nil || len(digits) != 6 {
		return netip.Addr{}
	}
	ip := prefix.Masked().Addr().As16()
	copy(ip[8:], []byte{digits[0] ^ 2, digits[1], digits[2], 0xff, 0xfe, digits[3], digits[4], digits[5]})

	return netip.AddrFrom16(ip)
}

// standardPools returns the allocation pools of a subnet without any in its
// request: all host addresses but the gateway (neutron: ipam/utils.py,
// generate_pools).
func standardPools(cidr netip.Prefix, gateway netip.Addr) []addressRange {
	first, last := cidr.Masked().Addr(), lastAddress(cidr)
	if cidr.Addr().Is4() && cidr.Bits() < 31 {
		last = last.Prev()
	}
	if cidr.Bits() < cidr.Addr().BitLen()-1 {
		first = first.Next()
	}
	whole := addressRange{first, last}
	if !whole.contains(gateway) {
		return []addressRange{whole}
	}
	var pools []addressRange
	if first != gateway {
		pools = append(pools, addressRange{first, gateway.Prev()})
	}
	if last != gateway {
		pools = append(pools, addressRange{gateway.Next(), last})
	}

	return pools
}

func lastAddress(cidr netip.Prefix) netip.Addr {
	bytes := cidr.Masked().Addr().AsSlice()
	for bit := cidr.Bits(); bit < len(bytes)*8; bit++ {
		bytes[bit/8] |= 0x80 >> (bit % 8)
	}
	ip, _ := netip.AddrFromSlice(bytes)

	return ip
}
