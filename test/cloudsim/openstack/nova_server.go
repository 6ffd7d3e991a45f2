package openstack

import (
	"encoding/json"
	"net/http"
	"slices"
)

// showServer responds with a server. From 2.69 on, one whose cell is down is 200
// with the status UNKNOWN, unless it is being deleted.
func showServer(k *call) (response, error) {
	s, err := k.seen(k.path("id"))
	if err == nil {
		o := k.serverDocument(s)
		if k.minor >= 71 {
			o["server_groups"] = []string{}
		}

		return found("server", o)
	}
	if s == nil || k.minor < 69 || asAPIError(err).status != http.StatusInternalServerError {
		return response{}, err
	}
	if s.deleting {
		return response{}, noServer(s.id)
	}

	return found("server", k.unknownServer(s))
}

// listServerTags responds with the tags, from 2.26 on (nova:
// api/openstack/compute/server_tags.py).
func listServerTags(k *call) (response, error) {
	if k.minor < 26 {
		return response{}, fail(http.StatusNotFound, "", "The resource could not be found.")
	}
	s, err := k.seen(k.path("id"))
	if err != nil {
		return response{}, err
	}

	return found("tags", orEmptyList(s.tags))
}

// listServerInterfaces responds with the ports of a server (nova: api-ref, port
// interfaces).
func listServerInterfaces(k *call) (response, error) {
	s, err := k.seen(k.path("id"))
	if err != nil {
		return response{}, err
	}
	rows := []object{}
	for _, p := range k.region.neutron.portsOf(s.id) {
		ips := make([]object, len(p.fixedIPs))
		for i, have := range p.fixedIPs {
			ips[i] = object{"subnet_id": have.subnetID, "ip_address": have.ip.String()}
		}
		row := object{"net_id": p.networkID, "port_id": p.id, "mac_addr": p.mac, "port_state": p.status, "fixed_ips": ips}
		if k.minor >= 70 {
			row["tag"] = nil
		}
		rows = append(rows, row)
	}

	return found("interfaceAttachments", rows)
}

// changeable returns a server that the caller may change.
func (k *call) changeable() (*server, error) {
	s, err := k.seen(k.path("id"))
	if err != nil {
		return nil, err
	}

	return s, k.requireWriter()
}

// updateServer changes the name.
func updateServer(k *call) (response, error) {
	a, err := k.object("server")
	if err != nil {
		return response{}, fail(http.StatusBadRequest, "", "Malformed request body")
	}
	s, err := k.changeable()
	if err != nil {
		return response{}, err
	}
	name := s.name
	if err := a.read("name", &name); err != nil || name == "" || len(name) > 255 {
		return response{}, fail(http.StatusBadRequest, "", "Invalid input for field/attribute name. Value: %s.", a["name"])
	}
	s.name, s.updated = name, k.now()

	return found("server", k.serverDocument(s))
}

// deleteServer deletes a server: it stays with the task deleting for
// [Delays].ServerDelete.
func deleteServer(k *call) (response, error) {
	s, err := k.changeable()
	if err != nil {
		return response{}, err
	}
	k.cloud.act(s, "delete", k)
	s.deleting = true
	region, id := k.region.name, s.id
	k.cloud.after(k.cloud.delays.ServerDelete, func(c *Cloud) {
		r := c.region(region)
		if s := r.nova.servers.get(id); s != nil && s.status != "DELETED" {
			c.finishDelete(r, s)
		}
	})

	return reply(http.StatusNoContent, nil)
}

// runServerAction starts or stops a server, which takes effect at once.
func runServerAction(k *call) (response, error) {
	var body map[string]json.RawMessage
	if err := json.Unmarshal(k.body, &body); err != nil {
		return response{}, fail(http.StatusBadRequest, "", "Malformed request body")
	}
	if len(body) != 1 {
		return response{}, fail(http.StatusBadRequest, "", "There is no such action: %s", quoted(sortedKeys(body)))
	}
	wanted := sortedKeys(body)[0]
	change, ok := map[string]struct{ action, from, to string }{
		"os-start": {"start", "SHUTOFF", "ACTIVE"},
		"os-stop":  {"stop", "ACTIVE", "SHUTOFF"},
	}[wanted]
	if !ok {
		return response{}, fail(http.StatusBadRequest, "", "There is no such action: %s", wanted)
	}
	s, err := k.changeable()
	if err != nil {
		return response{}, err
	}
	if s.status != change.from {
		return response{}, fail(http.StatusConflict, "", "Cannot '%s' instance %s while it is in vm_state %s",
			change.action, s.id, vmStatuses[s.status].vmState)
	}
	k.cloud.act(s, change.action, k)
	s.status = change.to

	return reply(http.StatusAccepted, nil)
}

// acted returns a server whose actions the caller may read: from 2.21 on also one
// that is deleted, until it is archived (nova: api/openstack/compute/instance_actions.py).
func (k *call) acted() (*server, error) {
	s := k.region.nova.servers.get(k.path("id"))
	if s == nil || (s.status == "DELETED" && k.minor < 21) {
		return nil, noServer(k.path("id"))
	}

	return s, k.reachable(s)
}

// listServerActions responds with what was done to a server, the latest first.
func listServerActions(k *call) (response, error) {
	s, err := k.acted()
	if err != nil {
		return response{}, err
	}
	rows := []object{}
	for _, a := range slices.Backward(s.actions) {
		rows = append(rows, k.actionDocument(s, a))
	}

	return found("instanceActions", rows)
}

func (k *call) actionDocument(s *server, a serverAction) object {
	o := object{
		"action": a.action, "instance_uuid": s.id, "request_id": requestID(s, a), "user_id": a.userID, "project_id": a.projectID,
		"start_time": rounded(a.start).Format(novaTimeMicro), "message": nil,
	}
	if k.minor >= 58 {
		o["updated_at"] = rounded(a.updated).Format(novaTimeMicro)
	}

	return o
}

// requestID is the ID of the request that an action came from.
func requestID(s *server, a serverAction) string {
	if a.request != "" {
		return a.request
	}

	return "req-" + stableUUID(a.action+s.id)
}
