package aws

import "github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/securitygroup"

// withhold takes everything out of the desired state that removes what nodes may
// need whose security groups are not known, and reports whether there was any:
// their instances may be there again in a moment. The next run removes it.
func (d *desired) withhold(in input, o *observed) bool {
	if len(o.Facts.Unknown)+len(o.Selection.Nodes.Without) == 0 {
		return false
	}
	withheld := len(d.Surplus)+len(d.Detaching) > 0
	if !in.config.LeaveNodeSecurityGroups {
		all := securitygroup.DiffNodes(d.Nodes, o.Groups, in.config.Cluster).Plan(securitygroup.RuleUsers{})
		withheld = withheld || len(all.Removals()) > 0
	}
	d.Nodes.AddOnly, d.Surplus = true, nil
	return withheld
}

// nothingKnown reports whether EC2 returns the instance of no Node at all. The cause
// is EC2, or the configured region, rather than the Nodes.
func nothingKnown(in input, unknown []string) bool {
	return len(unknown) > 0 && len(unknown) == len(in.request.Targets)
}
