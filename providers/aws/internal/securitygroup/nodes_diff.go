package securitygroup

import (
	"maps"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// NodeDiff is what a load balancer's needs change in the groups of nodes.
type NodeDiff struct {
	needs  Needs
	groups []nodeGroup
}

// nodeGroup is the change of one group.
type nodeGroup struct {
	*Group
	missing Rules
	// renamed are rules with their new descriptions.
	renamed Rules
	// stale are rules of the load balancer that it no longer needs.
	stale Rules
	// touched means that a network load balancer had or gets rules in this
	// group.
	touched bool
	// adds means that nothing is removed.
	adds bool
}

// DiffNodes compares the needs of a load balancer with the groups of the VPC.
// Groups contains all groups that may have a rule of it.
func DiffNodes(n Needs, groups Groups, id cluster.ID) NodeDiff {
	diff := NodeDiff{needs: n}
	for _, group := range groups.Sorted() {
		wanted, optional := Rules{}, Rules{}
		if slices.Contains(n.Groups, group.ID) {
			wanted, optional = n.wanted(), n.Optional
		}
		own := n.own(group, id)
		stale, renamed := own.without(wanted).without(optional), Rules{}
		for rule, description := range wanted {
			if before, ok := own[rule]; ok && before != description {
				renamed[rule] = description
			}
		}
		if n.adds(group.ID) {
			stale, renamed = Rules{}, Rules{}
		}
		missing := wanted.without(group.Rules)
		maps.Copy(missing, n.Lost[group.ID].without(group.Rules).without(missing))
		diff.groups = append(diff.groups, nodeGroup{
			Group: group, missing: missing, renamed: renamed, stale: stale,
			touched: own.described() || wanted.described(), adds: n.adds(group.ID),
		})
	}

	return diff
}

// own returns the rules in a group that were created for the load balancer. Those
// for a classic one have no description; one with a description is the user's, and
// is removed only with its source. A rule whose source is its own group is the
// user's, too: it lets the nodes reach each other.
func (n Needs) own(group *Group, id cluster.ID) Rules {
	own := Rules{}
	for rule, description := range group.Rules {
		from := rule.Source.Value
		switch {
		case n.names(description):
			own[rule] = description
		case rule != FromEverything(from) || !n.source(from) || from == group.ID:
		case id.Member(group.Tags) && description == "", slices.Contains(n.Ending, from):
			own[rule] = description
		}
	}

	return own
}

// names reports whether a description names the load balancer.
func (n Needs) names(description string) bool {
	return n.LoadBalancer != "" && (description == clientPrefix+n.LoadBalancer || description == healthPrefix+n.LoadBalancer)
}

// Allowing returns the other groups that allow all traffic from a group of a
// classic load balancer.
func Allowing(groups Groups, id string) []*Group {
	return slices.DeleteFunc(groups.Sorted(), func(group *Group) bool {
		description, ok := group.Rules[FromEverything(id)]

		return !ok || description != "" || group.ID == id
	})
}

// described reports whether there are rules with descriptions, which those for
// network load balancers have.
func (r Rules) described() bool {
	for _, description := range r {
		if description != "" {
			return true
		}
	}

	return false
}

// Groups returns the IDs of the groups that concern the load balancer: those of
// its nodes, and those that are to change.
func (d NodeDiff) Groups() []string {
	ids := slices.Clone(d.needs.Groups)
	for _, group := range d.groups {
		if group.touched || len(group.missing)+len(group.stale)+len(group.renamed) > 0 {
			ids = append(ids, group.ID)
		}
	}

	return plan.Sorted(ids)
}

// Stale returns the rules that are removed if no other load balancer needs
// them. Rules that name a group that is about to be deleted are removed in any
// case.
func (d NodeDiff) Stale() []Rule {
	all := Rules{}
	for _, group := range d.groups {
		maps.Copy(all, group.stale)
	}

	return slices.DeleteFunc(all.sorted(), func(rule Rule) bool {
		return rule.Source.Kind == FromGroup && slices.Contains(d.needs.Ending, rule.Source.Value)
	})
}

// Plan returns the writes: first rules that are missing, then rules that are
// handed over to another load balancer, then rules that are removed. Rules that
// others need stay. Without users, the plan is as if there were no others.
func (d NodeDiff) Plan(users RuleUsers) change.Plan {
	var steps change.Plan
	for _, group := range d.groups {
		group.keepShared(users)
		group.addPathMTURules()
		ref := plan.Ref{ID: group.ID}
		if len(group.missing) > 0 {
			steps = append(steps, authorize(ref, group.missing, len(group.Rules)).Isolate())
		}
		if len(group.renamed) > 0 {
			steps = append(steps, describeRules(ref, group.renamed))
		}
		if len(group.stale) > 0 {
			steps = append(steps, revoke(ref, group.stale, group.missing, len(group.Rules)))
		}
	}

	return steps
}

// Restore returns the writes that add again what would be removed if no other
// load balancer needs it.
func (d NodeDiff) Restore() change.Plan {
	var steps change.Plan
	for _, group := range d.groups {
		if len(group.stale) > 0 {
			steps = append(steps, authorize(plan.Ref{ID: group.ID}, group.stale, len(group.Rules)-len(group.stale)))
		}
	}

	return steps
}

// keepShared keeps the rules that others need, with the description of one of
// them.
func (g *nodeGroup) keepShared(users RuleUsers) {
	stale := Rules{}
	renamed := maps.Clone(g.renamed)
	for rule, description := range g.stale {
		user, theirs := users.of(rule, g.ID)
		switch {
		case user == "":
			stale[rule] = description
		case rule.Source.Kind != FromGroup:
			renamed[rule] = theirs
		}
	}
	g.stale, g.renamed = stale, renamed
}

// addPathMTURules adds the rules for path MTU discovery from the source ranges
// of clients, including those of other load balancers, and removes the ones
// without clients, unless nothing is to be removed.
func (g *nodeGroup) addPathMTURules() {
	if !g.touched {
		return
	}
	wanted := Rules{}
	// The group may have a thousand rules: they are not copied.
	for rule, description := range g.Rules {
		if strings.HasPrefix(description, clientPrefix) && !g.stale.has(rule) && !g.renamed.has(rule) {
			wanted[mtuRule(rule.Source)] = mtuDescription
		}
	}
	for _, rules := range []Rules{g.renamed, g.missing} {
		for rule, description := range rules {
			if strings.HasPrefix(description, clientPrefix) {
				wanted[mtuRule(rule.Source)] = mtuDescription
			}
		}
	}
	missing, stale := maps.Clone(g.missing), maps.Clone(g.stale)
	maps.Copy(missing, wanted.without(g.Rules))
	for rule, description := range g.Rules {
		if description == mtuDescription && !g.adds && !wanted.has(rule) {
			stale[rule] = description
		}
	}
	g.missing, g.stale = missing, stale
}
