package securitygroup

import (
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// TestAdditions checks which steps remain when nothing may be removed.
func TestAdditions(t *testing.T) {
	t.Parallel()
	group := plan.Ref{ID: "sg-1"}
	rules := Rules{rule("tcp", 80, 80, "10.0.0.0/8"): ""}
	created := create(&Managed{Name: "web", Rules: rules}, "vpc-1", cluster.ID{Name: "demo"})
	for name, c := range map[string]struct {
		reason string
		step   change.Step
		stays  bool
	}{
		"create":    {reason: "the group is missing", step: created, stays: true},
		"tag":       {reason: "the tag is missing", step: tag(group, map[string]string{"a": "b"}), stays: true},
		"authorize": {reason: "the rules are missing", step: authorize(group, rules, 0), stays: true},
		"describe":  {reason: "the rules stay", step: describeRules(group, rules), stays: true},
		"revoke":    {reason: "the rules may be needed", step: revoke(group, rules, nil, 0)},
		"remove":    {reason: "the group may be needed", step: removal{id: "sg-1", name: "web"}.step()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := len(change.Plan{c.step}.Additions()) == 1; got != c.stays {
				t.Errorf("%s: stays: %t, want %t", c.reason, got, c.stays)
			}
		})
	}
}
