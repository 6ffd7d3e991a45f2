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
	// stale are rules of the load balancer's own that it does not need any more.
	stale Rules
	// touched means that a network load balancer had or gets rules here.
	touched bool
}

// DiffNodes compares what a load balancer needs with the groups of the VPC.
// Groups holds all that may have a rule of it.
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
		if n.AddOnly {
			stale, renamed = Rules{}, Rules{}
		}
		missing := wanted.without(group.Rules)
		maps.Copy(missing, n.Lost[group.ID].without(group.Rules).without(missing))
		diff.groups = append(diff.groups, nodeGroup{
			Group: group, missing: missing, renamed: renamed, stale: stale,
			touched: own.described() || wanted.described(),
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

// LettingIn returns the other groups that let in a classic load balancer by a group.
func LettingIn(groups Groups, id string) []*Group {
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

// Groups returns the IDs of the groups that the load balancer has to do with: those
// of its nodes, and those that are to change.
func (d NodeDiff) Groups() []string {
	ids := slices.Clone(d.needs.Groups)
	for _, group := range d.groups {
		if group.touched || len(group.missing)+len(group.stale)+len(group.renamed) > 0 {
			ids = append(ids, group.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Stale returns the rules that would be removed if no other load balancer needs
// them. Those that name a group that is about to be deleted must go anyway.
func (d NodeDiff) Stale() []Rule {
	all := Rules{}
	for _, group := range d.groups {
		maps.Copy(all, group.stale)
	}
	return slices.DeleteFunc(all.sorted(), func(rule Rule) bool {
		return rule.Source.Kind == FromGroup && slices.Contains(d.needs.Ending, rule.Source.Value)
	})
}

// Plan lists the writes: what is missing comes first, then what goes to another
// load balancer, then what is removed. Rules that others need stay. Without users
// it is what there would be to do if there were no others.
func (d NodeDiff) Plan(users RuleUsers) change.Plan {
	var steps change.Plan
	for _, group := range d.groups {
		group.keepShared(users)
		group.addPathMTURules(d.needs.AddOnly)
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

// Restore lists the writes that add again what would be removed if no other load
// balancer needs it.
func (d NodeDiff) Restore() change.Plan {
	var steps change.Plan
	for _, group := range d.groups {
		if len(group.stale) > 0 {
			steps = append(steps, authorize(plan.Ref{ID: group.ID}, group.stale, len(group.Rules)-len(group.stale)))
		}
	}
	return steps
}

// keepShared keeps the rules that others need, under the name of one of them.
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

// addPathMTURules lets the messages for path MTU discovery in from where clients
// come from, those of other load balancers too, and removes those that have none,
// unless nothing is to be removed.
func (g *nodeGroup) addPathMTURules(addOnly bool) {
	if !g.touched {
		return
	}
	wanted := Rules{}
	// The rules of the group may be a thousand: they are not copied.
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
		if description == mtuDescription && !addOnly && !wanted.has(rule) {
			stale[rule] = description
		}
	}
	g.missing, g.stale = missing, stale
}
