package client

// Listener is a listener:
// https://docs.openstack.org/api-ref/load-balancer/v2/#listeners.
type Listener struct {
	LBObject
	ListenerUserSettings

	Description string `json:"description"`
	Protocol    string `json:"protocol"`
	Port        int    `json:"protocol_port"`
	// ConnectionLimit is -1 for none.
	ConnectionLimit int               `json:"connection_limit"`
	DefaultPoolID   string            `json:"default_pool_id"`
	InsertHeaders   map[string]string `json:"insert_headers"`
	TLSContainerRef string            `json:"default_tls_container_ref"`
	// AllowedCIDRs allows all clients if it is empty. It came with version 2.12.
	AllowedCIDRs []string `json:"allowed_cidrs"`
	// The timeouts are in milliseconds. They are nil before version 2.1.
	TimeoutClientData    *int `json:"timeout_client_data"`
	TimeoutMemberConnect *int `json:"timeout_member_connect"`
	TimeoutMemberData    *int `json:"timeout_member_data"`
	TimeoutTCPInspect    *int `json:"timeout_tcp_inspect"`
	LoadBalancers        IDs  `json:"loadbalancers"`
	// Policies are its L7 policies.
	Policies IDs `json:"l7policies"`
}

// ListenerUserSettings are the settings of a listener that only users make, in responses and
// in requests. What is empty or nil is not sent. An older API lacks some of them.
type ListenerUserSettings struct {
	// AdminUp is false for a listener that accepts no connections.
	AdminUp *bool `json:"admin_state_up,omitempty"`
	// SNIRefs are certificates besides that of TLSContainerRef.
	SNIRefs              []string `json:"sni_container_refs,omitempty"`
	ClientCARef          string   `json:"client_ca_tls_container_ref,omitempty"`
	ClientCRLRef         string   `json:"client_crl_container_ref,omitempty"`
	ClientAuthentication string   `json:"client_authentication,omitempty"`
	TLSCiphers           string   `json:"tls_ciphers,omitempty"`
	TLSVersions          []string `json:"tls_versions,omitempty"`
	ALPNProtocols        []string `json:"alpn_protocols,omitempty"`
	// HSTSMaxAge is in seconds, nil without HSTS.
	HSTSMaxAge            *int `json:"hsts_max_age,omitempty"`
	HSTSIncludeSubdomains bool `json:"hsts_include_subdomains,omitempty"`
	HSTSPreload           bool `json:"hsts_preload,omitempty"`
}

// ListenerCreate is a new listener. What is empty or nil is not sent.
type ListenerCreate struct {
	ListenerUserSettings

	Name                 string            `json:"name,omitempty"`
	Description          string            `json:"description,omitempty"`
	Protocol             string            `json:"protocol"`
	Port                 int               `json:"protocol_port"`
	ConnectionLimit      *int              `json:"connection_limit,omitempty"`
	InsertHeaders        map[string]string `json:"insert_headers,omitempty"`
	TLSContainerRef      string            `json:"default_tls_container_ref,omitempty"`
	AllowedCIDRs         []string          `json:"allowed_cidrs,omitempty"`
	TimeoutClientData    *int              `json:"timeout_client_data,omitempty"`
	TimeoutMemberConnect *int              `json:"timeout_member_connect,omitempty"`
	TimeoutMemberData    *int              `json:"timeout_member_data,omitempty"`
	TimeoutTCPInspect    *int              `json:"timeout_tcp_inspect,omitempty"`
	Tags                 []string          `json:"tags,omitempty"`
	// DefaultPoolID is a pool of the load balancer that exists.
	DefaultPoolID string `json:"default_pool_id,omitempty"`
	// DefaultPool is a new pool, within a new load balancer only.
	DefaultPool *PoolCreate `json:"default_pool,omitempty"`
}

// ListenerUpdate is a change of a listener, whose protocol and port stay.
type ListenerUpdate struct {
	Name            Change[string] `json:"name,omitzero"`
	Description     Change[string] `json:"description,omitzero"`
	ConnectionLimit Change[int]    `json:"connection_limit,omitzero"`
	// DefaultPoolID is null for none.
	DefaultPoolID Change[string]            `json:"default_pool_id,omitzero"`
	InsertHeaders Change[map[string]string] `json:"insert_headers,omitzero"`
	// TLSContainerRef is null for none.
	TLSContainerRef Change[string] `json:"default_tls_container_ref,omitzero"`
	// AllowedCIDRs is empty to allow all clients.
	AllowedCIDRs         Change[[]string] `json:"allowed_cidrs,omitzero"`
	TimeoutClientData    Change[int]      `json:"timeout_client_data,omitzero"`
	TimeoutMemberConnect Change[int]      `json:"timeout_member_connect,omitzero"`
	TimeoutMemberData    Change[int]      `json:"timeout_member_data,omitzero"`
	TimeoutTCPInspect    Change[int]      `json:"timeout_tcp_inspect,omitzero"`
	// Tags replaces all tags.
	Tags Change[[]string] `json:"tags,omitzero"`
}
