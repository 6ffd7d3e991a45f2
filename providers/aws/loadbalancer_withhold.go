package aws

import (
	"maps"
	"slices"
	"time"

	expiring "k8s.io/apimachinery/pkg/util/cache"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/securitygroup"
)

// withhold removes everything from the desired state that deletes what nodes
// may need whose security groups are not known, and reports whether there was
// any: their instances may be returned again a moment later. The next run
// deletes it. Instances that EC2 does not return for long, and those with the tag of
// another cluster, only keep the rules of groups without any other node.
func (d *desired) withhold(in input, o *observed) bool {
	foreign := slices.ContainsFunc(slices.Collect(maps.Values(o.Facts.Targets)), o.Facts.Foreign)
	d.Nodes.InUseOnly = foreign
	if len(o.Facts.Unknown)+len(o.Selection.Nodes.Without) == 0 && (!foreign || !d.dropsGroupOfOthers(o)) {
		return false
	}
	all := d.removals(in, o)
	allLong := len(o.Facts.LongUnknown) == len(o.Facts.Unknown)
	if allLong && len(o.Selection.Nodes.Without) == 0 && !d.dropsGroupOfOthers(o) {
		d.Nodes.InUseOnly = true

		return d.removals(in, o) < all
	}
	withheld := all+len(d.Surplus)+len(d.Detaching) > 0
	d.Nodes.AddOnly, d.Surplus = true, nil

	return withheld
}

// removals returns how many writes remove rules from the groups of nodes.
func (d *desired) removals(in input, o *observed) int {
	if in.config.LeaveNodeSecurityGroups {
		return 0
	}

	return len(securitygroup.DiffNodes(d.Nodes, o.Groups, in.config.Cluster).Plan(securitygroup.RuleUsers{}).Removals())
}

// dropsGroupOfOthers reports whether a security group that the load balancer is to
// lose is named by a group of nodes without any known node.
func (d *desired) dropsGroupOfOthers(o *observed) bool {
	dropped := idsOf(d.Surplus)
	for _, ref := range d.Detaching {
		dropped = append(dropped, ref.ID)
	}

	return slices.ContainsFunc(dropped, func(id string) bool {
		return slices.ContainsFunc(securitygroup.Allowing(o.Groups, id), func(group *securitygroup.Group) bool {
			return !slices.Contains(d.Nodes.Groups, group.ID)
		})
	})
}

// nothingKnown reports whether EC2 returns no instance of any Node. The cause
// is EC2, or the configured region, rather than the Nodes.
func nothingKnown(in input, unknown []string) bool {
	return len(unknown) > 0 && len(unknown) == len(in.request.Targets)
}

const (
	// longMissing is how long EC2 does not return an instance that counts as long
	// unknown.
	longMissing = 10 * time.Minute
	// missingAge is how long after its last sync a missing instance is stored,
	// maxMissing how many are.
	missingAge = 24 * time.Hour
	maxMissing = 1 << 14
)

// missing has since when EC2 does not return the instances of Nodes. It is safe for
// concurrent use.
type missing struct{ since *expiring.LRUExpireCache }

func newMissing() missing { return missing{expiring.NewLRUExpireCache(maxMissing)} }

// long stores the instances that EC2 returns and does not return now, and returns
// those of the latter that are long missing.
func (m missing) long(found map[string]*inventory.Instance, unknown []string) (long []string) {
	for id := range found {
		m.since.Remove(id)
	}
	for _, id := range unknown {
		since := time.Now()
		if known, ok := m.since.Get(id); ok {
			since = known.(time.Time)
		}
		m.since.Add(id, since, missingAge)
		if time.Since(since) >= longMissing {
			long = append(long, id)
		}
	}

	return long
}
