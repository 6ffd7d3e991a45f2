package nodes

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

var errNoAddress = errors.New("not an IP address")

// nodeAddresses returns the addresses of an instance's Node, family by family:
//
//	ipv4   of every interface in use, all private addresses   InternalIP
//	       the public address                                 ExternalIP
//	       the private DNS name                               InternalDNS, Hostname
//	       the public DNS name                                ExternalDNS
//	ipv6   of every interface in use, the first address       InternalIP
func nodeAddresses(i *inventory.Instance, families []address.Family) ([]v1.NodeAddress, error) {
	var addresses []v1.NodeAddress
	for _, family := range families {
		var more []v1.NodeAddress
		var err error
		switch family {
		case address.IPv4:
			more, err = ipv4Addresses(i)
		case address.IPv6:
			more, err = ipv6Addresses(i)
		}
		if err != nil {
			return nil, fmt.Errorf("read the %s addresses of instance %s: %w", family, i.ID, err)
		}
		addresses = append(addresses, more...)
	}

	return addresses, nil
}

func ipv4Addresses(i *inventory.Instance) ([]v1.NodeAddress, error) {
	var addresses []v1.NodeAddress
	for _, n := range inUse(i) {
		for _, addr := range n.IPv4 {
			if !addr.IsValid() {
				return nil, fmt.Errorf("network interface %s: %w", n.ID, errNoAddress)
			}
			addresses = append(addresses, address.Node(v1.NodeInternalIP, addr))
		}
	}
	if i.PublicIP != "" {
		addr, err := address.Parse(i.PublicIP)
		if err != nil {
			return nil, fmt.Errorf("public address: %w", err)
		}
		addresses = append(addresses, address.Node(v1.NodeExternalIP, addr))
	}
	addresses = appendName(addresses, v1.NodeInternalDNS, i.PrivateDNSName)
	addresses = appendName(addresses, v1.NodeHostName, i.PrivateDNSName)

	return appendName(addresses, v1.NodeExternalDNS, i.PublicDNSName), nil
}

func ipv6Addresses(i *inventory.Instance) ([]v1.NodeAddress, error) {
	var addresses []v1.NodeAddress
	for _, n := range inUse(i) {
		if len(n.IPv6) == 0 {
			continue
		}
		if !n.IPv6[0].IsValid() {
			return nil, fmt.Errorf("network interface %s: %w", n.ID, errNoAddress)
		}
		addresses = append(addresses, address.Node(v1.NodeInternalIP, n.IPv6[0]))
	}

	return addresses, nil
}

// inUse returns the network interfaces whose addresses count, in their order.
func inUse(i *inventory.Instance) []inventory.Interface {
	return lists.Filter(i.Interfaces, func(n inventory.Interface) bool { return n.Status == types.NetworkInterfaceStatusInUse })
}

func appendName(addresses []v1.NodeAddress, kind v1.NodeAddressType, name string) []v1.NodeAddress {
	if name == "" {
		return addresses
	}

	return append(addresses, v1.NodeAddress{Type: kind, Address: name})
}
