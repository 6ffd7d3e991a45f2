package openstack

import "math"

// The bounds of attributes (octavia: common/constants.py).
const (
	lbMaxTimeout  = 24 * 24 * 60 * 60 * 1000 // milliseconds
	lbMaxPort     = 65535
	lbMaxWeight   = 256
	lbMaxRetries  = 10
	lbMaxPosition = math.MaxInt32
)

// The minor versions that added something (octavia: api/root_controller.py).
const (
	sinceTimeouts       = 1
	sinceTags           = 5
	sinceFlavors        = 6
	sinceClientTLS      = 8
	sinceHostHeader     = 10
	sinceAdditive       = 11
	sinceCIDRs          = 12
	sinceSourceIPPort   = 13
	sinceZones          = 14
	sinceCiphers        = 15
	sinceUDPMonitors    = 16
	sinceTLSVersions    = 17
	sincePoolTLS        = 18
	sinceALPN           = 20
	sinceProxyV2        = 22
	sinceSCTP           = 23
	sincePoolALPN       = 24
	sincePrometheus     = 25
	sinceAdditionalVIPs = 26
	sinceHSTS           = 27
	sinceVIPGroups      = 29
)

// lbValuesSince are the values that a version added.
var lbValuesSince = map[string]int{
	"SOURCE_IP_PORT": sinceSourceIPPort, "PROXYV2": sinceProxyV2, "SCTP": sinceSCTP, "PROMETHEUS": sincePrometheus,
}

var (
	lbListenerProtocols = []string{"UDP", "TCP", "HTTP", "HTTPS", "TERMINATED_HTTPS", "PROMETHEUS", "SCTP"}
	lbPoolProtocols     = []string{"UDP", "TCP", "HTTP", "HTTPS", "PROXYV2", "PROXY", "SCTP"}
	lbAlgorithms        = []string{"ROUND_ROBIN", "SOURCE_IP", "LEAST_CONNECTIONS", "SOURCE_IP_PORT"}
	lbMonitorTypes      = []string{"TLS-HELLO", "TCP", "HTTP", "HTTPS", "PING", "UDP-CONNECT", "SCTP"}
	lbHTTPMethods       = []string{"GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "OPTIONS", "CONNECT", "PATCH"}
)

// lbCommon are the attributes that nearly all sorts have.
func lbCommon(fields ...lbField) []lbField {
	return append([]lbField{
		{name: "name", use: inAll, kind: anyText(255), standard: ""},
		{name: "admin_state_up", use: inAll, kind: truth, standard: true},
		{name: "tags", use: inAll, kind: listOf(anyText(255)), since: sinceTags, standard: []string{}},
		{name: "project_id", use: inPost, kind: anyText(36), hidden: true},
		{name: "tenant_id", use: inPost, kind: anyText(36), hidden: true},
	}, fields...)
}

var lbDescription = lbField{name: "description", use: inAll, kind: anyText(255), standard: ""}

var lbLoadBalancers = &lbSort{
	name: "Load Balancer", single: "loadbalancer", plural: "loadbalancers", argument: "load_balancer.loadbalancer",
	fields: lbCommon(lbDescription,
		lbField{name: "vip_address", use: inPost, kind: ipAddress},
		lbField{name: "vip_port_id", use: inPost, kind: uuid},
		lbField{name: "vip_subnet_id", use: inPost, kind: uuid},
		lbField{name: "vip_network_id", use: inPost, kind: uuid},
		lbField{name: "vip_qos_policy_id", use: inPost | inPut, kind: uuid},
		lbField{name: "additional_vips", use: inPost, kind: rawJSON, since: sinceAdditionalVIPs, standard: []object{}},
		lbField{name: "vip_sg_ids", use: inPost | inPut, kind: listOf(uuid), since: sinceVIPGroups, standard: []string{}},
		lbField{name: "listeners", use: inPost, kind: rawJSON, hidden: true},
		lbField{name: "pools", use: inPost, kind: rawJSON, hidden: true},
		lbField{name: "provider", use: inPost, kind: anyText(64)},
		lbField{name: "flavor_id", use: inPost, kind: uuid, since: sinceFlavors},
		lbField{name: "availability_zone", use: inPost, kind: anyText(255), since: sinceZones},
	),
}

var lbListeners = &lbSort{
	name: "Listener", single: "listener", plural: "listeners", argument: "listener_.listener",
	filters: []string{"load_balancer_id", "loadbalancer_id"}, unsortable: []string{"loadbalancers", "l7policies"},
	fields: lbCommon(lbDescription,
		lbField{name: "protocol", use: inNew, kind: oneOf(lbListenerProtocols...), mandatory: true},
		lbField{name: "protocol_port", use: inNew, kind: between(1, lbMaxPort), mandatory: true},
		lbField{name: "connection_limit", use: inAll, kind: between(-1, math.MaxInt32), standard: -1, resets: true},
		lbField{name: "loadbalancer_id", use: inPost, kind: uuid, mandatory: true, hidden: true},
		lbField{name: "default_pool_id", use: inAll, kind: uuid},
		lbField{name: "default_pool", use: inNew, kind: rawJSON, hidden: true},
		lbField{name: "l7policies", use: inNew, kind: rawJSON, hidden: true},
		lbField{name: "insert_headers", use: inAll, kind: headers, standard: map[string]string{}},
		lbField{name: "default_tls_container_ref", use: inAll, kind: anyText(255)},
		lbField{name: "sni_container_refs", use: inAll, kind: listOf(anyText(255)), standard: []string{}, resets: true},
		lbField{name: "timeout_client_data", use: inAll, kind: between(0, lbMaxTimeout), since: sinceTimeouts, standard: 50000, resets: true},
		lbField{name: "timeout_member_connect", use: inAll, kind: between(0, lbMaxTimeout), since: sinceTimeouts, standard: 5000, resets: true},
		lbField{name: "timeout_member_data", use: inAll, kind: between(0, lbMaxTimeout), since: sinceTimeouts, standard: 50000, resets: true},
		lbField{name: "timeout_tcp_inspect", use: inAll, kind: between(0, lbMaxTimeout), since: sinceTimeouts, standard: 0, resets: true},
		lbField{name: "client_ca_tls_container_ref", use: inAll, kind: anyText(255), since: sinceClientTLS},
		lbField{name: "client_authentication", use: inAll, kind: oneOf("NONE", "OPTIONAL", "MANDATORY"), since: sinceClientTLS, standard: "NONE", resets: true},
		lbField{name: "client_crl_container_ref", use: inAll, kind: anyText(255), since: sinceClientTLS},
		lbField{name: "allowed_cidrs", use: inAll, kind: cidrs, since: sinceCIDRs},
		lbField{name: "tls_ciphers", use: inAll, kind: anyText(2048), since: sinceCiphers},
		lbField{name: "tls_versions", use: inAll, kind: listOf(anyText(32)), since: sinceTLSVersions},
		lbField{name: "alpn_protocols", use: inAll, kind: listOf(oneOf("h2", "http/1.1", "http/1.0")), since: sinceALPN},
		lbField{name: "hsts_max_age", use: inAll, kind: between(0, math.MaxInt32), since: sinceHSTS},
		lbField{name: "hsts_include_subdomains", use: inAll, kind: truth, since: sinceHSTS, standard: false, resets: true},
		lbField{name: "hsts_preload", use: inAll, kind: truth, since: sinceHSTS, standard: false, resets: true},
	),
}

var lbPools = &lbSort{
	name: "Pool", single: "pool", plural: "pools", argument: "pool_.pool",
	filters: []string{"load_balancer_id", "loadbalancer_id"}, unsortable: []string{"loadbalancers", "listeners", "members", "healthmonitor_id"},
	fields: lbCommon(lbDescription,
		lbField{name: "listener_id", use: inPost, kind: uuid, hidden: true},
		lbField{name: "loadbalancer_id", use: inPost, kind: uuid, hidden: true},
		lbField{name: "protocol", use: inNew, kind: oneOf(lbPoolProtocols...), mandatory: true},
		lbField{name: "lb_algorithm", use: inAll, kind: oneOf(lbAlgorithms...), mandatory: true},
		lbField{name: "session_persistence", use: inAll, kind: rawJSON},
		lbField{name: "healthmonitor", use: inNew, kind: rawJSON, hidden: true},
		lbField{name: "members", use: inNew, kind: rawJSON, hidden: true},
		lbField{name: "tls_container_ref", use: inAll, kind: anyText(255), since: sinceClientTLS},
		lbField{name: "ca_tls_container_ref", use: inAll, kind: anyText(255), since: sinceClientTLS},
		lbField{name: "crl_container_ref", use: inAll, kind: anyText(255), since: sinceClientTLS},
		lbField{name: "tls_enabled", use: inAll, kind: truth, since: sinceClientTLS, standard: false, resets: true},
		lbField{name: "tls_ciphers", use: inAll, kind: anyText(2048), since: sinceCiphers},
		lbField{name: "tls_versions", use: inAll, kind: listOf(anyText(32)), since: sincePoolTLS},
		lbField{name: "alpn_protocols", use: inAll, kind: listOf(oneOf("h2", "http/1.1", "http/1.0")), since: sincePoolALPN},
	),
}

// lbPersistence is session_persistence in a pool.
var lbPersistence = &lbSort{
	argument: "pool_.pool.session_persistence",
	fields: []lbField{
		{name: "type", use: inAll, kind: oneOf("APP_COOKIE", "SOURCE_IP", "HTTP_COOKIE"), mandatory: true},
		{name: "cookie_name", use: inAll, kind: matching(`^[^\s,;\\]+$`)},
		{name: "persistence_timeout", use: inAll, kind: between(math.MinInt32, math.MaxInt32)},
		{name: "persistence_granularity", use: inAll, kind: ipAddress},
	},
}

var lbMembers = &lbSort{
	name: "Member", single: "member", plural: "members", argument: "member_.member",
	fields: lbCommon(
		lbField{name: "address", use: inNew, kind: ipAddress, mandatory: true},
		lbField{name: "protocol_port", use: inNew, kind: between(1, lbMaxPort), mandatory: true},
		lbField{name: "weight", use: inAll, kind: between(0, lbMaxWeight), standard: 1, resets: true},
		lbField{name: "backup", use: inAll, kind: truth, since: sinceTimeouts, standard: false, resets: true},
		lbField{name: "subnet_id", use: inNew, kind: uuid},
		lbField{name: "monitor_port", use: inAll, kind: between(1, lbMaxPort)},
		lbField{name: "monitor_address", use: inAll, kind: ipAddress},
	),
}

var lbMonitors = &lbSort{
	name: "Health Monitor", single: "healthmonitor", plural: "healthmonitors", argument: "health_monitor_.healthmonitor",
	filters: []string{"pool_id"}, unsortable: []string{"pools"},
	fields: lbCommon(
		lbField{name: "pool_id", use: inPost, kind: uuid, mandatory: true, hidden: true},
		lbField{name: "type", use: inNew, kind: oneOf(lbMonitorTypes...), mandatory: true},
		lbField{name: "delay", use: inAll, kind: between(0, math.MaxInt32), mandatory: true},
		lbField{name: "timeout", use: inAll, kind: between(0, math.MaxInt32), mandatory: true},
		lbField{name: "max_retries_down", use: inAll, kind: between(1, lbMaxRetries), standard: 3, resets: true},
		lbField{name: "max_retries", use: inAll, kind: between(1, lbMaxRetries), mandatory: true},
		lbField{name: "http_method", use: inAll, kind: oneOf(lbHTTPMethods...)},
		lbField{name: "url_path", use: inAll, kind: urlPath},
		lbField{name: "expected_codes", use: inAll, kind: matching(`^(\d{3}(\s*,\s*\d{3})*)$|^(\d{3}-\d{3})$`)},
		lbField{name: "http_version", use: inAll, kind: httpVersion, since: sinceHostHeader},
		lbField{name: "domain_name", use: inAll, kind: matching(`^([A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.|$))+$`), since: sinceHostHeader},
	),
}

var lbPolicies = &lbSort{
	name: "L7 Policy", single: "l7policy", plural: "l7policies", argument: "l7policy_.l7policy",
	unsortable: []string{"rules"},
	fields: lbCommon(lbDescription,
		lbField{name: "listener_id", use: inPost, kind: uuid, mandatory: true},
		lbField{name: "action", use: inAll, kind: oneOf("REJECT", "REDIRECT_TO_URL", "REDIRECT_TO_POOL", "REDIRECT_PREFIX"), mandatory: true},
		lbField{name: "redirect_pool_id", use: inPost | inPut, kind: uuid},
		lbField{name: "redirect_pool", use: inGraph, kind: rawJSON, hidden: true},
		lbField{name: "redirect_url", use: inAll, kind: anyText(255)},
		lbField{name: "redirect_prefix", use: inAll, kind: anyText(255)},
		lbField{name: "redirect_http_code", use: inAll, kind: between(301, 308)},
		lbField{name: "position", use: inAll, kind: between(1, lbMaxPosition), standard: lbMaxPosition, resets: true},
	),
}
