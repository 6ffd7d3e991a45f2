package routes

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nsx"
)

// The scopes of the tags of a route.
const (
	scopeCluster = "vsphere.k8s.io/cluster-name"
	scopeNode    = "vsphere.k8s.io/node-name"
)

// staticRoute are the fields of a static route that are written:
// https://developer.broadcom.com/xapis/nsx-t-data-center-rest-api/latest/types_StaticRoutes.html.
type staticRoute struct {
	ID          string            `json:"id,omitempty"`
	DisplayName string            `json:"display_name,omitempty"`
	Network     string            `json:"network,omitempty"`
	NextHops    []json.RawMessage `json:"next_hops,omitempty"`
	Tags        []nsx.Tag         `json:"tags,omitempty"`
}

// nextHop is the field of a next hop that is compared.
type nextHop struct {
	Address string `json:"ip_address"`
}

// ownRoute is a route of this cluster.
type ownRoute struct {
	id, node string
	cidr     netip.Prefix
	hops     []netip.Addr
}

func (o ownRoute) key() key { return key{o.cidr, o.node} }

// isTo reports whether a route is to a range of a Node, which may be nil.
func (o ownRoute) isTo(node *v1.Node) bool {
	return node != nil && slices.ContainsFunc(node.Spec.PodCIDRs, func(text string) bool {
		cidr, err := netip.ParsePrefix(text)

		return err == nil && cidr.Masked() == o.cidr
	})
}

// isOutdated reports whether a route leads to no address of its Node, which has some.
func (o ownRoute) isOutdated(node *v1.Node) bool {
	if node == nil {
		return false
	}
	if _, err := nextHopOf(node.Status.Addresses, o.cidr); err != nil {
		return false
	}

	return !slices.ContainsFunc(node.Status.Addresses, func(a v1.NodeAddress) bool {
		ip, err := address.Parse(a.Address)

		return err == nil && slices.Contains(o.hops, ip)
	})
}

// parseRoute returns a static route of a cluster, and reports whether it is one.
func parseRoute(o nsx.Object, cluster string) (ownRoute, bool) {
	var fields staticRoute
	if o.Into(&fields) != nil {
		return ownRoute{}, false
	}
	own := ownRoute{id: fields.ID}
	for _, tag := range fields.Tags {
		if tag.Scope == scopeNode {
			own.node = tag.Tag
		}
	}
	cidr, err := netip.ParsePrefix(fields.Network)
	if err != nil || own.node == "" || !slices.Contains(fields.Tags, nsx.Tag{Scope: scopeCluster, Tag: cluster}) {
		return ownRoute{}, false
	}
	own.cidr, own.hops = cidr.Masked(), fields.hops()

	return own, true
}

// hops returns the addresses that a static route leads to.
func (s staticRoute) hops() []netip.Addr {
	var hops []netip.Addr
	for _, raw := range s.NextHops {
		var hop nextHop
		if json.Unmarshal(raw, &hop) != nil {
			continue
		}
		if ip, err := address.Parse(hop.Address); err == nil {
			hops = append(hops, ip)
		}
	}

	return hops
}

// wantedRoute is the route to a range of a Node.
type wantedRoute struct {
	cluster, node string
	cidr          netip.Prefix
	hop           netip.Addr
}

func (w wantedRoute) tags() []nsx.Tag {
	return []nsx.Tag{{Scope: scopeCluster, Tag: w.cluster}, {Scope: scopeNode, Tag: w.node}}
}

// object returns the static route as the upstream controller manager makes it.
func (w wantedRoute) object(id string) (nsx.Object, error) {
	hop, err := json.Marshal(nextHop{w.hop.String()})
	if err != nil {
		return nil, fmt.Errorf("encode next hop: %w", err)
	}

	return nsx.NewObject(staticRoute{
		ID: id, DisplayName: nsx.Cut(w.cluster+"_"+w.node+"_"+w.cidr.String(), nsx.MaxName), Network: w.cidr.String(),
		NextHops: []json.RawMessage{hop}, Tags: w.tags(),
	})
}

// isServedBy reports whether a static route is the wanted one.
func (w wantedRoute) isServedBy(o nsx.Object) bool {
	own, ok := parseRoute(o, w.cluster)

	return ok && own.node == w.node && own.cidr == w.cidr && slices.Contains(own.hops, w.hop)
}

// correct returns a static route with what the wanted one has. Other tags stay, and what
// else the first next hop has, such as a distance.
func (w wantedRoute) correct(o nsx.Object) (nsx.Object, error) {
	var fields staticRoute
	if err := o.Into(&fields); err != nil {
		return nil, err
	}
	hop := nsx.Object{}
	if len(fields.NextHops) > 0 {
		if err := json.Unmarshal(fields.NextHops[0], &hop); err != nil {
			return nil, fmt.Errorf("decode next hop: %w", err)
		}
	}
	hop, err := hop.With(nextHop{w.hop.String()})
	if err != nil {
		return nil, err
	}
	tags := slices.DeleteFunc(fields.Tags, func(tag nsx.Tag) bool { return tag.Scope == scopeCluster || tag.Scope == scopeNode })

	return o.With(struct {
		Network  string       `json:"network"`
		NextHops []nsx.Object `json:"next_hops"`
		Tags     []nsx.Tag    `json:"tags"`
	}{w.cidr.String(), []nsx.Object{hop}, append(tags, w.tags()...)})
}

// routeID returns the ID of a route, given the UID of its Node.
func routeID(uid string, cidr netip.Prefix) string {
	return uid + "_" + strings.ReplaceAll(cidr.String(), "/", "_")
}

var errNoAddress = apierr.Mark(apierr.ErrInvalid, errors.New("the node has no address of the family of its range"))

// nextHopOf returns the address of a Node that a route to a range leads to: its first
// InternalIP of the family, or else its first ExternalIP.
func nextHopOf(addresses []v1.NodeAddress, cidr netip.Prefix) (netip.Addr, error) {
	for _, kind := range []v1.NodeAddressType{v1.NodeInternalIP, v1.NodeExternalIP} {
		for _, a := range addresses {
			ip, err := address.Parse(a.Address)
			if err == nil && a.Type == kind && ip.Is4() == cidr.Addr().Is4() {
				return ip, nil
			}
		}
	}

	return netip.Addr{}, errNoAddress
}
