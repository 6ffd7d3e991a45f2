package aws

import (
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/securitygroup"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// SecurityGroupRuleLeft is the reason of the warning about a rule of the nodes that may
// have been created for a classic load balancer, or by users.
const SecurityGroupRuleLeft service.Reason = "SecurityGroupRuleLeft"

// primaries returns the desired primary security group of the classic load
// balancer, and its current and previous ones: nodes allow its traffic only
// from these, and rules with another source belong to users. AWS returns the
// groups in any order, so that without stored state of the load balancer, only
// the first group of the Service, the group of the cloud-config, and a single
// group are certain.
func (o *observed) primaries(in input, wanted string) []string {
	groups := slices.DeleteFunc(o.classicGroups(), func(id string) bool {
		return id == wanted || slices.Contains(in.request.ExtraSecurityGroups, id)
	})
	if len(groups) > 1 || slices.Contains(o.classicGroups(), wanted) {
		groups = slices.DeleteFunc(groups, func(id string) bool {
			return id != in.config.ClassicSecurityGroup && !slices.Contains(o.Primaries, id)
		})
	}
	if wanted != "" {
		groups = append(groups, wanted)
	}

	return groups
}

// names reports whether the annotations of the Service name a security group.
func (in input) names(id string) bool {
	return slices.Contains(in.request.SecurityGroups, id) || slices.Contains(in.request.ExtraSecurityGroups, id)
}

// rulesLeft returns warnings about rules of the nodes that name security groups
// which the classic load balancer loses. Without stored state of the load
// balancer, they may be its rules.
func (o *observed) rulesLeft(in input, lost []string) []service.Warning {
	if in.config.LeaveNodeSecurityGroups || len(o.Primaries) > 0 {
		return nil
	}
	var warnings []service.Warning
	for _, id := range lost {
		letting := slices.DeleteFunc(securitygroup.Allowing(o.Groups, id),
			func(group *securitygroup.Group) bool { return !in.config.Cluster.Member(group.Tags) })
		if len(letting) > 0 {
			warnings = append(warnings, service.Warn(SecurityGroupRuleLeft,
				"The rule for all traffic from security group %s in %s is not removed because it may be yours; "+
					"remove it if nothing but the load balancer needed it", id, strings.Join(idsOf(letting), ", ")))
		}
	}

	return warnings
}
