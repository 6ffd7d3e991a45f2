package securitygroup

import (
	"fmt"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// Reasons of warnings. What exceeds a quota has [change.QuotaExceeded].
const (
	// NotAdded is a Node whose ports cannot get the group.
	NotAdded service.Reason = "SecurityGroupNotAdded"
	// NotRemoved is a port that keeps the group.
	NotRemoved service.Reason = "SecurityGroupNotRemoved"
	// RuleRefused is a rule that Neutron refuses.
	RuleRefused service.Reason = "SecurityGroupRuleRefused"
	// SubnetUnreadable is a subnet whose CIDR is needed in a rule.
	SubnetUnreadable service.Reason = "MemberSubnetUnreadable"
)

// Incomplete returns what keeps the group from being as it should be, and the warnings for
// users. As long as there are gaps, [Diff] takes nothing away.
func Incomplete(o *Observed, d *Desired) ([]service.Gap, []service.Warning) {
	name := d.Names.SecurityGroup()
	var gaps []service.Gap
	var warnings []service.Warning
	gap := func(kind string, items []string, format string) bool {
		if len(items) == 0 {
			return false
		}
		gaps = append(gaps, service.Gap{
			Key: "security-group " + kind + " " + plan.Words(items), Text: fmt.Sprintf(format, plan.FewCommas(items)),
		})

		return true
	}
	var servers, ports, without []string
	for _, node := range d.Nodes {
		switch {
		case node.Server == "":
			servers = append(servers, node.Name)
		case len(o.candidates(node)) == 0 && !slices.ContainsFunc(o.Members, node.hasAddress):
			// A server without any port, as one that is deleted, has none that could lose the
			// group. One whose ports are all in another project is a matter for the user.
			without = append(without, node.Name)
		case len(o.holders(node)) == 0:
			ports = append(ports, node.Name)
		}
	}
	gap("server", servers, "the servers of nodes are not known: %s")
	gap("subnet", lists.Without(d.unread, without), "the subnets of nodes are not known: %s")
	if gap("cidr", d.unreadSubnets, "subnets cannot be read: %s") {
		warnings = append(warnings, service.Warn(SubnetUnreadable,
			"Security group %s does not allow traffic from subnets whose CIDRs cannot be read: %s", name, plan.FewCommas(d.unreadSubnets)))
	}
	gap("port", ports, "no port of the project has the address of nodes: %s")
	if missing := plan.Sorted(append(ports, without...)); len(missing) > 0 {
		warnings = append(warnings, service.Warn(NotAdded,
			"Security group %s is not added to nodes, because no port of the project has their address: %s", name, plan.FewCommas(missing)))
	}

	return gaps, warnings
}
