package nsxt

// The collections of load balancers.
const (
	profilePath = "/infra/lb-app-profiles/"
	fastTCP     = "LBFastTcpProfile"
	fastUDP     = "LBFastUdpProfile"
)

// newBalancingKinds returns the kinds of load balancers and what they need.
func newBalancingKinds() []*kind {
	lb := func(collection string) []string { return []string{"infra", collection} }

	return []*kind{
		{
			name: "LBService", pattern: lb("lb-services"), types: []string{"LBService"}, references: []string{"connectivity_path"},
			defaults: Object{"size": "SMALL", "enabled": true, "error_log_level": "INFO", "relax_scale_validation": false},
			check:    checkService, problem: serviceProblem,
		},
		{
			name: "LBVirtualServer", pattern: lb("lb-virtual-servers"), types: []string{"LBVirtualServer"}, missing: true,
			references: []string{
				"pool_path", "sorry_pool_path", "application_profile_path", "lb_persistence_profile_path", "lb_service_path", "access_list_control.group_path",
			},
			defaults: Object{"enabled": true, "access_log_enabled": false},
			check:    checkVirtualServer, problem: virtualServerProblem,
		},
		{
			name: "LBPool", pattern: lb("lb-pools"), types: []string{"LBPool"},
			references: []string{"active_monitor_paths", "passive_monitor_path", "member_group.group_path"},
			defaults:   Object{"algorithm": "ROUND_ROBIN", "min_active_members": 1, "tcp_multiplexing_enabled": false, "tcp_multiplexing_number": 6},
			elements:   map[string]Object{"members": {"weight": 1, "admin_state": "ENABLED", "backup_member": false}},
			check:      checkPool, problem: poolProblem,
		},
		{
			name: "LBMonitor", pattern: lb("lb-monitor-profiles"), types: []string{
				"LBTcpMonitorProfile", "LBUdpMonitorProfile", "LBHttpMonitorProfile", "LBHttpsMonitorProfile", "LBIcmpMonitorProfile", "LBPassiveMonitorProfile",
			},
			defaults: Object{"interval": 5, "timeout": 5, "rise_count": 3, "fall_count": 3}, check: checkMonitor,
		},
		{name: "LBAppProfile", pattern: lb("lb-app-profiles"), types: []string{fastTCP, fastUDP, "LBHttpProfile"}},
		{
			name: "LBPersistenceProfile", pattern: lb("lb-persistence-profiles"),
			types: []string{"LBSourceIpPersistenceProfile", "LBCookiePersistenceProfile", "LBGenericPersistenceProfile"},
		},
		{name: "Group", pattern: []string{"infra", "domains", "default", "groups"}, types: []string{"Group"}, missing: true},
		{name: "IPPool", pattern: lb("ip-pools"), types: []string{"IpAddressPool"}, readOnly: true},
		{name: "IPAllocation", pattern: []string{"infra", "ip-pools", "*", "ip-allocations"}, types: []string{"IpAddressAllocation"}, allocates: true},
	}
}
