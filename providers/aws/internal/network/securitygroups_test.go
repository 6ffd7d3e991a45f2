package network

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// TestSecurityGroups covers AWS-SG-2: what a load balancer is made with,
// and what becomes of its groups later.
func TestSecurityGroups(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason        string
		before, after []string
		want          []string
		writes        int
	}{
		"none":             {reason: "not Managed, none"},
		"made with one":    {reason: "Managed", before: []string{"one"}, after: []string{"one"}, want: []string{"one"}},
		"left":             {reason: "not Managed keeps what it has", before: []string{"one"}, want: []string{"one"}},
		"made without":     {reason: "stays without, AWS cannot add later", after: []string{"one"}},
		"another":          {reason: "managed to BYO and back", before: []string{"one"}, after: []string{"two"}, want: []string{"two"}, writes: 1},
		"one more":         {reason: "exactly those", before: []string{"one"}, after: []string{"two", "one"}, want: []string{"one", "two"}, writes: 1},
		"in another order": {reason: "a set", before: []string{"two", "one"}, after: []string{"one", "two"}, want: []string{"one", "two"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, sim.Options{})
			ids := map[string]string{}
			for _, name := range []string{"one", "two"} {
				ids[name] = b.AddSecurityGroup(sim.SecurityGroupSpec{VPC: b.Cluster.VPC, Name: name, Description: name})
			}
			refs := func(names []string) (list []plan.Ref) {
				for _, name := range names {
					list = append(list, plan.Ref{ID: ids[name]})
				}

				return list
			}
			b.groups = refs(c.before)
			b.ensure(web())
			b.Interceptor().Reset()
			b.groups = refs(c.after)
			b.ensure(web())
			if got := b.Interceptor().Count("elbv2.SetSecurityGroups"); got != c.writes {
				t.Errorf("%s: %d calls to set the groups, want %d", c.reason, got, c.writes)
			}
			var want []string
			for _, name := range c.want {
				want = append(want, ids[name])
			}
			got := slices.Sorted(slices.Values(b.observe(web()).SecurityGroups()))
			if diff := cmp.Diff(plan.Sorted(want), got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, diff)
			}
			b.upToDate(web())
		})
	}
}

// TestSecurityGroupMadeInTheRun is about a group that an earlier step makes.
func TestSecurityGroupMadeInTheRun(t *testing.T) {
	t.Parallel()
	b := newFixture(t, sim.Options{})
	first := b.AddSecurityGroup(sim.SecurityGroupSpec{VPC: b.Cluster.VPC, Name: "one", Description: "one"})
	made := b.AddSecurityGroup(sim.SecurityGroupSpec{VPC: b.Cluster.VPC, Name: "two", Description: "two"})
	key := change.SecurityGroupKey("two")
	for _, before := range [][]plan.Ref{nil, {{ID: first}}} {
		if before != nil {
			b.groups = before
			b.ensure(web())
		}
		b.groups = []plan.Ref{{Key: key}}
		model, _ := b.model(web())
		env := &change.Env{ELBV2: b.shared()}
		env.IDs.Set(key, made)
		if err := planFor(model, b.observe(web())).Apply(t.Context(), env, nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{made}, b.network().SecurityGroups); diff != "" {
			t.Errorf("security groups: -want +got:\n%s", diff)
		}
	}
}
