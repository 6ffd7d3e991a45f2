package aws

import (
	"errors"
	"maps"
	"strings"
	"sync"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/securitygroup"
)

// lostRules are rules that were removed from groups of nodes on behalf of a load
// balancer although another one needs them, by the name of the former, which adds
// them again. After a restart every load balancer adds what it needs itself. The
// zero value is empty.
type lostRules struct {
	mu  sync.Mutex
	all map[string]map[string]securitygroup.Rules
}

// update stores what an attempt to write has lost. One without an error has added
// all that was lost before.
func (l *lostRules) update(loadBalancer string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		delete(l.all, loadBalancer)
		return
	}
	lost, ok := errors.AsType[*securitygroup.LostRulesError](err)
	if !ok {
		return
	}
	groups := maps.Clone(l.all[loadBalancer])
	if groups == nil {
		groups = map[string]securitygroup.Rules{}
	}
	rules := maps.Clone(lost.Rules)
	maps.Copy(rules, groups[lost.Group])
	groups[lost.Group] = rules
	if l.all == nil {
		l.all = map[string]map[string]securitygroup.Rules{}
	}
	l.all[loadBalancer] = groups
}

// of returns what was lost on behalf of a load balancer and does not exist again,
// by group.
func (l *lostRules) of(loadBalancer string, groups securitygroup.Groups) map[string]securitygroup.Rules {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep(loadBalancer, func(group string, rule securitygroup.Rule, _ string) bool {
		if groups[group] == nil {
			return true // it was not read this time
		}
		_, exists := groups[group].Rules[rule]
		return !exists
	})
	return l.all[loadBalancer]
}

// forget drops what a load balancer needed that is being deleted.
func (l *lostRules) forget(loadBalancer string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name := range l.all {
		l.keep(name, func(_ string, _ securitygroup.Rule, description string) bool {
			return !strings.HasSuffix(description, "="+loadBalancer)
		})
	}
}

// keep keeps some of what was lost on behalf of a load balancer. What it replaces
// is not changed.
func (l *lostRules) keep(loadBalancer string, wanted func(group string, rule securitygroup.Rule, description string) bool) {
	kept := map[string]securitygroup.Rules{}
	for group, rules := range l.all[loadBalancer] {
		rules = maps.Clone(rules)
		maps.DeleteFunc(rules, func(rule securitygroup.Rule, description string) bool { return !wanted(group, rule, description) })
		if len(rules) > 0 {
			kept[group] = rules
		}
	}
	if len(kept) == 0 {
		delete(l.all, loadBalancer)
		return
	}
	l.all[loadBalancer] = kept
}
