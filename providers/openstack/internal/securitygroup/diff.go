package securitygroup

import (
	"cmp"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// Key is the key under which a step stores the ID of a new group.
const Key = "security group"

// member is a port that gets or loses the group.
type member struct {
	port *client.Port
	// node is the name of its Node, empty if it is not one of the Service.
	node string
}

// String is the name of the Node, or else the ID of the port.
func (m member) String() string { return cmp.Or(m.node, m.port.ID) }

// Diff returns the steps that lead from the observed group to the desired one:
//
//  1. The group is created.
//  2. Missing rules are created, all in one call.
//  3. The ports of Nodes get the group.
//  4. Other ports lose it, unless they are to keep it.
//  5. Other rules are deleted, also those that a new group has from the start.
//  6. Other groups of the Service are deleted.
//
// If rules have exceeded a quota, step 2 follows step 5.
//
// The failure of a step does not end the run: load balancers may work without it. Steps 4
// to 6 are left out as long as there are gaps, see [Incomplete].
func Diff(o *Observed, d *Desired) change.Plan {
	group := groupRef{name: d.Names.SecurityGroup(), Ref: plan.Ref{Key: Key}}
	var steps change.Plan
	missing, removals := d.Rules, removeFirstRules(group, d.Rules)
	if o.Group == nil {
		steps = append(steps, create(d.Names))
	} else {
		var extra []ownRule
		group.Ref = plan.ID(o.Group.ID)
		missing, extra = compareRules(d.Rules, o.Rules)
		removals = removeRules(group, extra)
	}
	added, removed := o.compareMembers(d.Nodes)
	if d.KeepPorts {
		removed = nil
	}
	additions := addRules(group, missing)
	if d.RulesOverQuota && o.Group != nil {
		removals, additions = slices.Concat(removals, afterRemoval(additions)), nil
	}
	steps = slices.Concat(steps, additions, addTo(group, added), removeFrom(group, removed), removals, o.duplicateRemovals())
	if gaps, _ := Incomplete(o, d); len(gaps) > 0 {
		return steps.Additions()
	}

	return steps
}

// afterRemoval returns steps as ones that work only after a step that removes.
func afterRemoval(steps change.Plan) change.Plan {
	return lists.Map(steps, change.Step.Removal)
}

// compareMembers returns the ports of Nodes that lack the group, and the ports that have it
// and are not those of Nodes. Groups do not apply to ports without port security.
func (o *Observed) compareMembers(nodes []Node) (added, removed []member) {
	wanted := map[string]bool{}
	for _, node := range nodes {
		for _, port := range o.holders(node) {
			if !wanted[port.ID] && !o.isMember(port) && port.HasPortSecurity() {
				added = append(added, member{port, node.Name})
			}
			wanted[port.ID] = true
		}
	}
	for _, port := range o.Members {
		if !wanted[port.ID] {
			removed = append(removed, member{port: port})
		}
	}

	return added, sortMembers(removed)
}

// isMember reports whether a port has the group. Of two reads of it, either may be older.
func (o *Observed) isMember(port *client.Port) bool {
	return o.Group != nil && slices.Contains(port.SecurityGroups, o.Group.ID)
}

func sortMembers(members []member) []member {
	return slices.SortedFunc(slices.Values(members), func(a, b member) int { return cmp.Compare(a.port.ID, b.port.ID) })
}

// DiffDelete returns the steps that take the group off all ports and delete it. There are
// none without a group. It stays if OpenStack does not allow to change a port.
func DiffDelete(o *Observed) change.Plan {
	if o.Group == nil {
		return nil
	}
	group := groupRef{name: o.Group.Name, Ref: plan.ID(o.Group.ID)}
	members := sortMembers(lists.Map(o.Members, func(p *client.Port) member { return member{port: p} }))

	return slices.Concat(takeFrom(group, members), change.Plan{remove(group)}, o.duplicateRemovals())
}

// duplicateRemovals plans to delete the other groups of the Service.
func (o *Observed) duplicateRemovals() change.Plan {
	var steps change.Plan
	for _, other := range o.Duplicates {
		steps = append(steps, DiffDelete(other)...)
	}

	return steps
}
