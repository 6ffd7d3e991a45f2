package openstack

import (
	"encoding/json"
	"net/http"
	"slices"
)

// trunks are the trunks of the API (neutron-lib: api/definitions/trunk.py).
var trunks = &resource{
	single: "trunk", plural: "trunks", sort: "Trunk",
	attributes: []attribute{
		nameAttribute, readOnly("status"),
		{name: "port_id", check: isUUID, post: true, need: true},
		{name: "admin_state_up", post: true, put: true},
		{name: "sub_ports", post: true, list: true},
	},
}

func (t *trunk) document() object {
	return t.standard.document().merge(object{
		"port_id": t.portID, "admin_state_up": !t.down, "status": t.status, "sub_ports": t.subportDocuments(),
	})
}

func (t *trunk) subportDocuments() []object {
	rows := []object{}
	for _, sub := range t.subports {
		rows = append(rows, object{"port_id": sub.portID, "segmentation_type": sub.kind, "segmentation_id": sub.segment})
	}

	return rows
}

// details are the trunk_details of the parent port. They have no addresses of the
// subports, and no network (neutron: services/trunk/plugin.py,
// _extend_port_trunk_details).
func (t *trunk) details(s *neutronState) object {
	rows := t.subportDocuments()
	for _, row := range rows {
		row["mac_address"] = s.ports.get(row["port_id"].(string)).mac
	}

	return object{"trunk_id": t.id, "sub_ports": rows}
}

// trunkOf returns the trunk with a parent port, nil when there is none.
func (s *neutronState) trunkOf(portID string) *trunk {
	if s.trunks.len() == 0 {
		return nil
	}

	return first(s.trunks.where(func(t *trunk) bool { return t.portID == portID }))
}

// trunkWith returns the trunk with a subport, nil when there is none.
func (s *neutronState) trunkWith(portID string) *trunk {
	return first(s.trunks.where(func(t *trunk) bool {
		return slices.ContainsFunc(t.subports, func(sub subport) bool { return sub.portID == portID })
	}))
}

// first returns the first one, nil when there is none.
func first[T any](rows []*T) *T {
	if len(rows) == 0 {
		return nil
	}

	return rows[0]
}

func (k *call) trunk(id string) (*trunk, error) {
	t := k.region.neutron.trunks.get(id)
	if t == nil || !k.caller.canRead(t.projectID) {
		return nil, missing("Trunk", id)
	}

	return t, nil
}

func listTrunks(k *call) (response, error) {
	rows := []object{}
	for _, t := range k.region.neutron.trunks.all() {
		if k.caller.canRead(t.projectID) {
			rows = append(rows, t.document())
		}
	}

	return trunks.list(k, rows)
}

func showTrunk(k *call) (response, error) {
	t, err := k.trunk(k.path("id"))
	if err != nil {
		return response{}, err
	}

	return trunks.show(k, t.document())
}

func createTrunk(k *call) (response, error) {
	return trunks.create(k, func(a attributes) (object, error) {
		parent, err := k.port(a.text("port_id"))
		if err != nil {
			return nil, err
		}
		state := k.region.neutron
		if state.trunkWith(parent.id) != nil {
			return nil, conflict("TrunkPortInUse", "Port %s is in use by another trunk.", parent.id)
		}
		if state.trunkOf(parent.id) != nil {
			return nil, parentInUse(parent.id)
		}
		t := &trunk{standard: k.cloud.newStandard("trunk", a.text("name"), k.owner(a)), portID: parent.id, status: "DOWN"}
		t.revision, t.description = 0, a.text("description")
		t.down = !a.truth("admin_state_up", true)
		if parent.status == "ACTIVE" {
			t.status = "ACTIVE"
		}
		added, err := k.parseSubports(t, a["sub_ports"])
		if err != nil {
			return nil, err
		}
		state.trunks.put(t.id, t)
		k.cloud.attachSubports(k.region, t, added)

		return t.document(), nil
	})
}

func parentInUse(portID string) *apiError {
	return conflict("ParentPortInUse", "Port %s is currently in use and is not eligible for use as a parent port.", portID)
}

// parseSubports reads and checks subports that are added to a trunk (neutron:
// services/trunk/rules.py, SubPortsValidator).
func (k *call) parseSubports(t *trunk, raw json.RawMessage) ([]subport, error) {
	var entries []struct {
		PortID  string `json:"port_id"`
		Segment *int   `json:"segmentation_id"`
		Kind    string `json:"segmentation_type"`
	}
	if raw != nil && json.Unmarshal(raw, &entries) != nil {
		return nil, invalidInput("Invalid data format for subports: '%s'", python(raw))
	}
	state := k.region.neutron
	all := slices.Clone(t.subports)
	for _, e := range entries {
		p, err := k.port(e.PortID)
		if err != nil {
			return nil, err
		}
		if e.Segment == nil || e.Kind == "" {
			return nil, invalidInput("Invalid subport details '{'port_id': '%s'}': missing segmentation information. "+
				"Must specify both segmentation_id and segmentation_type", p.id)
		}
		if *e.Segment < 1 || *e.Segment > 4094 {
			return nil, invalidInput("Segmentation ID '%d' is not in range", *e.Segment)
		}
		if p.id == t.portID || state.trunkOf(p.id) != nil {
			return nil, parentInUse(p.id)
		}
		if state.trunkWith(p.id) != nil || slices.ContainsFunc(all, func(s subport) bool { return s.portID == p.id }) {
			return nil, conflict("TrunkPortInUse", "Port %s is in use by another trunk.", p.id)
		}
		if slices.ContainsFunc(all, func(s subport) bool { return s.kind == e.Kind && s.segment == *e.Segment }) {
			return nil, conflict("DuplicateSubPort", "segmentation_type %s and segmentation_id %d already in use on trunk %s.", e.Kind, *e.Segment, t.id)
		}
		all = append(all, subport{p.id, e.Kind, *e.Segment})
	}

	return all[len(t.subports):], nil
}

// attachSubports adds subports to a trunk. The driver makes them ports of the device
// of the trunk's parent, with a device owner of their own; the server's addresses
// in Nova have none of theirs (neutron: services/trunk/rpc/server.py,
// update_subport_bindings).
func (c *Cloud) attachSubports(r *region, t *trunk, added []subport) {
	state := r.neutron
	parent := state.ports.get(t.portID)
	for _, sub := range added {
		p := state.ports.get(sub.portID)
		state.setDevice(p, "", ownerSubport)
		p.status, p.host = parent.status, parent.host
		p.touch(c.now())
	}
	t.subports = append(slices.Clone(t.subports), added...)
}

func (c *Cloud) detachSubport(r *region, sub subport) {
	p := r.neutron.ports.get(sub.portID)
	r.neutron.setDevice(p, "", "")
	p.status, p.host = "DOWN", ""
	p.touch(c.now())
}

func updateTrunk(k *call) (response, error) {
	t, err := k.trunk(k.path("id"))
	if err != nil {
		return response{}, err
	}
	a, err := trunks.change(k)
	if err != nil {
		return response{}, err
	}
	if err := k.revise(t.revision); err != nil {
		return response{}, err
	}
	a.setText("name", &t.name)
	a.setText("description", &t.description)
	t.down = !a.truth("admin_state_up", !t.down)
	t.touch(k.now())

	return trunks.show(k, t.document())
}

func deleteTrunk(k *call) (response, error) {
	t, err := k.trunk(k.path("id"))
	if err != nil {
		return response{}, err
	}
	parent := k.region.neutron.ports.get(t.portID)
	if parent.host != "" { // bound to a running server
		return response{}, conflict("TrunkInUse", "Trunk %s is currently in use.", t.id)
	}
	for _, sub := range t.subports {
		k.cloud.detachSubport(k.region, sub)
	}
	k.region.neutron.trunks.remove(t.id)

	return response{status: http.StatusNoContent}, nil
}

func listSubports(k *call) (response, error) {
	t, err := k.trunk(k.path("id"))
	if err != nil {
		return response{}, err
	}

	return reply(http.StatusOK, object{"sub_ports": t.subportDocuments()})
}

func addSubports(k *call) (response, error) {
	t, raw, err := k.subportsOf()
	if err != nil {
		return response{}, err
	}
	added, err := k.parseSubports(t, raw)
	if err != nil {
		return response{}, err
	}
	k.cloud.attachSubports(k.region, t, added)
	t.touch(k.now())

	return reply(http.StatusOK, t.document())
}

// subportsOf returns the trunk of a call, which must be enabled, and its body.
func (k *call) subportsOf() (*trunk, json.RawMessage, error) {
	t, err := k.trunk(k.path("id"))
	if err != nil {
		return nil, nil, err
	}
	if t.down {
		return nil, nil, conflict("TrunkDisabled", "Trunk %s is currently disabled.", t.id)
	}
	var body map[string]json.RawMessage
	if json.Unmarshal(k.body, &body) != nil {
		return nil, nil, badRequest("Body contains invalid data")
	}

	return t, body["sub_ports"], nil
}

func removeSubports(k *call) (response, error) {
	t, raw, err := k.subportsOf()
	if err != nil {
		return response{}, err
	}
	var entries []struct {
		PortID string `json:"port_id"`
	}
	if json.Unmarshal(raw, &entries) != nil {
		return response{}, invalidInput("Invalid data format for subports: '%s'", python(raw))
	}
	rest := slices.Clone(t.subports)
	var gone []subport
	for _, e := range entries {
		i := slices.IndexFunc(rest, func(s subport) bool { return s.portID == e.PortID })
		if i < 0 {
			return response{}, fail(http.StatusNotFound, "SubPortNotFound", "SubPort %s on trunk %s could not be found.", e.PortID, t.id)
		}
		gone = append(gone, rest[i])
		rest = slices.Delete(rest, i, i+1)
	}
	for _, sub := range gone {
		k.cloud.detachSubport(k.region, sub)
	}
	t.subports = rest
	t.touch(k.now())

	return reply(http.StatusOK, t.document())
}
