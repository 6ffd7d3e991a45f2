package openstack

import (
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/floatingip"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// keptVIP returns the VIP of a load balancer of the upstream controller that the Service keeps
// as its address, the zero Addr for none.
//
// The upstream controller publishes the VIP of an external Service if it finds no external
// network, as it does where networks are filtered by the project: they belong to another one.
// This controller finds the network, and a floating IP would take the published address from
// clients. So the VIP stays, until the user names what the floating IP is to come from.
//
//	record         tag with a UID   published   then
//	none           none             the VIP     the upstream controller left it: it is kept
//	with this VIP  any              the VIP     it was kept before
//	any other      any              any         not kept
//
// So the address of a Service that has a record without the VIP is not kept: it was made by
// this controller, or was internal, which is recorded by the first sync. That of a Service that
// stops being internal before any sync is kept, since nothing shows that it was.
func (in input) keptVIP(info *client.LoadBalancerInfo) netip.Addr {
	vip, err := netip.ParseAddr(info.VIPAddress)
	if err != nil {
		return netip.Addr{}
	}
	vip = vip.Unmap()
	isCarriedOver := len(in.existing.Recorded) == 0 && request.UIDOf(info.Tags) == ""
	if !isCarriedOver && in.existing.Kept != vip || !in.publishes(vip) {
		return netip.Addr{}
	}

	return vip
}

// publishes reports whether the status of the Service is that of a load balancer with an
// address. The annotation has the address if the status has a hostname.
func (in input) publishes(addr netip.Addr) bool {
	ingress := in.service.Status.LoadBalancer.Ingress
	if len(ingress) == 0 || in.publishedAddress().IsValid() {
		return len(ingress) > 0 && in.publishedAddress() == addr
	}
	expected := in.request.Ingress(addr).Hostname

	return expected != "" && slices.ContainsFunc(ingress, func(i v1.LoadBalancerIngress) bool { return i.Hostname == expected })
}

// floatingIP returns what the Service wants to have on its VIP.
func (in input) floatingIP(o *observed) *floatingip.Desired {
	wanted := floatingip.Build(in.request, o.isOwner())
	if in.create && o.info != nil {
		wanted.Kept = in.keptVIP(o.info)
	}

	return wanted
}

// keep stores for the record whether the VIP is kept.
func (r *run) keep(o *observed, wanted *floatingip.Desired) {
	r.kept = netip.Addr{}
	if wanted.Keeps(o.floating) {
		r.kept = o.floating.VIP
	}
}
