package client

import "slices"

// Pool is a pool: https://docs.openstack.org/api-ref/load-balancer/v2/#pools.
type Pool struct {
	LBObject

	Description string `json:"description"`
	Protocol    string `json:"protocol"`
	Algorithm   string `json:"lb_algorithm"`
	// Persistence is nil for none.
	Persistence *SessionPersistence `json:"session_persistence"`
	// MonitorID is empty for none.
	MonitorID     string `json:"healthmonitor_id"`
	Listeners     IDs    `json:"listeners"`
	LoadBalancers IDs    `json:"loadbalancers"`
	// Members are IDs. The address and the port of a member never change.
	Members IDs `json:"members"`
}

// SessionPersistence binds clients to members.
type SessionPersistence struct {
	// Type is SOURCE_IP, HTTP_COOKIE or APP_COOKIE.
	Type string `json:"type"`
	// Cookie is the name of the cookie of APP_COOKIE.
	Cookie string `json:"cookie_name,omitempty"`
	// Timeout is in seconds, and Granularity is a netmask: for UDP and SCTP.
	Timeout     *int   `json:"persistence_timeout,omitempty"`
	Granularity string `json:"persistence_granularity,omitempty"`
}

// PoolCreate is a new pool. What is empty or nil is not sent.
type PoolCreate struct {
	Name        string              `json:"name,omitempty"`
	Description string              `json:"description,omitempty"`
	Protocol    string              `json:"protocol"`
	Algorithm   string              `json:"lb_algorithm"`
	Persistence *SessionPersistence `json:"session_persistence,omitempty"`
	Tags        []string            `json:"tags,omitempty"`
	// Members and Monitor are within a new load balancer only.
	Members []MemberSpec   `json:"members,omitempty"`
	Monitor *MonitorCreate `json:"healthmonitor,omitempty"`
}

// PoolUpdate is a change of a pool, whose protocol stays.
type PoolUpdate struct {
	Name        Change[string] `json:"name,omitzero"`
	Description Change[string] `json:"description,omitzero"`
	Algorithm   Change[string] `json:"lb_algorithm,omitzero"`
	// Persistence is null for none.
	Persistence Change[SessionPersistence] `json:"session_persistence,omitzero"`
	// Tags replaces all tags.
	Tags Change[[]string] `json:"tags,omitzero"`
}

// Member is a member of a pool:
// https://docs.openstack.org/api-ref/load-balancer/v2/#members.
type Member struct {
	LBObject

	Address  string `json:"address"`
	Port     int    `json:"protocol_port"`
	SubnetID string `json:"subnet_id"`
	// Weight, Backup and AdminUp are nil if the service does not have them.
	Weight  *int  `json:"weight"`
	Backup  *bool `json:"backup"`
	AdminUp *bool `json:"admin_state_up"`
	// MonitorPort and MonitorAddress are nil and empty for Port and Address.
	MonitorPort    *int   `json:"monitor_port"`
	MonitorAddress string `json:"monitor_address"`
}

// MemberSpec is a member as it shall be. What is empty or nil is not sent, and has its
// default then, also for a member that exists; Name and Tags of such a member stay.
type MemberSpec struct {
	Name           string `json:"name,omitempty"`
	Address        string `json:"address"`
	Port           int    `json:"protocol_port"`
	SubnetID       string `json:"subnet_id,omitempty"`
	Weight         *int   `json:"weight,omitempty"`
	Backup         *bool  `json:"backup,omitempty"`
	AdminUp        *bool  `json:"admin_state_up,omitempty"`
	MonitorPort    *int   `json:"monitor_port,omitempty"`
	MonitorAddress string `json:"monitor_address,omitempty"`
	// Tags are sent if they are not nil.
	Tags []string `json:"tags,omitzero"`
}

// Spec returns a member as it is, for a batch update that keeps it so.
func (m *Member) Spec() MemberSpec {
	return MemberSpec{
		Name: m.Name, Address: m.Address, Port: m.Port, SubnetID: m.SubnetID, Weight: m.Weight, Backup: m.Backup,
		AdminUp: m.AdminUp, MonitorPort: m.MonitorPort, MonitorAddress: m.MonitorAddress, Tags: slices.Clone(m.Tags),
	}
}

// HealthMonitor is a health monitor:
// https://docs.openstack.org/api-ref/load-balancer/v2/#health-monitor.
type HealthMonitor struct {
	LBObject

	Type string `json:"type"`
	// Delay and Timeout are in seconds.
	Delay          int `json:"delay"`
	Timeout        int `json:"timeout"`
	MaxRetries     int `json:"max_retries"`
	MaxRetriesDown int `json:"max_retries_down"`
	// The rest is empty for other types than HTTP and HTTPS.
	HTTPMethod    string `json:"http_method"`
	URLPath       string `json:"url_path"`
	ExpectedCodes string `json:"expected_codes"`
	Pools         IDs    `json:"pools"`
}

// MonitorCreate is a new health monitor. What is empty is not sent.
type MonitorCreate struct {
	Name           string   `json:"name,omitempty"`
	Type           string   `json:"type"`
	Delay          int      `json:"delay"`
	Timeout        int      `json:"timeout"`
	MaxRetries     int      `json:"max_retries"`
	MaxRetriesDown int      `json:"max_retries_down,omitempty"`
	HTTPMethod     string   `json:"http_method,omitempty"`
	URLPath        string   `json:"url_path,omitempty"`
	ExpectedCodes  string   `json:"expected_codes,omitempty"`
	Tags           []string `json:"tags,omitempty"`
}

// MonitorUpdate is a change of a health monitor, whose type stays.
type MonitorUpdate struct {
	Name           Change[string]   `json:"name,omitzero"`
	Delay          Change[int]      `json:"delay,omitzero"`
	Timeout        Change[int]      `json:"timeout,omitzero"`
	MaxRetries     Change[int]      `json:"max_retries,omitzero"`
	MaxRetriesDown Change[int]      `json:"max_retries_down,omitzero"`
	HTTPMethod     Change[string]   `json:"http_method,omitzero"`
	URLPath        Change[string]   `json:"url_path,omitzero"`
	ExpectedCodes  Change[string]   `json:"expected_codes,omitzero"`
	Tags           Change[[]string] `json:"tags,omitzero"`
}
