// Package address has the rules for node addresses that all clouds share.
//
// What it promises: addresses are netip values in canonical form (an IPv4
// address mapped into IPv6 is the IPv4 address); order is kept; and
// nothing that is passed in is modified.
package address

import (
	"fmt"
	"net/netip"
	"strings"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"
	nodeutil "k8s.io/component-helpers/node/util"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// Parse reads an IP address. An address with a zone is none that others can use.
func Parse(text string) (netip.Addr, error) {
	addr, err := netip.ParseAddr(strings.TrimSpace(text))
	if err != nil {
		return netip.Addr{}, fmt.Errorf("parse address: %w", err)
	}
	if addr.Zone() != "" {
		return netip.Addr{}, fmt.Errorf("parse address %q: has a zone", text)
	}

	return addr.Unmap(), nil
}

// ParseInterface reads an IP address that may carry the length of its prefix,
// as in 192.0.2.7/24, and returns the address.
func ParseInterface(text string) (netip.Addr, error) {
	addr, length, found := strings.Cut(text, "/")
	if found {
		if _, err := netip.ParsePrefix(strings.TrimSpace(addr) + "/" + strings.TrimSpace(length)); err != nil {
			return netip.Addr{}, fmt.Errorf("parse address: %w", err)
		}
	}

	return Parse(addr)
}

// Usable reports whether others can reach a node under addr: it is not
// unspecified, loopback, or link-local.
func Usable(addr netip.Addr) bool {
	addr = addr.Unmap()

	return addr.IsValid() && !addr.IsUnspecified() && !addr.IsLoopback() &&
		!addr.IsLinkLocalUnicast() && !addr.IsLinkLocalMulticast()
}

// Node makes an address of a Node, in canonical text.
func Node(kind v1.NodeAddressType, addr netip.Addr) v1.NodeAddress {
	return v1.NodeAddress{Type: kind, Address: addr.Unmap().String()}
}

// Deduplicate drops what is there already, type and address alike.
func Deduplicate(addresses []v1.NodeAddress) []v1.NodeAddress {
	return lists.Distinct(addresses)
}

// ProvidedNodeIPs returns the addresses that the kubelet was started with
// (--node-ip): none, one, or one of each family. The framework initializes a
// Node only if its cloud lists them all.
func ProvidedNodeIPs(node *v1.Node) ([]netip.Addr, error) {
	text, ok := node.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr]
	if !ok {
		return nil, nil
	}
	ips, err := nodeutil.ParseNodeIPAnnotation(text)
	if err != nil {
		return nil, fmt.Errorf("parse annotation %s=%q: %w", cloudproviderapi.AnnotationAlphaProvidedIPAddr, text, err)
	}
	addrs := make([]netip.Addr, 0, len(ips))
	for _, ip := range ips {
		addr, ok := netip.AddrFromSlice(ip)
		if !ok {
			return nil, fmt.Errorf("parse annotation %s=%q: %q is no address", cloudproviderapi.AnnotationAlphaProvidedIPAddr, text, ip)
		}
		addrs = append(addrs, addr.Unmap())
	}

	return addrs, nil
}
