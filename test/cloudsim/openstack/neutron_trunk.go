package openstack

import (
	"slices"
)

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
