package openstack

import (
	"cmp"
	"fmt"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/floatingip"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/octavia"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// reasonFixed is a load balancer that keeps what it was made with, although its Service wants
// something else.
const reasonFixed service.Reason = "LoadBalancerSettingsFixed"

// fixed warns of what the Service itself wants, by its fields, annotations or class, and
// its load balancer does not get: Octavia does not change it
// (https://docs.openstack.org/api-ref/load-balancer/v2/#update-a-load-balancer), and another
// floating IP would be another address. What the cloud-config has is for the new load
// balancers of all Services, and no reason for a warning.
func (in input) fixed(o *observed, d *desired) []service.Warning {
	want, config := d.balancer.LoadBalancer, in.config
	external := in.request.FloatingIP.NetworkID
	var kept []string
	for _, setting := range []struct{ what, want, config, has string }{
		{"subnet", want.VIP.SubnetID, config.SubnetID, o.info.VIPSubnetID},
		{"network", want.VIP.NetworkID, config.NetworkID, o.info.VIPNetworkID},
		{"port", want.VIP.PortID, "", o.info.VIPPortID},
		{"flavor", want.FlavorID, config.FlavorID, o.info.FlavorID},
		{"availability zone", want.Zone, config.AvailabilityZone, o.info.Zone.Value},
		{"external network", external, config.FloatingNetworkID, cmp.Or(o.externalNetwork(), external)},
	} {
		if setting.want != "" && setting.want != setting.config && setting.want != setting.has {
			kept = append(kept, fmt.Sprintf("%s %s instead of %s", setting.what, cmp.Or(setting.has, "none"), setting.want))
		}
	}
	var warnings []service.Warning
	if kept = append(kept, in.fixedMembers(o, d)...); len(kept) > 0 {
		warnings = append(warnings, service.Warn(reasonFixed, "Load balancer %s keeps what cannot be changed: %s", o.info.ID, plan.Commas(kept)))
	}
	if o.ignored != "" {
		warnings = append(warnings, service.Warn(reasonFixed, "Load balancer %s of the Service stays: annotation %s has %s instead. To use that one, delete the Service and create it again",
			o.info.ID, request.AnnotationLoadBalancerID, o.ignored))
	}
	if addr := want.VIP.Address; addr.IsValid() && addr.String() != o.info.VIPAddress {
		warnings = append(warnings, service.Warn(floatingip.AddressIgnored, "Address %s of spec.loadBalancerIP is not used: the load balancer has the address %s", addr, o.info.VIPAddress))
	}

	return warnings
}

// memberSubnet is the subnet that the Service itself wants for members, empty for none.
func (in input) memberSubnet() string {
	wanted, config := in.request.MemberSubnet.ID, in.config
	if wanted == cmp.Or(config.MemberSubnetID, config.SubnetID) {
		return ""
	}

	return wanted
}

// needsMembers reports whether the subnets of members have not been compared with the one that
// the Service wants: lists that Services share do not have them.
func (in input) needsMembers() bool {
	return in.memberSubnet() != "" && in.state.memberSubnet != in.memberSubnet()
}

// fixedMembers describes members that keep another subnet than the one that the Service wants.
func (in input) fixedMembers(o *observed, d *desired) []string {
	wanted := in.memberSubnet()
	if wanted == "" || o.created || o.parts.Shared {
		return nil
	}
	others := lists.Without(octavia.KeptSubnets(o.parts, d.balancer), []string{wanted})
	if len(others) == 0 {
		return nil
	}

	return []string{fmt.Sprintf("subnet %s of members instead of %s", plan.Words(others), wanted)}
}

// externalNetwork is the network of the floating IP, empty without one.
func (o *observed) externalNetwork() string {
	if o.floating == nil || o.floating.Current() == nil {
		return ""
	}

	return o.floating.Current().NetworkID
}
