package openstack

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
)

// allowPort refuses attributes that only administrators and the owner of the network
// may set (neutron: conf/policies/port.py). Address pairs are among these, so that
// there are none in a shared network.
func (k *call) allowPort(in *network, a attributes) error {
	if k.caller.canRead(in.projectID) {
		return nil
	}

	return k.forbid("update_port", a, []string{"port_security_enabled", "allowed_address_pairs"})
}

func updatePort(k *call) (response, error) {
	p, err := k.port(k.path("id"))
	if err != nil {
		return response{}, err
	}
	if !k.caller.canRead(p.projectID) {
		return response{}, notAllowed("update_port")
	}
	a, err := ports.change(k)
	if err != nil {
		return response{}, err
	}
	state := k.region.neutron
	if err := k.allowPort(state.networks.get(p.networkID), a); err != nil {
		return response{}, err
	}
	if _, err := k.constraint(); err != nil {
		return response{}, err
	}
	before, was := *p, p.document(state)
	err = k.changePort(p, a)
	if err == nil && reflect.DeepEqual(was, p.document(state)) {
		return ports.show(k, was) // nothing is written, and no revision compared (as tried with Zed)
	}
	if err == nil {
		err = k.revise(p.revision)
	}
	if err != nil {
		*p = before

		return response{}, err
	}
	p.touch(k.now())
	k.cloud.portsChanged(k.region, p.deviceID)

	return ports.show(k, p.document(state))
}

// changePort sets the attributes of a port.
func (k *call) changePort(p *port, a attributes) error {
	a.setText("name", &p.name)
	a.setText("description", &p.description)
	p.down = !a.truth("admin_state_up", !p.down)

	return k.secure(p, a)
}

// secure sets port security, security groups and address pairs. Groups and pairs
// need port security (neutron: plugins/ml2/plugin.py,
// _process_port_security; db/allowedaddresspairs_db.py).
func (k *call) secure(p *port, a attributes) error {
	p.insecure = !a.truth("port_security_enabled", !p.insecure)
	pairs := p.pairs
	if a.has("allowed_address_pairs") {
		var err error
		if pairs, err = k.parsePairs(p, a["allowed_address_pairs"]); err != nil {
			return err
		}
	}
	if p.insecure && len(pairs) > 0 {
		return conflict("AddressPairAndPortSecurityRequired", "Port Security must be enabled in order to have allowed address pairs on a port.")
	}
	p.pairs = pairs
	groups := p.groups
	if a.has("security_groups") {
		groups = nil
		_ = a.read("security_groups", &groups)
		if p.insecure && len(groups) > 0 {
			return fail(http.StatusBadRequest, "PortSecurityAndIPRequiredForSecurityGroups",
				"Port security must be enabled and port must have an IP address in order to use security groups.")
		}
	}
	if p.insecure && len(groups) > 0 {
		return conflict("PortSecurityPortHasSecurityGroup",
			"Port has security group associated. Cannot disable port security or IP address until security group is removed.")
	}
	for _, id := range groups {
		if g := k.region.neutron.groups.get(id); g == nil || (!slices.Contains(p.groups, id) && g.projectID != p.projectID && !k.caller.canRead(g.projectID)) {
			return missing("Security group", id)
		}
	}
	p.groups = sorted(slices.Clone(groups))

	return nil
}

// parsePairs reads address pairs. One without a MAC address is for that of the port
// (neutron: extensions/allowedaddresspairs.py, _validate_allowed_address_pairs).
func (k *call) parsePairs(p *port, raw json.RawMessage) ([]addressPair, error) {
	var entries []struct {
		IP  string  `json:"ip_address"`
		MAC *string `json:"mac_address"`
	}
	if err := json.Unmarshal(raw, &entries); err != nil {
		return nil, badRequest("Allowed address pairs must be a list.")
	}
	if most := k.cloud.quotasOf(p.projectID).AddressPairs; exceeds(most, 0, len(entries)) {
		return nil, fail(http.StatusBadRequest, "AllowedAddressPairExhausted", "The number of allowed address pair exceeds the maximum %d.", most)
	}
	var pairs []addressPair
	for _, e := range entries {
		if e.IP == "" {
			return nil, fail(http.StatusBadRequest, "AllowedAddressPairsMissingIP", "AllowedAddressPair must contain ip_address")
		}
		if _, err := netip.ParseAddr(e.IP); err != nil {
			if _, err := netip.ParsePrefix(e.IP); err != nil {
				return nil, badRequest("'%s' is not a valid IP address", e.IP)
			}
		}
		pair, given := addressPair{ip: e.IP, mac: p.mac}, "None"
		if e.MAC != nil {
			pair.mac, given = *e.MAC, *e.MAC
		}
		if slices.Contains(pairs, pair) {
			return nil, fail(http.StatusBadRequest, "DuplicateAddressPairInRequest",
				"Request contains duplicate address pair: mac_address %s ip_address %s.", given, e.IP)
		}
		pairs = append(pairs, pair)
	}
	slices.SortFunc(pairs, func(a, b addressPair) int { return compare(a.mac+a.ip, b.mac+b.ip) })

	return pairs, nil
}
