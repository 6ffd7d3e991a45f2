package nodes

import (
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// comparison is the result of comparing what a VM has with a Node.
type comparison int

const (
	unknown comparison = iota // there is nothing to compare
	differs
	agrees
)

// identity is what is known of a Node to find its VM among those with its UUID.
type identity struct {
	name string
	// label is the instance UUID of the vCenter that the Node names, or empty.
	label    string
	assigned assignment
	// others are the names of other Nodes with the UUID.
	others []string
	// address reports whether a guest has an address of the Node. It may make a call.
	address func(vm) comparison
}

// ranks orders VMs with the UUID of a Node by the host name of their guests and by
// whether they run. The highest one is that of the Node.
var ranks = map[comparison]struct{ runs, other int }{
	agrees:  {runs: 6, other: 5},
	unknown: {runs: 3, other: 2},
	differs: {runs: 1, other: 0},
}

const (
	// ranAlone is the rank of a VM that ran while it was the only one with the UUID.
	ranAlone = 7
	// ranAloneRenamed is its rank if its guest has another host name than the Node.
	ranAloneRenamed = 4
)

func (n identity) rank(v vm, found []vm) int {
	host, alone := n.host(v), n.assigned.surely(v)
	switch {
	case alone && host == differs:
		return ranAloneRenamed
	case alone && (!v.isOff() || !n.replaced(found)):
		return ranAlone
	case v.runs():
		return ranks[host].runs
	}

	return ranks[host].other
}

// replaced reports whether exactly one other VM than the assigned one runs with the
// name of the Node: a machine that failed over.
func (n identity) replaced(found []vm) bool {
	return len(lists.Filter(found, func(v vm) bool { return !n.before(v) && v.runs() && n.host(v) == agrees })) == 1
}

// pick returns the VM of the Node among those with its UUID, or those that it can be:
// those of the highest rank, and of several those that may have an address of the
// Node. If other Nodes have the UUID as well, it must be proven for each.
func (n identity) pick(found []vm) []vm {
	if len(n.others) > 0 {
		found = lists.Filter(found, n.proven)
	}
	best := 0
	for _, v := range found {
		best = max(best, n.rank(v, found))
	}
	picked := lists.Filter(found, func(v vm) bool { return n.rank(v, found) == best })
	if len(picked) > 1 {
		if fewer := lists.Filter(picked, func(v vm) bool { return n.address(v) != differs }); len(fewer) > 0 {
			return fewer
		}
	}

	return picked
}

// proven reports whether a VM is that of this Node and not that of another one.
func (n identity) proven(v vm) bool {
	return n.host(v) == agrees || n.before(v) || n.address(v) == agrees
}

// before reports whether a VM was that of the Node before.
func (n identity) before(v vm) bool { return n.assigned.at == v.location() }

// ofAnother reports whether the guest of a VM has the name of another Node with the
// UUID.
func (n identity) ofAnother(v vm) bool {
	return n.host(v) == differs && slices.ContainsFunc(n.others, func(name string) bool { return sameHost(v.HostName, name) })
}

// host compares the host name of a guest with the name of the Node.
func (n identity) host(v vm) comparison {
	switch {
	case sameHost(v.HostName, n.name):
		return agrees
	case v.HostName == "":
		return unknown
	}

	return differs
}

// proof is what is known of the VM of a Node while a vCenter does not respond, which
// may have another VM with the UUID or the name.
type proof int

const (
	// mayBeCopy means that the VM may be a copy.
	mayBeCopy proof = iota
	// likely means that it is that of the Node, but not whether another one runs.
	likely
	// certain means that its power state is that of the Node, too.
	certain
)

// proof returns what is known of a VM:
//
//	it ran while it was the only one with the UUID         certain
//	it is in the vCenter that the label of the Node names  certain
//	it was that of the Node before                         likely
//	its guest has the host name of the Node                likely
//	else                                                   mayBeCopy
func (n identity) proof(v vm) proof {
	switch {
	case n.assigned.surely(v), n.label == v.vcenter.id():
		return certain
	case n.before(v), n.host(v) == agrees:
		return likely
	}

	return mayBeCopy
}

// sameHost compares host names without regard to case, and without the domain
// where one of them has none.
func sameHost(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	aShort, aDomain, _ := strings.Cut(a, ".")
	bShort, bDomain, _ := strings.Cut(b, ".")

	return a == b || aShort != "" && aShort == bShort && (aDomain == "" || bDomain == "")
}
