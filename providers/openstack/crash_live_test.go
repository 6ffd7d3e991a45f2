package openstack

import "strings"

// sharedCalls is how many kinds of faults share a call in the scenarios of single changes:
// each call gets every sharedCalls-th kind, and each kind every sharedCalls-th call. Which
// ones is up to the seed: all of the seeds 0 to sharedCalls-1 give each call each kind.
const sharedCalls = 8

// ofNodes are the changes that also change the security group of a Service.
var ofNodes = []string{
	"port ", "node-selector", "source-ranges", "loadBalancerSourceRanges", "externalTrafficPolicy", "healthCheckNodePort", "subnet-id", "class ",
}

// liveScenarios are all changes of a Service that serves, and of the cloud-config. Those that
// concern security groups are made with them, too, and with the provider ovn.
func liveScenarios() map[string]scenario {
	all := map[string]scenario{}
	for kind, k := range kinds() {
		for name, c := range liveChanges() {
			if special, ok := c.on[kind]; ok {
				special(&c)
			}
			if c.skipped || c.fails != nil || k.managed && !concerns(name, ofNodes) {
				continue
			}
			s := c.scenario
			s.options, s.config, s.gap, s.sparse = k.options, k.config+s.config, c.gap != "", sharedCalls
			s.guarded = k.managed && !s.ungroups
			if s.after != "" {
				s.after = k.config + s.after
			}
			all[kind+" "+name] = s
		}
	}

	return all
}

// concerns reports whether a name has one of these words.
func concerns(name string, words []string) bool {
	for _, word := range words {
		if strings.Contains(name, word) {
			return true
		}
	}

	return false
}
