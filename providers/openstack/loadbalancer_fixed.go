package openstack

import (
	"cmp"
	"fmt"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/floatingip"
)

// reasonFixed is a load balancer that keeps what it was made with, although its Service wants
// something else.
const reasonFixed service.Reason = "LoadBalancerSettingsFixed"

// warnFixed warns of what the Service itself wants, by its fields, annotations or class, and
// its load balancer does not get: Octavia does not change it
// (https://docs.openstack.org/api-ref/load-balancer/v2/#update-a-load-balancer), and another
// floating IP would be another address. What the cloud-config has is for the new load
// balancers of all Services, and no reason for a warning.
func (r *run) warnFixed(o *observed, d *desired) {
	want, config := d.balancer.LoadBalancer, r.Config.LoadBalancer
	external := r.request.FloatingIP.NetworkID
	var kept []string
	for _, setting := range []struct{ what, want, config, has string }{
		{"subnet", want.VIP.SubnetID, config.SubnetID, o.info.VIPSubnetID},
		{"network", want.VIP.NetworkID, config.NetworkID, o.info.VIPNetworkID},
		{"port", want.VIP.PortID, "", o.info.VIPPortID},
		{"flavor", want.FlavorID, config.FlavorID, o.info.FlavorID},
		{"availability zone", want.Zone, config.AvailabilityZone, o.info.Zone},
		{"external network", external, config.FloatingNetworkID, cmp.Or(o.externalNetwork(), external)},
	} {
		if setting.want != "" && setting.want != setting.config && setting.want != setting.has {
			kept = append(kept, fmt.Sprintf("%s %s instead of %s", setting.what, cmp.Or(setting.has, "none"), setting.want))
		}
	}
	if len(kept) > 0 {
		r.warn(service.Warn(reasonFixed, "Load balancer %s keeps what cannot be changed: %s", o.info.ID, plan.Commas(kept)))
	}
	if addr := want.VIP.Address; addr.IsValid() && addr.String() != o.info.VIPAddress {
		r.warn(service.Warn(floatingip.AddressIgnored, "Address %s of spec.loadBalancerIP is not used: the load balancer has the address %s", addr, o.info.VIPAddress))
	}
}

// externalNetwork is the network of the floating IP, empty without one.
func (o *observed) externalNetwork() string {
	if o.floating == nil || o.floating.Current() == nil {
		return ""
	}

	return o.floating.Current().NetworkID
}
