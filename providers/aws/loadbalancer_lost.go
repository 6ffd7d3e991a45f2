package aws

import (
	"errors"
	"maps"
	"strings"
	"sync"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/securitygroup"
)

// lostRules are rules that were removed from groups of nodes on behalf of a
// load balancer although another one needs them, by the name of the former,
// which adds them again. After a restart, every load balancer adds the rules
// that it needs. The zero value is empty.
type lostRules struct {
	mu  sync.Mutex
	all map[string]map[string]securitygroup.Rules
}

// update stores the rules that a write has lost. A write without an error has
// restored all lost rules.
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

// of returns the rules that were lost on behalf of a load balancer and do not
// exist again, by group.
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

// forget drops the lost rules that name a load balancer which is being deleted.
func (l *lostRules) forget(loadBalancer string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name := range l.all {
		l.keep(name, func(_ string, _ securitygroup.Rule, description string) bool {
			return !strings.HasSuffix(description, "="+loadBalancer)
		})
	}
}

// keep stores some of the lost rules of a load balancer. The previous map is
// not changed.
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
