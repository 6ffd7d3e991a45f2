package securitygroup

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// RulesLeftOut is the reason of the warning about rules that exceed the quota
// of a security group.
const RulesLeftOut service.Reason = "SecurityGroupRulesLeftOut"

// fill adds rules to a group up to its quota:
// https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html
// The quota applies to each address family separately. EC2 rejects all rules of
// a call if not all of them fit, so that halves are tried. The rest is a
// shortage. A group that was found full is not tried again for some minutes, or
// until it has fewer rules.
func fill(ctx context.Context, env *change.Env, group string, rules Rules, have int) error {
	if env.HasShortage(quotaOf(group)) {
		return nil
	}
	families := rules.byFamily()
	full := func(family []Rule) bool { return env.Limits.Reached(limitOf(group, family), have) }
	if len(families) > 1 && !slices.ContainsFunc(families, full) {
		if err := authorizeAll(ctx, env, group, rules); !hasCode(err, codeRuleLimit) {
			return err
		}
	}
	bulk := change.Bulk[Rule]{ID: Rule.String, Call: func(ctx context.Context, some []Rule) error {
		return authorizeAll(ctx, env, group, rules.only(some))
	}}
	var left []Rule
	for _, family := range families {
		if full(family) {
			left = append(left, family...)

			continue
		}
		out, err := bulk.Do(ctx, family)
		if err != nil {
			return err
		}
		have += out.Accepted
		if len(out.Excess) > 0 {
			env.Limits.Reach(limitOf(group, family), have)
			left = append(left, family[len(family)-len(out.Excess):]...)
		}
	}
	if len(left) > 0 {
		env.AddShortage(rules.shortage(group, left))
	}

	return nil
}

// shortage returns the shortage of a group whose quota excludes some of the
// rules.
func (r Rules) shortage(group string, left []Rule) change.Shortage {
	return change.Shortage{
		Subject: quotaOf(group), HealthChecks: slices.ContainsFunc(left, r.allowsHealthChecks),
		Warning: service.Warn(RulesLeftOut,
			"Security group %s has no room for %d rules for the load balancer: raise the quota L-0EA8095F "+
				"(Inbound or outbound rules per security group), or use fewer source ranges", group, len(left)),
	}
}

// allowsHealthChecks reports whether a rule allows health checks: it is for
// them, or for clients with any address.
func (r Rules) allowsHealthChecks(rule Rule) bool {
	open := strings.HasPrefix(r[rule], clientPrefix) && strings.HasSuffix(rule.Source.Value, "/0")

	return open || strings.HasPrefix(r[rule], healthPrefix)
}

// quotaOf returns the subject of the shortage of a full group.
func quotaOf(group string) string { return "rules of " + group }

// limitOf returns the subject of the quota of a group for an address family.
func limitOf(group string, family []Rule) string {
	return fmt.Sprint(group, " ", family[0].Source.Kind)
}

// byFamily returns the rules by the quota that they count for: IPv4, IPv6, or
// both. The most important ones come first.
func (r Rules) byFamily() [][]Rule {
	families := map[SourceKind][]Rule{}
	for _, rule := range slices.SortedStableFunc(slices.Values(r.sorted()), r.byImportance) {
		kind := rule.Source.Kind
		if kind == FromPrefixList {
			kind = FromGroup
		}
		families[kind] = append(families[kind], rule)
	}

	return lists.Map(slices.Sorted(maps.Keys(families)), func(kind SourceKind) []Rule { return families[kind] })
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
