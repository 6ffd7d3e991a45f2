package securitygroup

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// RulesLeftOut is the reason of the warning about rules for which a security group
// has no room.
const RulesLeftOut service.Reason = "SecurityGroupRulesLeftOut"

// fill adds rules to a group, or as many as fit:
// https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html
// The quota holds for each address family apart. EC2 refuses all rules of a call if
// not all of them fit, so that halves are tried. The rest is a warning. A group
// that this plan has found full is not tried again before rules were removed.
func fill(ctx context.Context, env *change.Env, group string, rules Rules) error {
	if env.HasWarning(quotaOf(group)) {
		return nil
	}
	families := rules.byFamily()
	if len(families) > 1 {
		if err := authorizeAll(ctx, env, group, rules); !hasCode(err, codeRuleLimit) {
			return err
		}
	}
	bulk := change.Bulk[Rule]{ID: Rule.String, Call: func(ctx context.Context, some []Rule) error {
		return authorizeAll(ctx, env, group, rules.only(some))
	}}
	left := 0
	for _, family := range families {
		out, err := bulk.Do(ctx, family)
		if err != nil {
			return err
		}
		left += len(out.Excess)
	}
	if left > 0 {
		env.WarnAbout(quotaOf(group), service.Warn(RulesLeftOut,
			"Security group %s has no room for %d rules for the load balancer: raise the quota L-0EA8095F "+
				"(Inbound or outbound rules per security group), or use fewer source ranges", group, left))
	}
	return nil
}

// quotaOf is the subject of the warning about a group that is full.
func quotaOf(group string) string { return "rules of " + group }

// byFamily returns the rules by what they count for: IPv4, IPv6, or both. The
// first ones are the most important.
func (r Rules) byFamily() [][]Rule {
	families := map[SourceKind][]Rule{}
	for _, rule := range slices.SortedStableFunc(slices.Values(r.sorted()), r.byImportance) {
		kind := rule.Source.Kind
		if kind == FromPrefixList {
			kind = FromGroup
		}
		families[kind] = append(families[kind], rule)
	}
	list := make([][]Rule, 0, len(families))
	for _, kind := range slices.Sorted(maps.Keys(families)) {
		list = append(list, families[kind])
	}
	return list
}

// byImportance orders rules: those for health checks first, without which there is
// no traffic at all, and last those for path MTU discovery.
func (r Rules) byImportance(a, b Rule) int {
	importance := func(rule Rule) int {
		switch {
		case strings.HasPrefix(r[rule], healthPrefix):
			return 0
		case rule.Protocol == icmp, rule.Protocol == icmpV6:
			return 2
		default:
			return 1
		}
	}
	return cmp.Compare(importance(a), importance(b))
}

// only returns some of the rules.
func (r Rules) only(some []Rule) Rules {
	list := Rules{}
	for _, rule := range some {
		list[rule] = r[rule]
	}
	return list
}
