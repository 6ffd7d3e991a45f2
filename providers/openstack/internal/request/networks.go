package request

import (
	"cmp"
	"net/netip"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/subnetpattern"
)

// readNetworks decides where the addresses come from. The order of precedence differs:
//
//	VIP, external Service with a class    class, annotation, cloud-config
//	VIP, else                             annotation, class, cloud-config
//	members                               member-subnet-id: annotation, class, cloud-config;
//	                                      then subnet-id: cloud-config, annotation, class
//	floating IP                           class, annotation, cloud-config
func (p *parser) readNetworks() {
	r := p.request
	wanted := p.wantedAddress()
	subnet, network := p.id(AnnotationSubnetID), p.id(AnnotationNetworkID)
	if r.Internal {
		r.VIP.SubnetID = cmp.Or(subnet, p.class.SubnetID, p.settings.Networks.SubnetID)
		r.VIP.NetworkID = cmp.Or(network, p.class.NetworkID, p.settings.Networks.NetworkID)
	} else {
		r.VIP.SubnetID = cmp.Or(p.class.SubnetID, subnet, p.settings.Networks.SubnetID)
		r.VIP.NetworkID = cmp.Or(p.class.NetworkID, network, p.settings.Networks.NetworkID)
	}
	r.MemberSubnet.ID = cmp.Or(
		p.id(AnnotationMemberSubnetID), p.class.MemberSubnetID, p.settings.Networks.MemberSubnetID,
		p.settings.Networks.SubnetID, subnet, p.class.SubnetID,
	)
	r.VIP.Detect = r.VIP.SubnetID == "" && r.VIP.NetworkID == ""
	r.MemberSubnet.Detect = r.MemberSubnet.ID == "" && r.VIP.Detect
	if r.VIP.PortID = p.id(AnnotationPortID); r.VIP.PortID != "" {
		r.VIP.SubnetID, r.VIP.NetworkID, r.VIP.Detect = "", "", false
	}
	if r.Internal || r.Family == address.IPv6 {
		r.VIP.Address = wanted
	}
	p.readFloatingIP(wanted)
}

// wantedAddress is spec.loadBalancerIP, the zero Addr without it.
func (p *parser) wantedAddress() netip.Addr {
	text := p.svc.Spec.LoadBalancerIP
	if text == "" {
		return netip.Addr{}
	}
	addr, err := address.Parse(text)
	switch family := p.request.Family; {
	case err != nil:
		p.reject("spec.loadBalancerIP %q is no IP address", text)
	case family != "" && address.FamilyOf(addr) != family:
		p.reject("spec.loadBalancerIP %s is not of the first family in spec.ipFamilies, which is %s", addr, family)
	}

	return addr
}

// readFloatingIP decides the floating IP. Subnets come from the first of class,
// annotations and cloud-config that has any of the three settings about them.
func (p *parser) readFloatingIP(wanted netip.Addr) {
	r := p.request
	r.FloatingIP.Keep = p.boolean(AnnotationKeepFloatingIP, false)
	if r.Internal {
		for _, name := range floatingAnnotations {
			p.ignore(name, "an internal load balancer has no floating IP")
		}

		return
	}
	if r.Family != address.IPv6 {
		r.FloatingIP.Address = wanted
	}
	network := p.id(AnnotationFloatingNetworkID)
	if !AnnotationFloatingNetworkID.IsSet(p.svc) {
		network = p.settings.Networks.FloatingNetworkID
	}
	r.FloatingIP.NetworkID = cmp.Or(p.class.FloatingNetworkID, network)
	annotated := floatingSubnets{
		id: p.id(AnnotationFloatingSubnetID), name: AnnotationFloatingSubnet.Value(p.svc), tags: AnnotationFloatingSubnetTags.Value(p.svc),
	}
	if annotated.id != "" {
		p.ignore(AnnotationFloatingSubnet, string(AnnotationFloatingSubnetID)+" takes precedence")
		p.ignore(AnnotationFloatingSubnetTags, string(AnnotationFloatingSubnetID)+" takes precedence")
	}
	p.warnHiddenByClass()
	chosen := cmp.Or(subnetsOf(p.class), annotated, subnetsOf(p.settings.Networks))
	place := " of the cloud-config"
	if chosen == annotated {
		place = " of an annotation"
	}
	own := cmp.Or(subnetsOf(p.class), annotated) != floatingSubnets{}
	r.FloatingIP.Named = own || r.FloatingIP.NetworkID != "" || r.FloatingIP.Address.IsValid()
	p.useSubnets(chosen, place)
}

// floatingAnnotations have no effect on an internal Service.
var floatingAnnotations = []annotation.Name{
	AnnotationFloatingNetworkID, AnnotationFloatingSubnetID, AnnotationFloatingSubnet, AnnotationFloatingSubnetTags,
}

// floatingSubnets are the settings of one place about subnets of floating IPs.
type floatingSubnets struct{ id, name, tags string }

func subnetsOf(n Networks) floatingSubnets {
	return floatingSubnets{id: n.FloatingSubnetID, name: n.FloatingSubnet, tags: n.FloatingSubnetTags}
}

// useSubnets takes over the settings of one place. The ID takes precedence over the
// others.
func (p *parser) useSubnets(s floatingSubnets, place string) {
	f := &p.request.FloatingIP
	if f.SubnetID = s.id; s.id != "" {
		return
	}
	var err error
	if f.Subnets, err = subnetpattern.ParseName(s.name); err != nil {
		p.reject("floating-subnet%s: %w", place, err)
	}
	if f.Tags, err = subnetpattern.ParseTags(s.tags); err != nil {
		p.reject("floating-subnet-tags%s: %w", place, err)
	}
}

// warnHiddenByClass warns of annotations of an external Service that its class takes
// precedence over.
func (p *parser) warnHiddenByClass() {
	const why = "the class takes precedence"
	for _, hidden := range []struct {
		name annotation.Name
		by   bool
	}{
		{AnnotationNetworkID, p.class.NetworkID != ""},
		{AnnotationFloatingNetworkID, p.class.FloatingNetworkID != ""},
		{AnnotationFloatingSubnetID, subnetsOf(p.class) != floatingSubnets{}},
		{AnnotationFloatingSubnet, subnetsOf(p.class) != floatingSubnets{}},
		{AnnotationFloatingSubnetTags, subnetsOf(p.class) != floatingSubnets{}},
	} {
		if hidden.by {
			p.ignore(hidden.name, why)
		}
	}
}
