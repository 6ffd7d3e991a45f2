package routes

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/nodeindex"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/route"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// routeIndex is the name of the index of Nodes by their addresses and Pod CIDRs.
const routeIndex = "openstack-route"

// errNoNextHop means that a Node has no address that a route could lead to.
var errNoNextHop = apierr.Mark(apierr.ErrInvalid, errors.New("the node has no InternalIP of the family of its range"))

// routeKeys is the function of the index: all addresses and Pod CIDRs of a Node.
func routeKeys(node *v1.Node) []string {
	var keys []string
	for _, a := range node.Status.Addresses {
		if ip, err := address.Parse(a.Address); err == nil {
			keys = append(keys, ip.String())
		}
	}
	for _, cidr := range podCIDRs(node) {
		keys = append(keys, cidr.String())
	}
	slices.Sort(keys)

	return slices.Compact(keys)
}

// podCIDRs returns the ranges of a Node's Pods.
func podCIDRs(node *v1.Node) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range node.Spec.PodCIDRs {
		if cidr, err := netip.ParsePrefix(text); err == nil {
			all = append(all, cidr.Masked())
		}
	}

	return all
}

// SetInformers has Nodes found by their addresses.
func (r *Routes) SetInformers(factory informers.SharedInformerFactory) error {
	if r == nil {
		return nil
	}
	index, err := nodeindex.New(factory.Core().V1().Nodes().Informer(), routeIndex, routeKeys)
	if err != nil {
		return err
	}
	r.nodes.Store(index)

	return nil
}

// SetRecorder has Events recorded.
func (r *Routes) SetRecorder(recorder record.EventRecorder) {
	if r != nil {
		r.recorder.Store(&recorder)
	}
}

// parseCIDR parses a destination in the form that Neutron requires.
func parseCIDR(text string) (netip.Prefix, error) {
	cidr, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, apierr.Mark(apierr.ErrInvalid, err)
	}

	return cidr.Masked(), nil
}

// nextHop returns the first InternalIP of a Node in the family of a CIDR.
func nextHop(node *v1.Node, cidr netip.Prefix) (netip.Addr, error) {
	for _, a := range node.Status.Addresses {
		ip, err := address.Parse(a.Address)
		if err == nil && a.Type == v1.NodeInternalIP && ip.Is4() == cidr.Addr().Is4() {
			return ip, nil
		}
	}

	return netip.Addr{}, errNoNextHop
}

// hopsOf returns the addresses that a route can lead to, the preferred one first: those
// of the Node, or the one that is the target of a black hole.
func (r *Routes) hopsOf(key routeKey) []netip.Addr {
	if ip, err := address.Parse(string(key.target)); err == nil {
		return []netip.Addr{ip}
	}
	node := r.nodes.Load().Node(string(key.target))
	if node == nil {
		return nil
	}
	var hops []netip.Addr
	if hop, err := nextHop(node, key.cidr); err == nil {
		hops = append(hops, hop)
	}
	for _, a := range node.Status.Addresses {
		if ip, err := address.Parse(a.Address); err == nil && !slices.Contains(hops, ip) {
			hops = append(hops, ip)
		}
	}

	return hops
}

// routesVia returns the routes to a CIDR by one of some next hops.
func routesVia(all []client.Route, cidr netip.Prefix, hops []netip.Addr) []client.Route {
	var found []client.Route
	for _, row := range all {
		parsed, err := parseRoute(row)
		if err == nil && parsed.cidr == cidr && slices.Contains(hops, parsed.hop) {
			found = append(found, row)
		}
	}

	return found
}

// parsedRoute is a route of the router.
type parsedRoute struct {
	client.Route

	cidr netip.Prefix
	hop  netip.Addr
}

func parseRoute(row client.Route) (parsedRoute, error) {
	cidr, err := parseCIDR(row.Destination)
	if err != nil {
		return parsedRoute{}, err
	}
	hop, err := address.Parse(row.NextHop)

	return parsedRoute{row, cidr, hop}, err
}

// list returns the routes of a router as the route controller gets them, and records them.
func (r *Routes) list(ctx context.Context, nodes *nodeindex.Index, router *client.Router) []*cloudprovider.Route {
	rows := r.parse(ctx, router.Routes)
	r.refusals.listed(len(router.Routes))
	r.mu.Lock()
	defer r.mu.Unlock()
	served := map[netip.Prefix]bool{}
	for _, row := range rows {
		if node := nodeAt(nodes, row); node != nil && slices.Contains(podCIDRs(node), row.cidr) && !r.incomplete.Has(row.cidr) {
			served[row.cidr] = true
		}
	}
	r.listed, r.count = make(map[routeKey][]client.Route, len(rows)), len(router.Routes)
	var list []*cloudprovider.Route
	for _, row := range rows {
		listed := &cloudprovider.Route{Name: row.cidr.String(), DestinationCIDR: row.cidr.String()}
		if node := nodeAt(nodes, row); node != nil {
			listed.TargetNode, listed.DestinationCIDR = apitypes.NodeName(node.Name), route.TextOf(node, row.cidr)
		} else {
			listed.TargetNode, listed.Blackhole = apitypes.NodeName(row.hop.String()), true
		}
		key := routeKey{row.cidr, listed.TargetNode}
		known := len(r.listed[key]) > 0
		r.listed[key] = append(r.listed[key], row.Route)
		if known || !served[row.cidr] && len(nodes.Find(row.cidr.String())) > 0 {
			continue
		}
		list = append(list, listed)
	}

	return list
}

// nodeAt returns the Node that a route leads to, nil if there is none. If several Nodes
// have the address, which is unexpected, it is the one with the range of the route, or
// the first by name.
func nodeAt(nodes *nodeindex.Index, row parsedRoute) *v1.Node {
	found := nodes.Find(row.hop.String())
	if len(found) == 0 {
		return nil
	}

	return slices.MinFunc(found, func(a, b *v1.Node) int {
		hasA, hasB := slices.Contains(podCIDRs(a), row.cidr), slices.Contains(podCIDRs(b), row.cidr)
		switch {
		case hasA && !hasB:
			return -1
		case hasB && !hasA:
			return 1
		}

		return cmp.Compare(a.Name, b.Name)
	})
}

// parse returns the routes that can be parsed. Others are logged once, and stay.
func (r *Routes) parse(ctx context.Context, all []client.Route) []parsedRoute {
	r.mu.Lock()
	defer r.mu.Unlock()
	rows := make([]parsedRoute, 0, len(all))
	for _, row := range all {
		parsed, err := parseRoute(row)
		if err == nil {
			rows = append(rows, parsed)

			continue
		}
		if !r.skipped.Has(row) {
			klog.FromContext(ctx).Error(err, "Ignored a route of the router", "router", r.config.RouterID, "destination", row.Destination, "nextHop", row.NextHop)
			r.skipped.Insert(row)
		}
	}

	return rows
}
