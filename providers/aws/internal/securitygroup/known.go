package securitygroup

import (
	"maps"
	"slices"
	"sync"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// KnownNeeds stores the rules that load balancers need in the groups of the
// nodes behind them, by name, as far as this process has determined them. AWS
// may not show yet that a load balancer that is being created needs a rule: its
// needs are stored here before its rules are compared with the existing ones.
// The zero value is empty. It is safe for concurrent use.
type KnownNeeds struct {
	mu  sync.Mutex
	all map[string]knownNeed
}

// knownNeed is what one load balancer needs. Complete is false if there may be
// more groups. Met is set once it has all of its rules.
type knownNeed struct {
	groups        []string
	primaries     []string
	rules         Rules
	complete, met bool
}

// Put stores the needs of a load balancer. A primary group without an ID yet is
// used by no other load balancer. Complete reports whether all groups of its
// nodes are known.
func (k *KnownNeeds) Put(n Needs, complete bool) {
	need := knownNeed{groups: slices.Clone(n.Groups), primaries: n.Primaries, rules: maps.Clone(n.Rules), complete: complete}
	if n.Primary != (plan.Ref{}) {
		need.rules = n.wanted()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all == nil {
		k.all = map[string]knownNeed{}
	}
	k.all[n.LoadBalancer] = need
}

// Met stores that a load balancer has all rules that it needs, and so does not
// depend on any other rule. Rules of security groups that it is about to lose
// are removed on behalf of the last load balancer that has them.
func (k *KnownNeeds) Met(loadBalancer string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if need, known := k.all[loadBalancer]; known {
		need.met = true
		k.all[loadBalancer] = need
	}
}

// Forget drops a load balancer that no longer needs anything.
func (k *KnownNeeds) Forget(loadBalancer string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.all, loadBalancer)
}

// Primaries returns the IDs of the current and previous primary security groups
// of a classic load balancer; none if they are unknown.
func (k *KnownNeeds) Primaries(loadBalancer string) []string {
	k.mu.Lock()
	defer k.mu.Unlock()

	return slices.Clone(k.all[loadBalancer].primaries)
}

// has reports whether the needs of a load balancer are stored.
func (k *KnownNeeds) has(loadBalancer string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, known := k.all[loadBalancer]

	return known
}

// userOf returns another load balancer that needs a rule in a group, empty if
// none is stored, and the description of its rule.
func (k *KnownNeeds) userOf(rule Rule, group, except string) (user, description string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for name, need := range k.all {
		theirs, needed := need.rules[rule]
		if needed && name != except && slices.Contains(need.groups, group) && (user == "" || name < user) {
			user, description = name, theirs
		}
	}

	return user, description
}

// without reports whether it is certain that a load balancer does not need a
// rule, whatever AWS shows.
func (k *KnownNeeds) without(rule Rule, loadBalancer string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	need := k.all[loadBalancer]
	_, needed := need.rules[rule]

	return need.met && need.complete && !needed
}

// inGroup reports whether a load balancer has nodes in a group, and whether
// that is certain.
func (k *KnownNeeds) inGroup(loadBalancer, group string) (in, known bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	need, ok := k.all[loadBalancer]
	in = slices.Contains(need.groups, group)

	return in, ok && (in || need.complete)
}
