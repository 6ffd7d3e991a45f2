package client

import (
	"encoding/json"
)

// ProvisioningStatus is what Octavia does with an object:
// https://docs.openstack.org/api-ref/load-balancer/v2/#provisioning-status-codes.
type ProvisioningStatus string

// The provisioning statuses.
const (
	ProvisioningActive        ProvisioningStatus = "ACTIVE"
	ProvisioningError         ProvisioningStatus = "ERROR"
	ProvisioningDeleted       ProvisioningStatus = "DELETED"
	ProvisioningPendingCreate ProvisioningStatus = "PENDING_CREATE"
	ProvisioningPendingUpdate ProvisioningStatus = "PENDING_UPDATE"
	ProvisioningPendingDelete ProvisioningStatus = "PENDING_DELETE"
)

// IsPending reports whether a change is under way. Unknown statuses are not pending.
func (s ProvisioningStatus) IsPending() bool {
	return s == ProvisioningPendingCreate || s == ProvisioningPendingUpdate || s == ProvisioningPendingDelete
}

// IsDeleted reports whether an object is deleted: some implementations keep it in lists.
func (s ProvisioningStatus) IsDeleted() bool { return s == ProvisioningDeleted }

// IDs are the IDs of related objects, which responses have as objects with more or less
// fields.
type IDs []string

// UnmarshalJSON reads a list of objects with an ID.
func (ids *IDs) UnmarshalJSON(text []byte) error {
	var rows []struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(text, &rows); err != nil {
		return err
	}
	*ids = nil
	if rows != nil {
		*ids = make(IDs, 0, len(rows))
	}
	for _, row := range rows {
		*ids = append(*ids, row.ID)
	}

	return nil
}

func (ids *IDs) stream(d *json.Decoder) error {
	*ids = IDs{}

	return readParts(d, func() error {
		id := ""
		err := readObject(d, fields{"id": &id})
		*ids = append(*ids, id)

		return err
	})
}

// LBObject is what all objects of Octavia have.
type LBObject struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	ProjectID string `json:"project_id"`
	// Provisioning is what is done with the object. It is independent of Operating.
	Provisioning ProvisioningStatus `json:"provisioning_status"`
	// Operating is the health of the object, such as ONLINE.
	Operating string `json:"operating_status"`
	// Tags is nil before version 2.5 of the API, which has none.
	Tags []string `json:"tags"`
}

func (o *LBObject) object() *LBObject { return o }

// Optional is a field that an older API lacks in its responses.
type Optional[T any] struct {
	Value T
	// Known means that the response has the field, which may be null.
	Known bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *Optional[T]) UnmarshalJSON(text []byte) error {
	o.Known = true

	return json.Unmarshal(text, &o.Value)
}

// LoadBalancerInfo is a load balancer:
// https://docs.openstack.org/api-ref/load-balancer/v2/#load-balancers.
type LoadBalancerInfo struct {
	LBObject

	Description  string `json:"description"`
	Provider     string `json:"provider"`
	VIPAddress   string `json:"vip_address"`
	VIPPortID    string `json:"vip_port_id"`
	VIPSubnetID  string `json:"vip_subnet_id"`
	VIPNetworkID string `json:"vip_network_id"`
	// AdditionalVIPs came with version 2.26.
	AdditionalVIPs []VIP `json:"additional_vips"`
	// VIPGroups are the security groups of the user, which came with version 2.29.
	VIPGroups []string `json:"vip_sg_ids"`
	FlavorID  string   `json:"flavor_id"`
	// Zone came with version 2.14.
	Zone Optional[string] `json:"availability_zone"`
	// CreatedAt is in UTC, without a zone.
	CreatedAt string `json:"created_at"`
	Listeners IDs    `json:"listeners"`
	Pools     IDs    `json:"pools"`
}

// The response to a creation has all parts in full.
func (lb *LoadBalancerInfo) stream(d *json.Decoder) error { return readObject(d, pointersOf(lb)) }

// VIP is a further address of a load balancer.
type VIP struct {
	SubnetID string `json:"subnet_id"`
	Address  string `json:"ip_address"`
}

// LoadBalancerCreate is a new load balancer. Empty fields are not sent.
type LoadBalancerCreate struct {
	Name         string `json:"name,omitempty"`
	Description  string `json:"description,omitempty"`
	Provider     string `json:"provider,omitempty"`
	FlavorID     string `json:"flavor_id,omitempty"`
	Zone         string `json:"availability_zone,omitempty"`
	VIPAddress   string `json:"vip_address,omitempty"`
	VIPPortID    string `json:"vip_port_id,omitempty"`
	VIPSubnetID  string `json:"vip_subnet_id,omitempty"`
	VIPNetworkID string `json:"vip_network_id,omitempty"`
	// Tags need version 2.5.
	Tags []string `json:"tags,omitempty"`
	// Listeners are made along with their pools, members and monitors: all or nothing. The
	// names of pools must differ.
	Listeners []ListenerCreate `json:"listeners,omitempty"`
}

// LoadBalancerUpdate is a change of a load balancer. Even an empty one makes it pending.
type LoadBalancerUpdate struct {
	Name        Change[string] `json:"name,omitzero"`
	Description Change[string] `json:"description,omitzero"`
	// Tags replaces all tags.
	Tags Change[[]string] `json:"tags,omitzero"`
}

// LBStatus is the state of an object in a status tree.
type LBStatus struct {
	ID           string             `json:"id"`
	Name         string             `json:"name"`
	Provisioning ProvisioningStatus `json:"provisioning_status"`
	Operating    string             `json:"operating_status"`
}

// StatusTree is a load balancer and its parts, without pools that no listener uses:
// https://docs.openstack.org/api-ref/load-balancer/v2/#get-the-load-balancer-status-tree.
type StatusTree struct {
	LBStatus

	Listeners Rows[ListenerStatus] `json:"listeners"`
}

func (t *StatusTree) stream(d *json.Decoder) error { return readObject(d, pointersOf(t)) }

// ListenerStatus is a listener in a status tree.
type ListenerStatus struct {
	LBStatus

	Pools Rows[PoolStatus] `json:"pools"`
}

func (l *ListenerStatus) stream(d *json.Decoder) error { return readObject(d, pointersOf(l)) }

// PoolStatus is a pool in a status tree.
type PoolStatus struct {
	LBStatus

	// Monitor is nil if the pool has none.
	Monitor *MonitorStatus     `json:"health_monitor"`
	Members Rows[MemberStatus] `json:"members"`
}

func (p *PoolStatus) stream(d *json.Decoder) error { return readObject(d, pointersOf(p)) }

// MonitorStatus is a health monitor in a status tree.
type MonitorStatus struct {
	LBStatus

	Type string `json:"type"`
}

// MemberStatus is a member in a status tree, which has no weight and no monitor port there.
type MemberStatus struct {
	LBStatus

	Address string `json:"address"`
	Port    int    `json:"protocol_port"`
}
