package request

import (
	"fmt"
	"net"
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// mappedBits are the bits in front of an IPv4 address that is written as IPv6.
const mappedBits = 96

// sourceRanges returns those of the spec, else of the annotation, else everything
// in IPv4: sorted, without repetition, IPv4 first. It is not shared by providers:
// others separate the annotation by blanks, too, and have another default in IPv6.
func sourceRanges(service *v1.Service) ([]netip.Prefix, error) {
	networks, err := helpers.GetLoadBalancerSourceRanges(service)
	if err != nil {
		return nil, apierr.Mark(apierr.ErrInvalid, fmt.Errorf("read source ranges: %w", err))
	}
	ranges := make([]netip.Prefix, 0, len(networks))
	for _, network := range networks {
		ranges = append(ranges, prefixOf(network))
	}
	slices.SortFunc(ranges, netip.Prefix.Compare)
	return slices.Compact(ranges), nil
}

func prefixOf(network *net.IPNet) netip.Prefix {
	addr, _ := netip.AddrFromSlice(network.IP)
	bits, _ := network.Mask.Size()
	if addr.Is4In6() && bits >= mappedBits {
		addr, bits = addr.Unmap(), bits-mappedBits
	}
	return netip.PrefixFrom(addr, bits).Masked()
}
