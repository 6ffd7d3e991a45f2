package openstack

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// vipChoice is where the virtual IP address of a new load balancer comes from.
type vipChoice struct {
	port            *port // of a user; nil when Octavia makes one
	network, subnet string
	address         netip.Addr // the zero value for any
	additional      []wantedIP
}

// lbVIP returns where a request puts the virtual IP address: the first of port,
// network and subnet that it names decides (octavia:
// api/v2/controllers/load_balancer.py, _validate_vip_request_object). What the caller
// cannot see in Neutron is 400 here, as what does not exist is.
func (k *call) lbVIP(values object) (*vipChoice, error) {
	rules := k.region.octavia.rules
	forms := []string{"vip_port_id", "vip_network_id", "vip_subnet_id"}
	for _, key := range forms {
		if values[key] != nil && slices.Contains(rules.noVIPBy, key) {
			return nil, invalid("use of %s is disallowed by this deployment's configuration.", key)
		}
	}
	portID, _ := values["vip_port_id"].(string)
	network, _ := values["vip_network_id"].(string)
	subnet, _ := values["vip_subnet_id"].(string)
	v := &vipChoice{network: network, subnet: subnet}
	if text, ok := values["vip_address"].(string); ok {
		v.address = netip.MustParseAddr(text)
	}
	var err error
	switch {
	case portID != "":
		err = k.vipByPort(v, portID)
	case network != "":
		err = k.vipByNetwork(v)
	case subnet != "":
		err = k.vipBySubnet(v)
	default:
		allowed := slices.DeleteFunc(forms, func(key string) bool { return slices.Contains(rules.noVIPBy, key) })

		return nil, invalid("VIP must contain one of: %s.", strings.Join(allowed, ", "))
	}
	if err != nil {
		return nil, err
	}
	if values["vip_qos_policy_id"] != nil {
		return nil, invalid("VIP QoS policy is not allowed in this deployment.")
	}
	if err := k.vipAdditional(v, values["additional_vips"]); err != nil {
		return nil, err
	}
	if rules.vipNetworks != nil && !slices.Contains(rules.vipNetworks, v.network) {
		return nil, invalid("Supplied VIP network_id is not allowed by the configuration of this deployment.")
	}

	return v, nil
}

// noSubresource is the response about an object of Neutron that the caller names
// (octavia: common/exceptions.py, InvalidSubresource).
func noSubresource(sort, id string) *apiError {
	return fail(http.StatusBadRequest, "", "%s %s not found.", sort, id)
}

// lbSubnet returns a subnet that the caller can use.
func (k *call) lbSubnet(id string) (*subnet, error) {
	n := k.region.neutron.visibleSubnet(id, k.caller.projectID, k.caller.admin())
	if n == nil {
		return nil, noSubresource("Subnet", id)
	}

	return n, nil
}

func (k *call) vipByPort(v *vipChoice, id string) error {
	p := k.region.neutron.visiblePort(id, k.caller.projectID, k.caller.admin())
	if p == nil {
		return noSubresource("Port", id)
	}
	if p.deviceID != "" {
		return invalid("Port %s is already used by device %s ", p.id, p.deviceID)
	}
	v.port, v.network = p, p.networkID
	switch {
	case v.subnet != "":
		if _, err := k.lbSubnet(v.subnet); err != nil {
			return err
		}
		if v.address = p.address(v.subnet); !v.address.IsValid() {
			return invalid("No VIP address found on the specified VIP port within the specified subnet.")
		}
	case v.address.IsValid():
		i := slices.IndexFunc(p.fixedIPs, func(f fixedIP) bool { return f.ip == v.address })
		if i < 0 {
			return invalid("Specified VIP address not found on the specified VIP port.")
		}
		v.subnet = p.fixedIPs[i].subnetID
	case len(p.fixedIPs) == 1:
		v.subnet, v.address = p.fixedIPs[0].subnetID, p.fixedIPs[0].ip
	default:
		return invalid("VIP port's subnet could not be determined. Please specify either a VIP subnet or address.")
	}

	return nil
}

func (k *call) vipBySubnet(v *vipChoice) error {
	n, err := k.lbSubnet(v.subnet)
	if err != nil {
		return err
	}
	v.network = n.networkID

	return nil
}

// vipByNetwork chooses the first IPv4 subnet with enough free addresses, or the first
// one of all: two for a load balancer with one virtual machine.
func (k *call) vipByNetwork(v *vipChoice) error {
	state := k.region.neutron
	in := state.visibleNetwork(v.network, k.caller.projectID, k.caller.admin())
	if in == nil {
		return noSubresource("Network", v.network)
	}
	subnets := state.subnetsOf(in.id)
	if v.subnet != "" {
		if !slices.ContainsFunc(subnets, func(n *subnet) bool { return n.id == v.subnet }) {
			return noSubresource("Subnet", v.subnet)
		}

		return nil
	}
	if v.address.IsValid() {
		i := slices.IndexFunc(subnets, func(n *subnet) bool { return n.cidr.Contains(v.address) })
		if i < 0 {
			return invalid("Supplied network does not contain a subnet for VIP address specified.")
		}
		v.subnet = subnets[i].id

		return nil
	}
	if len(subnets) == 0 {
		return invalid("Supplied network does not contain a subnet.")
	}
	subnets = slices.DeleteFunc(subnets, func(n *subnet) bool { return state.available(n, 2) < 2 })
	if len(subnets) == 0 {
		return invalid("Subnet(s) in the supplied network do not contain enough available IPs.")
	}
	i := slices.IndexFunc(subnets, func(n *subnet) bool { return n.cidr.Addr().Is4() })
	v.subnet = subnets[max(i, 0)].id

	return nil
}

// vipAdditional checks further addresses: one for each subnet, all in one network.
func (k *call) vipAdditional(v *vipChoice, value any) error {
	raw, _ := value.(json.RawMessage)
	if raw == nil {
		return nil
	}
	var rows []attributes
	if err := json.Unmarshal(raw, &rows); err != nil {
		return invalidField("additional_vips", pythonText(raw), "Wrong type. Expected a list")
	}
	used := []string{v.subnet}
	for _, row := range rows {
		values, err := k.lbValues(lbAdditionalVIPs, row, inPost)
		if err != nil {
			return err
		}
		n, err := k.lbSubnet(values["subnet_id"].(string))
		if err != nil {
			return err
		}
		if slices.Contains(used, n.id) {
			return invalid("Duplicate VIP subnet(s) specified. Only one IP can be bound per subnet.")
		}
		if n.networkID != v.network {
			return invalid("All VIP subnets must belong to the same network.")
		}
		used = append(used, n.id)
		wanted := wantedIP{n.id, netip.Addr{}}
		if text, ok := values["ip_address"].(string); ok {
			wanted = wantedIP{n.id, netip.MustParseAddr(text)}
		}
		v.additional = append(v.additional, wanted)
	}

	return nil
}

// lbAdditionalVIPs are the entries of additional_vips.
var lbAdditionalVIPs = &lbSort{
	argument: "load_balancer.loadbalancer.additional_vips",
	fields: []lbField{
		{name: "subnet_id", use: inPost, kind: uuid, mandatory: true},
		{name: "ip_address", use: inPost, kind: ipAddress},
	},
}

// lbTakeVIP gives a load balancer its port: that of the user, whose device stays
// empty, or a new one. What Neutron refuses is an error of the driver: the status is
// 500, whatever Neutron's was (octavia: api/drivers/amphora_driver/v2/driver.py,
// create_vip_port; compared with Zed).
func (k *call) lbTakeVIP(lb *lbObject, v *vipChoice) error {
	p := v.port
	if p == nil {
		made, err := k.cloud.createVIP(k.region, vipSpec{
			lb: lb.id, project: lb.projectID, network: v.network, subnet: v.subnet, ip: v.address, name: vipName(lb),
		})
		if err != nil {
			k.region.octavia.remove(lb)

			return k.vipRefused(lb, err)
		}
		p, lb.ownPort = made, true
	}
	if !v.address.IsValid() {
		v.address = p.address(v.subnet)
	}
	lb.set(object{
		"vip_address": v.address.String(), "vip_port_id": p.id, "vip_subnet_id": v.subnet, "vip_network_id": v.network,
	})
	if err := k.vipAddAddresses(lb, p, v.additional); err != nil {
		k.lbUndo(lb)

		return k.vipRefused(lb, err)
	}

	return nil
}

// vipName is the name of a port: the driver of OVN has one of its own
// (ovn-octavia-provider: common/constants.py, LB_VIP_PORT_PREFIX).
func vipName(lb *lbObject) string {
	if lb.text("provider") == providerOVN {
		return "ovn-lb-vip-" + lb.id
	}

	return ""
}

func (k *call) vipRefused(lb *lbObject, err error) error {
	problem := asAPIError(err)

	return fail(http.StatusInternalServerError, "", "Provider '%s' reports error: %s\nNeutron server returns request_ids: ['req-%s']",
		lb.text("provider"), problem.message, k.id)
}

// vipAddAddresses adds the addresses of further subnets to a port. In a stateless
// subnet it has one already.
func (k *call) vipAddAddresses(lb *lbObject, p *port, wanted []wantedIP) error {
	state := k.region.neutron
	shown := []object{}
	for _, w := range wanted {
		ip := p.address(w.subnetID)
		if !ip.IsValid() {
			ips, err := state.wantedAddresses(p, state.subnetsOf(p.networkID), []wantedIP{w})
			if err != nil {
				return err
			}
			p.fixedIPs = append(slices.Clone(p.fixedIPs), state.lease(p, ips)...)
			ip = p.address(w.subnetID)
		}
		shown = append(shown, object{"subnet_id": w.subnetID, "ip_address": ip.String()})
	}
	lb.set(object{"additional_vips": shown})

	return nil
}

// vips returns all virtual IP addresses of a load balancer.
func (o *lbObject) vips() []netip.Addr {
	var all []netip.Addr
	if ip, err := netip.ParseAddr(o.text("vip_address")); err == nil {
		all = append(all, ip)
	}
	additional, _ := o.settings["additional_vips"].([]object)
	for _, vip := range additional {
		all = append(all, netip.MustParseAddr(vip["ip_address"].(string)))
	}

	return all
}
