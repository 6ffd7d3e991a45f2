package request

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// mappedBits is the length of the prefix of IPv4-mapped IPv6 addresses.
const mappedBits = 96

// sourceRanges returns the ranges of the spec, or else of the annotation, or
// else all of IPv4: sorted, without duplicates, IPv4 first. It is not shared by
// providers: others also separate the annotation by blanks, and have another
// default in IPv6.
func sourceRanges(service *v1.Service) ([]netip.Prefix, error) {
	networks, err := helpers.GetLoadBalancerSourceRanges(service)
	if err != nil {
		return nil, apierr.Mark(apierr.ErrInvalid, fmt.Errorf("read source ranges: %w", err))
	}
	ranges := lists.Map(slices.Collect(maps.Values(networks)), prefixOf)
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
