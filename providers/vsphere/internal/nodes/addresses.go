package nodes

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

// What keeps a Node from having addresses. The texts are those of the
// upstream controller manager, which its users know.
var (
	errNoHostName = errors.New("VM Guest hostname is empty")
	errNoNIC      = errors.New("VM GuestNicInfo is empty")
	errNoAddress  = errors.New("unable to find suitable IP address for node")

	errExcludedNodeIP = errors.New("the kubelet uses an address that exclude-internal-network-subnet-cidr excludes, correct its --node-ip or the cloud-config")
)

// noDevice marks an interface that has no virtual network card behind it, such
// as a bridge of the guest.
const noDevice = -1

// Networks is the section [Nodes] of the cloud-config. An address in a listed subnet takes
// precedence over an address on the named network. If nothing is set or nothing
// matches, the first address of the VM is both internal and external.
type Networks struct {
	// InternalNetworkSubnetCIDR lists the subnets of the internal address, the
	// preferred one first.
	InternalNetworkSubnetCIDR config.CIDRs `gcfg:"internal-network-subnet-cidr"`
	// ExternalNetworkSubnetCIDR lists the subnets of the external address, the
	// preferred one first.
	ExternalNetworkSubnetCIDR config.CIDRs `gcfg:"external-network-subnet-cidr"`
	// InternalVMNetworkName is the name of the network of the internal address.
	InternalVMNetworkName string `gcfg:"internal-vm-network-name"`
	// ExternalVMNetworkName is the name of the network of the external address.
	ExternalVMNetworkName string `gcfg:"external-vm-network-name"`
	// ExcludeInternalNetworkSubnetCIDR lists subnets whose addresses are never
	// internal addresses.
	ExcludeInternalNetworkSubnetCIDR config.CIDRs `gcfg:"exclude-internal-network-subnet-cidr"`
	// ExcludeExternalNetworkSubnetCIDR lists subnets whose addresses are never
	// external addresses.
	ExcludeExternalNetworkSubnetCIDR config.CIDRs `gcfg:"exclude-external-network-subnet-cidr"`
}

// AddressRules define which addresses of a VM become addresses of its Node.
type AddressRules struct {
	Networks Networks
	// Families are the IP families that a Node must have, the preferred one first.
	Families []address.Family
}

// guest is what is known about the network of a VM.
type guest struct {
	// id names the VM in errors.
	id       string
	hostName string
	nics     []nic
	// static are the addresses that cloud-init is configured with, in order.
	static []netip.Addr
	// nodeIPs are the addresses that the kubelet is configured with.
	nodeIPs []netip.Addr
}

// nic is one network interface as the guest reports it.
type nic struct {
	Network   string
	Addresses []string
	// ShortLived are those of Addresses that the guest is about to release while it
	// has others.
	ShortLived     []string
	DeviceConfigID int32
}

// candidate is an address that others can reach, and the network it is on.
type candidate struct {
	addr    netip.Addr
	network string
}

func addrOf(c candidate) netip.Addr { return c.addr }

// nodeAddresses chooses the addresses of a Node: its host name, then for each
// family an internal address, an external one, or both. Every family must have
// at least one of them. Errors carry the reason NoAddress.
func nodeAddresses(g guest, rules AddressRules) ([]v1.NodeAddress, error) {
	addresses, err := chooseAddresses(g, rules)

	return addresses, instance.WithReason(instance.ReasonNoAddress, err)
}

func chooseAddresses(g guest, rules AddressRules) ([]v1.NodeAddress, error) {
	switch {
	case g.hostName == "":
		return nil, fmt.Errorf("VM %s: %w", g.id, errNoHostName)
	case len(g.nics) == 0:
		return nil, fmt.Errorf("VM %s: %w", g.id, errNoNIC)
	}
	candidates, err := usable(g, rules.Networks)
	if err != nil {
		return nil, err
	}
	addresses := []v1.NodeAddress{{Type: v1.NodeHostName, Address: g.hostName}}
	for _, family := range rules.Families {
		chosen, err := choosePair(address.OfFamily(family, candidates, addrOf), g.nodeIPs, rules.Networks)
		if err != nil {
			return nil, fmt.Errorf("VM %s: %w", g.id, err)
		}
		if len(chosen) == 0 {
			return nil, fmt.Errorf("%w %s with IP family %s", errNoAddress, g.id, family)
		}
		addresses = append(addresses, chosen...)
	}

	return address.Deduplicate(addresses), nil
}

// usable lists the addresses that others can reach, those that cloud-init configured
// first. An address that the guest is about to release counts only if the kubelet is
// configured with it.
func usable(g guest, nodes Networks) ([]candidate, error) {
	nics := slices.DeleteFunc(slices.Clone(g.nics), func(n nic) bool { return n.DeviceConfigID == noDevice })
	internal, external := nodes.InternalVMNetworkName, nodes.ExternalVMNetworkName
	if internal != "" && external != "" && !slices.ContainsFunc(nics, func(n nic) bool {
		return strings.EqualFold(n.Network, internal) || strings.EqualFold(n.Network, external)
	}) {
		return nil, fmt.Errorf("%w %s: no interface is on network %q or %q", errNoAddress, g.id, internal, external)
	}
	var candidates []candidate
	for _, n := range nics {
		for _, text := range n.Addresses {
			addr, err := address.Parse(text)
			if err != nil || !address.Usable(addr) {
				continue
			}
			if !slices.Contains(n.ShortLived, text) || slices.Contains(g.nodeIPs, addr) {
				candidates = append(candidates, candidate{addr: addr, network: n.Network})
			}
		}
	}
	if len(candidates) == 0 {
		return nil, fmt.Errorf("%w %s: its guest reports none that others can reach", errNoAddress, g.id)
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return rank(g.static, a.addr) - rank(g.static, b.addr) })

	return candidates, nil
}

// rank is the place of an address in a list; what is not in it comes last.
func rank(list []netip.Addr, addr netip.Addr) int {
	if i := slices.Index(list, addr); i >= 0 {
		return i
	}

	return len(list)
}

// choosePair chooses the internal and the external address among candidates of
// one family:
//
//	internal   external   what a subnet or a network name matches
//	yes        yes        both
//	yes        no         that one, and nothing for the other type
//	no         yes        the same
//	no         no         the first candidate of each type
//
// What the kubelet is configured with becomes the internal address in any case,
// and the external one in the last: the Node is not initialized without it. It is an
// error if that is excluded, unless it was found to be the external one.
func choosePair(candidates []candidate, nodeIPs []netip.Addr, nodes Networks) ([]v1.NodeAddress, error) {
	internals := address.OutOf(address.Prefixes(nodes.ExcludeInternalNetworkSubnetCIDR), candidates, addrOf)
	externals := address.OutOf(address.Prefixes(nodes.ExcludeExternalNetworkSubnetCIDR), candidates, addrOf)
	internal := match(internals, nodes.InternalNetworkSubnetCIDR, nodes.InternalVMNetworkName)
	external := match(externals, nodes.ExternalNetworkSubnetCIDR, nodes.ExternalVMNetworkName)
	if wanted := provided(candidates, nodeIPs); wanted.IsValid() && wanted != external && !provided(internals, nodeIPs).IsValid() {
		return nil, fmt.Errorf("%w: %s", errExcludedNodeIP, wanted)
	}
	if !internal.IsValid() && !external.IsValid() {
		internal, external = first(internals), cmp.Or(provided(externals, nodeIPs), first(externals))
	}
	internal = cmp.Or(provided(internals, nodeIPs), internal)
	var chosen []v1.NodeAddress
	if internal.IsValid() {
		chosen = append(chosen, address.Node(v1.NodeInternalIP, internal))
	}
	if external.IsValid() {
		chosen = append(chosen, address.Node(v1.NodeExternalIP, external))
	}

	return chosen, nil
}

// match finds the address in the first subnet that has any or, failing that,
// the first one on a network.
func match(candidates []candidate, subnets config.CIDRs, network string) netip.Addr {
	if found, ok := address.First(address.Prefixes(subnets), candidates, addrOf); ok {
		return found.addr
	}
	for _, c := range candidates {
		if network != "" && strings.EqualFold(c.network, network) {
			return c.addr
		}
	}

	return netip.Addr{}
}

// provided is the first candidate that the kubelet is configured with.
func provided(candidates []candidate, nodeIPs []netip.Addr) netip.Addr {
	return first(slices.DeleteFunc(slices.Clone(candidates), func(c candidate) bool { return !slices.Contains(nodeIPs, c.addr) }))
}

func first(candidates []candidate) netip.Addr {
	if len(candidates) == 0 {
		return netip.Addr{}
	}

	return candidates[0].addr
}
