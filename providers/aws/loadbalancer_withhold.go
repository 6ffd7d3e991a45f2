package aws

import "github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/securitygroup"

// withhold removes everything from the desired state that deletes what nodes
// may need whose security groups are not known, and reports whether there was
// any: their instances may be returned again a moment later. The next run
// deletes it.
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

// nothingKnown reports whether EC2 returns no instance of any Node. The cause
// is EC2, or the configured region, rather than the Nodes.
func nothingKnown(in input, unknown []string) bool {
	return len(unknown) > 0 && len(unknown) == len(in.request.Targets)
}
