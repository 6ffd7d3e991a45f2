package openstack

import (
	"maps"
	"time"
)

// The forms of times in responses of Nova.
const (
	novaTime      = "2006-01-02T15:04:05Z"
	novaTimeMicro = "2006-01-02T15:04:05.000000"
)

// ImageID is the ID of the image of all servers.
const ImageID = "9a1f0e5c-0b0a-4c58-a0d4-6e0a3b9f7d11"

// basicDocument is a server in a list without details.
func (k *call) basicDocument(s *server) object {
	return object{"id": s.id, "name": s.name, "links": k.novaLinks("/servers/" + s.id)}
}

// unknownBasic and unknownDetail are servers of a cell that is down, in lists (nova:
// api/openstack/compute/views/servers.py, basic and _show_from_down_cell).
func (k *call) unknownBasic(s *server) object {
	return object{"id": s.id, "status": "UNKNOWN", "links": k.novaLinks("/servers/" + s.id)}
}

func (k *call) unknownDetail(s *server) object {
	o := k.unknownBasic(s)
	o["tenant_id"], o["created"] = s.projectID, rounded(s.created).Format(novaTime)

	return o
}

// unknownServer is the response about a single server of a cell that is down, by
// what the API's own database has.
func (k *call) unknownServer(s *server) object {
	o := k.unknownDetail(s)
	o["image"], o["flavor"] = k.imageDocument(), k.embeddedFlavor(s)
	o["OS-EXT-AZ:availability_zone"] = "UNKNOWN"
	if s.requestedZone != "" {
		o["OS-EXT-AZ:availability_zone"] = s.requestedZone
	}
	o["OS-EXT-STS:power_state"], o["user_id"] = 0, s.userID
	if k.minor >= 71 {
		o["server_groups"] = []string{}
	}

	return o
}

// serverDocument is a server with details, in the microversion of the call (nova:
// api/openstack/compute/views/servers.py, show; api-ref, servers; compared with Zed).
func (k *call) serverDocument(s *server) object {
	state := vmStatuses[s.status]
	o := k.basicDocument(s)
	maps.Copy(o, object{
		"status": s.status, "tenant_id": s.projectID, "user_id": s.userID, "metadata": orEmpty(s.metadata),
		"hostId": "", "image": k.imageDocument(), "flavor": k.embeddedFlavor(s),
		"created": rounded(s.created).Format(novaTime), "updated": rounded(s.updated).Format(novaTime),
		"addresses": object{}, "accessIPv4": s.accessIPv4, "accessIPv6": s.accessIPv6,
		"OS-DCF:diskConfig": "MANUAL", "OS-EXT-AZ:availability_zone": "", "config_drive": "", "key_name": nil,
		"OS-SRV-USG:launched_at": timeOrNull(s.launched), "OS-SRV-USG:terminated_at": timeOrNull(s.terminated),
		"OS-EXT-STS:vm_state": state.vmState, "OS-EXT-STS:task_state": s.task(), "OS-EXT-STS:power_state": state.power,
		"os-extended-volumes:volumes_attached": []object{},
	})
	if state.progress {
		o["progress"] = 0
	}
	if !s.launched.IsZero() {
		k.placedDocument(o, s)
	}
	if s.status == "ERROR" {
		o["fault"] = object{"code": 500, "created": o["updated"], "message": "No valid host was found. "}
	}
	k.versionedFields(o, s)

	return o
}

// placedDocument adds what only a server on a host has.
func (k *call) placedDocument(o object, s *server) {
	o["OS-EXT-AZ:availability_zone"] = s.zone
	o["hostId"] = stableID("host of "+s.projectID) + stableID("host")[:24]
	if s.status == "DELETED" {
		return
	}
	o["addresses"] = k.addressDocument(s, true)
	if s.projectID == k.caller.projectID { // they are looked up in Neutron, as the caller
		o["security_groups"] = []object{{"name": "default"}}
	}
	if k.caller.admin() {
		k.adminFields(o, s)
	}
}

// adminFields adds what administrators alone see.
func (k *call) adminFields(o object, s *server) {
	o["OS-EXT-SRV-ATTR:host"], o["OS-EXT-SRV-ATTR:hypervisor_hostname"] = computeHost, computeHost
	o["OS-EXT-SRV-ATTR:instance_name"] = "instance-" + s.id[:8]
	if k.minor >= 3 {
		maps.Copy(o, object{
			"OS-EXT-SRV-ATTR:hostname": hostname(s.givenName), "OS-EXT-SRV-ATTR:kernel_id": "", "OS-EXT-SRV-ATTR:ramdisk_id": "",
			"OS-EXT-SRV-ATTR:launch_index": 0, "OS-EXT-SRV-ATTR:reservation_id": "r-" + s.id[:8],
			"OS-EXT-SRV-ATTR:root_device_name": "/dev/vda", "OS-EXT-SRV-ATTR:user_data": nil,
		})
	}
	if k.minor >= 16 {
		o["host_status"] = "UP"
	}
}

// versionedFields adds what later microversions have (nova:
// api/openstack/compute/rest_api_version_history.rst).
func (k *call) versionedFields(o object, s *server) {
	for _, field := range []struct {
		since int
		key   string
		value any
	}{
		{9, "locked", false},
		{19, "description", nullable(s.description)},
		{26, "tags", orEmptyList(s.tags)},
		{63, "trusted_image_certificates", nil},
		{73, "locked_reason", nil},
		{90, "OS-EXT-SRV-ATTR:hostname", hostname(s.givenName)},
	} {
		if k.minor >= field.since {
			o[field.key] = field.value
		}
	}
}

// embeddedFlavor is the flavor in a server: its ID below 2.47, and what it was when
// the server was made, without ID, from there on.
func (k *call) embeddedFlavor(s *server) object {
	if k.minor < 47 {
		return object{"id": s.flavor.id, "links": []link{{"bookmark", k.base() + k.target.project + "/flavors/" + s.flavor.id}}}
	}

	return object{
		"vcpus": s.flavor.vcpus, "ram": s.flavor.ram, "disk": s.flavor.disk, "ephemeral": 0, "swap": 0,
		"original_name": s.flavor.name, "extra_specs": orEmpty(s.flavor.specs),
	}
}

func (k *call) imageDocument() object {
	return object{"id": ImageID, "links": []link{{"bookmark", k.base() + k.target.project + "/images/" + ImageID}}}
}

// addressDocument is the addresses by the name of the network.
func (k *call) addressDocument(s *server, extended bool) object {
	networks := object{}
	for _, a := range k.cloud.addressesOf(k.region, s) {
		entry := object{"version": a.version, "addr": a.ip}
		if extended {
			entry["OS-EXT-IPS:type"], entry["OS-EXT-IPS-MAC:mac_addr"] = "fixed", a.mac
			if a.floating {
				entry["OS-EXT-IPS:type"] = "floating"
			}
		}
		list, _ := networks[a.network].([]object)
		networks[a.network] = append(list, entry)
	}

	return networks
}

// task is the task state, null when there is none.
func (s *server) task() any {
	if s.deleting {
		return "deleting"
	}

	return nullable(vmStatuses[s.status].taskState)
}

func timeOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}

	return rounded(t).Format(novaTimeMicro)
}

func nullable(text string) any {
	if text == "" {
		return nil
	}

	return text
}

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}

	return m
}

func orEmptyList(list []string) []string { return append([]string{}, list...) }

// hostname is a name as a host name (nova: utils.py, sanitize_hostname).
func hostname(name string) string {
	clean := make([]rune, 0, len(name))
	for _, r := range name {
		switch {
		case r >= 'A' && r <= 'Z':
			clean = append(clean, r+'a'-'A')
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '.':
			clean = append(clean, r)
		case r == ' ' || r == '_':
			clean = append(clean, '-')
		}
	}

	return string(clean)
}
