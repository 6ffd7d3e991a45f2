package client

// Server is a server of Nova, as far as it is used:
// https://docs.openstack.org/api-ref/compute/#servers-servers.
type Server struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Status is that of the database of Nova, such as ACTIVE or SHUTOFF, in capitals. It
	// is [StatusUnknown] for a server of a cell that is down; such a server has no
	// name, no addresses and no flavor.
	Status     string               `json:"status"`
	ProjectID  string               `json:"tenant_id"`
	Created    string               `json:"created"` // in RFC 3339
	AccessIPv4 string               `json:"accessIPv4"`
	AccessIPv6 string               `json:"accessIPv6"`
	Zone       string               `json:"OS-EXT-AZ:availability_zone"`
	Metadata   map[string]string    `json:"metadata"`
	Flavor     ServerFlavor         `json:"flavor"`
	Addresses  map[string][]Address `json:"addresses"`
}

// The statuses of a server that decide something.
const (
	StatusBuild   = "BUILD"
	StatusShutoff = "SHUTOFF"
	// StatusUnknown means that the cell of the server is down.
	StatusUnknown = "UNKNOWN"
	// StatusDeleted means that the server is gone.
	StatusDeleted = "DELETED"
)

// ServerFlavor is the flavor in a server: before microversion 2.47 its ID, from then on a
// copy of what it was when the server was made.
type ServerFlavor struct {
	ID           string `json:"id"`
	OriginalName string `json:"original_name"`
}

// Address is an address of a server, by the cache of Nova.
type Address struct {
	Address string `json:"addr"`
	Version int    `json:"version"`
	// Type is "fixed" or "floating".
	Type string `json:"OS-EXT-IPS:type"`
	MAC  string `json:"OS-EXT-IPS-MAC:mac_addr"`
}

// Action is what was done with a server, also with one that is deleted:
// https://docs.openstack.org/api-ref/compute/#servers-actions-servers-os-instance-actions.
type Action struct {
	Action   string `json:"action"`
	ServerID string `json:"instance_uuid"`
}

// The actions of a deletion, also of one that can be undone, and of its end (nova:
// compute/instance_actions.py).
const (
	ActionDelete  = "delete"
	ActionRestore = "restore"
)

// Flavor is a flavor.
type Flavor struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}
