package securitygroup

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

func TestCreate(t *testing.T) {
	t.Parallel()
	b := newFixture(t, sim.Options{})
	r := web(request.Classic, "10.0.0.0/8", "2001:db8::/32")
	r.Tags = map[string]string{"team": "web"}
	var steps change.Plan
	calls := b.calls(func() { steps = b.ensure(r) })
	want := "create security group k8s-elb-" + lbName + " in " + b.Cluster.VPC + ", description \"Security group for Kubernetes ELB " + lbName + " (default/web)\", tags kubernetes.io/cluster/demo=owned team=web\n" +
		"add to security group <security-group k8s-elb-" + lbName + "> the rules icmp 3/4 from 10.0.0.0/8, icmpv6 2/0 from 2001:db8::/32, tcp 80 from 10.0.0.0/8, tcp 80 from 2001:db8::/32, tcp 443 from 10.0.0.0/8, tcp 443 from 2001:db8::/32\n"
	if diff := cmp.Diff(want, steps.String()); diff != "" {
		t.Errorf("AWS-SG-3, AWS-CLUSTER-5, AWS-SG-5: the name, tags in the call, the rules, IPv6 too: %s", diff)
	}
	if diff := cmp.Diff(map[string]int{"DescribeSecurityGroups": 1, "CreateSecurityGroup": 1, "AuthorizeSecurityGroupIngress": 1}, calls); diff != "" {
		t.Errorf("one call for each step: %s", diff)
	}
	if steps := b.ensure(r); len(steps) != 0 {
		t.Errorf("unchanged: %s", steps)
	}

	// A user edits the rules, and the ranges change.
	id := b.SecurityGroupIDs(classicName)[0]
	b.AddRule(id, sim.Rule{Protocol: "tcp", From: 22, To: 22, Source: "pl-1"})
	r.SourceRanges = prefixes("10.0.0.0/8")
	r.Ports = r.Ports[:1]
	r.Ports[0].Port = 8080
	want = "add to security group " + id + " the rules tcp 8080 from 10.0.0.0/8\n" +
		"remove from security group " + id + " the rules icmpv6 2/0 from 2001:db8::/32, tcp 22 from pl-1, tcp 80 from 10.0.0.0/8, tcp 80 from 2001:db8::/32, tcp 443 from 10.0.0.0/8, tcp 443 from 2001:db8::/32\n"
	if diff := cmp.Diff(want, b.ensure(r).String()); diff != "" {
		t.Errorf("AWS-SG-4: exactly these, first what is missing; all sources count: %s", diff)
	}
	if steps := b.ensure(r); len(steps) != 0 {
		t.Errorf("unchanged: %s", steps)
	}
}

// AWS-SG-16, AWS-CLUSTER-6: a group that has the name but was not seen is
// adopted, and gets the tag that it lacks.
func TestAdopt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reason string
		tags   map[string]string
		rules  []sim.Rule
		err    string
		// surplus is set if there are rules to remove.
		surplus bool
	}{
		"untagged":      {reason: "the missing tag is added"},
		"empty tag":     {reason: "an empty one is filled in", tags: map[string]string{"kubernetes.io/cluster/demo": ""}},
		"with rules":    {reason: "rules that are there are taken over, surplus ones go in the next run", surplus: true, rules: []sim.Rule{{Protocol: "tcp", From: 80, To: 80, Source: "0.0.0.0/0"}, {Protocol: "tcp", From: 22, To: 22, Source: "0.0.0.0/0"}}},
		"other cluster": {reason: "AWS-CLUSTER-7: a group of another cluster is not taken", tags: map[string]string{"kubernetes.io/cluster/prod": "owned"}, err: "belongs to another cluster"},
		"shared":        {reason: "another value is another's", tags: map[string]string{"kubernetes.io/cluster/demo": "shared"}, err: "belongs to another cluster by its tag kubernetes.io/cluster/demo=shared"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, sim.Options{})
			id := b.AddSecurityGroup(sim.SecurityGroupSpec{VPC: b.Cluster.VPC, Name: classicName, Tags: test.tags, Rules: test.rules})
			r := web(request.Classic)
			choice := ForClassic(r, b.config, nil) // as if it could not be seen
			steps, _, err := Diff(choice.Managed, b.config.VPC, b.config.Cluster)
			if err != nil {
				t.Fatal(err)
			}
			err = steps.Apply(t.Context(), b.env, nil)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) || !errors.Is(err, apierr.ErrConflict) {
					t.Errorf("%s: got %v", test.reason, err)
				}
				if diff := cmp.Diff(test.tags, b.Tags(id)); diff != "" || len(b.Rules(id)) != 0 {
					t.Errorf("%s: it was changed: %s", test.reason, diff)
				}

				return
			}
			if test.surplus != errors.Is(err, change.ErrNotAsWanted) || err != nil && !test.surplus {
				t.Fatalf("%s: %v", test.reason, err)
			}
			if test.surplus {
				b.ensure(r)
			}
			if got, err := b.env.IDs.Resolve(choice.Groups[0]); err != nil || got != id {
				t.Errorf("%s: the ID is %q, %v", test.reason, got, err)
			}
			if diff := cmp.Diff(ownedTags(), b.Tags(id)); diff != "" {
				t.Errorf("%s: %s", test.reason, diff)
			}
			if steps := b.ensure(r); len(steps) != 0 {
				t.Errorf("%s: left to do: %s", test.reason, steps)
			}
		})
	}
}

// A group that is adopted keeps its rules in the run that adopts it: missing
// ones are added first, and surplus ones are not removed if that fails, nor in a
// run that may only add.
func TestAdoptionRemovesNoRules(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reason string
		denied bool
		only   bool
	}{
		"added":     {reason: "the next run removes the surplus"},
		"denied":    {reason: "the old rules are the only ones that allow clients", denied: true},
		"additions": {reason: "nothing may be removed", only: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, sim.Options{})
			old := sim.Rule{Protocol: "tcp", From: 80, To: 80, Source: "10.0.0.0/8"}
			id := b.AddSecurityGroup(sim.SecurityGroupSpec{VPC: b.Cluster.VPC, Name: classicName, Rules: []sim.Rule{old}})
			r := web(request.Classic, "192.0.2.0/24")
			steps, _, err := Diff(ForClassic(r, b.config, nil).Managed, b.config.VPC, b.config.Cluster)
			if err != nil {
				t.Fatal(err)
			}
			if test.only {
				steps = steps.Additions()
			}
			if test.denied {
				b.Interceptor().Inject("AuthorizeSecurityGroupIngress", simserver.Always(), sim.Denied())
			}
			calls := b.calls(func() { err = steps.Apply(t.Context(), b.env, nil) })
			if !errors.Is(err, change.ErrNotAsWanted) || test.denied != errors.Is(err, apierr.ErrDenied) {
				t.Errorf("%s: got %v", test.reason, err)
			}
			if calls["RevokeSecurityGroupIngress"] > 0 || !slices.Contains(b.Rules(id), old) {
				t.Errorf("%s: the rules are %v after %v", test.reason, b.Rules(id), calls)
			}
			b.Interceptor().Clear()
			b.ensure(r)
			if slices.Contains(b.Rules(id), old) {
				t.Errorf("%s: the next run leaves %v", test.reason, b.Rules(id))
			}
			if steps := b.ensure(r); len(steps) != 0 {
				t.Errorf("%s: left to do: %s", test.reason, steps)
			}
		})
	}
}

// AWS-CLUSTER-6: a group that is seen and misses a tag gets it, and only it.
func TestRepairTags(t *testing.T) {
	t.Parallel()
	b := newFixture(t, sim.Options{})
	b.config.Cluster.Legacy = true
	id := b.AddSecurityGroup(sim.SecurityGroupSpec{VPC: b.Cluster.VPC, Name: classicName, Tags: map[string]string{"KubernetesCluster": "demo", "a": "b"}})
	if got, want := b.ensure(web(request.Classic))[0].String(), "add to security group "+id+" the tags kubernetes.io/cluster/demo=owned"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if diff := cmp.Diff(map[string]string{"KubernetesCluster": "demo", "kubernetes.io/cluster/demo": "owned", "a": "b"}, b.Tags(id)); diff != "" {
		t.Error(diff)
	}
	b.SetTags(id, map[string]string{"KubernetesCluster": "demo", "kubernetes.io/cluster/demo": "shared"})
	choice := ForClassic(web(request.Classic), b.config, b.observe())
	if _, _, err := Diff(choice.Managed, b.config.VPC, b.config.Cluster); !errors.Is(err, apierr.ErrConflict) {
		t.Errorf("a different value is an error: %v", err)
	}
}

// Where one by one is needed, a crash in the middle leaves rules that name the
// load balancer for last.
func TestRevokeTakesNamelessRulesFirst(t *testing.T) {
	t.Parallel()
	b := newFixture(t, sim.Options{})
	group := plan.Ref{ID: b.AddSecurityGroup(sim.SecurityGroupSpec{VPC: b.Cluster.VPC, Name: "web"})}
	rules := Rules{rule("tcp", 30080, 30080, "10.0.0.0/8"): myClient, rule("udp", 30080, 30080, "10.0.0.0/8"): myClient, rule("icmp", 3, 4, "10.0.0.0/8"): mtuDescription}
	b.apply(change.Plan{authorize(group, rules, 0)})
	rules[rule("tcp", 1, 1, "10.0.0.0/8")] = myClient // not there
	b.Interceptor().Inject("RevokeSecurityGroupIngress", simserver.From(3), sim.Denied())
	if err := revoke(group, rules, nil, 0).Do(t.Context(), b.env); !errors.Is(err, apierr.ErrDenied) {
		t.Errorf("got %v", err)
	}
	for _, left := range b.Rules(group.ID) {
		if left.Description != myClient {
			t.Errorf("left: %v", left)
		}
	}
}

func TestDescribeRules(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reason string
		breaks func(*fixture, string)
		calls  map[string]int
	}{
		"allowed": {
			reason: "the description alone changes", breaks: func(*fixture, string) {},
			calls: map[string]int{"UpdateSecurityGroupRuleDescriptionsIngress": 1},
		},
		"denied": {
			reason: "AWS-SG-12: a policy made for others may not allow it",
			breaks: func(b *fixture, _ string) {
				b.Interceptor().Inject("UpdateSecurityGroupRuleDescriptionsIngress", simserver.Always(), sim.Denied())
			},
			calls: map[string]int{"UpdateSecurityGroupRuleDescriptionsIngress": 1, "RevokeSecurityGroupIngress": 1, "AuthorizeSecurityGroupIngress": 1},
		},
		"gone": {
			reason: "it is made again", breaks: func(b *fixture, id string) {
				b.apply(change.Plan{revoke(plan.Ref{ID: id}, Rules{rule("tcp", 10256, 10256, "10.0.0.0/22"): ""}, nil, 0)})
			},
			calls: map[string]int{"UpdateSecurityGroupRuleDescriptionsIngress": 1, "RevokeSecurityGroupIngress": 2, "AuthorizeSecurityGroupIngress": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, sim.Options{})
			group := plan.Ref{ID: b.AddSecurityGroup(sim.SecurityGroupSpec{VPC: b.Cluster.VPC, Name: "nodes"})}
			health := rule("tcp", 10256, 10256, "10.0.0.0/22")
			b.apply(change.Plan{authorize(group, Rules{health: myHealth}, 0)})
			test.breaks(b, group.ID)
			calls := b.calls(func() { b.apply(change.Plan{describeRules(group, Rules{health: otherHealth})}) })
			if diff := cmp.Diff(test.calls, calls); diff != "" {
				t.Errorf("%s: %s", test.reason, diff)
			}
			want := []sim.Rule{{Protocol: "tcp", From: 10256, To: 10256, Source: "10.0.0.0/22", Description: otherHealth}}
			if diff := cmp.Diff(want, b.Rules(group.ID)); diff != "" {
				t.Errorf("%s: %s", test.reason, diff)
			}
		})
	}
}

// A worker does not wait for a group that is in use, which AWS takes minutes for.
func TestGroupInUseIsAnErrorAtOnce(t *testing.T) {
	t.Parallel()
	b := newFixture(t, sim.Options{})
	id := b.AddSecurityGroup(sim.SecurityGroupSpec{VPC: b.Cluster.VPC, Name: "web"})
	step := change.Plan{removal{id: id, name: "web"}.step()}
	b.Interceptor().Inject("DeleteSecurityGroup", simserver.First(1), sim.Error(400, "DependencyViolation", "resource has a dependent object"))
	if err := step.Apply(t.Context(), b.env, nil); !errors.Is(err, ErrInUse) || !errors.Is(err, apierr.ErrConflict) || b.Interceptor().Count("DeleteSecurityGroup") != 1 {
		t.Errorf("got %v", err)
	}
	b.apply(step)
	if left := b.SecurityGroupIDs("web"); len(left) != 0 {
		t.Errorf("%v are left", left)
	}
	b.apply(step) // not found is done

	other := b.AddSecurityGroup(sim.SecurityGroupSpec{VPC: b.Cluster.VPC, Name: "other"})
	b.Interceptor().Reset()
	b.Interceptor().Inject("DeleteSecurityGroup", simserver.Always(), sim.Denied())
	if err := (removal{id: other, name: "other"}).step().Do(t.Context(), b.env); !errors.Is(err, apierr.ErrDenied) || b.Interceptor().Count("DeleteSecurityGroup") != 1 {
		t.Errorf("any other error ends it: %v", err)
	}
}

// A group that rules of users name keeps the deletion of a Service for some
// minutes, and is left then with a warning.
func TestGroupThatUsersReferToIsLeft(t *testing.T) {
	t.Parallel()
	b := newFixture(t, sim.Options{})
	used := b.AddSecurityGroup(sim.SecurityGroupSpec{VPC: b.Cluster.VPC, Name: "used"})
	b.AddRule(b.Cluster.NodeGroup, sim.Rule{Protocol: "tcp", From: 80, To: 80, Source: used})
	for name, deletedAt := range map[string]time.Time{
		"just now": time.Now(), "some minutes ago": time.Now().Add(-9 * time.Minute),
	} {
		err := change.Plan{removal{id: used, name: "used", deletedAt: deletedAt}.step()}.Apply(t.Context(), b.env, nil)
		if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "delete security group "+used) || !strings.HasSuffix(err.Error(), "by rules of "+b.Cluster.NodeGroup) {
			t.Errorf("%s: the error must name what refers to the group: %v", name, err)
		}
	}
	if warnings := b.env.Warnings(); len(warnings) != 0 {
		t.Errorf("got %v", warnings)
	}
	b.SetDenied("ec2:CreateTags")
	b.apply(change.Plan{removal{id: used, name: "used"}.step()})
	if warnings := b.env.Warnings(); len(warnings) != 1 || !strings.Contains(warnings[0].Message, b.Cluster.NodeGroup) {
		t.Errorf("while the Service stays: got %v", warnings)
	}
	b.env = &change.Env{EC2: b.env.EC2, Wait: b.env.Wait}
	b.apply(change.Plan{removal{id: used, name: "used", deletedAt: time.Now().Add(-11 * time.Minute)}.step()})
	warnings := b.env.Warnings()
	if len(warnings) != 1 || warnings[0].Reason != GroupLeft || !strings.Contains(warnings[0].Message, b.Cluster.NodeGroup) {
		t.Errorf("got %v", warnings)
	}
	if left := b.SecurityGroupIDs("used"); len(left) != 1 {
		t.Errorf("the group is in use: %v", left)
	}
}

// A group that was just made may be unknown for a moment to those who write it.
func TestFreshGroupIsWaitedFor(t *testing.T) {
	t.Parallel()
	b := newFixture(t, sim.Options{})
	b.config.ManagedNetworkGroups = true
	b.SetConsistency(sim.Consistency{Reads: 2, Writes: true})
	b.ensure(web(request.Network))
	if got := b.Rules(b.SecurityGroupIDs(networkName)[0]); len(got) != 3 {
		t.Errorf("got %v", got)
	}
	if calls := b.Interceptor().Calls(); calls["AuthorizeSecurityGroupIngress"] != 3 {
		t.Errorf("got %v", calls)
	}
}

// AWS-API-6, AWS-API-3: one filtered query, in as many pages as it needs.
func TestObserve(t *testing.T) {
	t.Parallel()
	b := newFixture(t, sim.Options{PageSize: 2})
	b.Seed("prod")
	for name, tags := range map[string]map[string]string{
		"a": ownedTags(), "b": {"kubernetes.io/cluster/demo": "shared"}, "c": {"KubernetesCluster": "demo"}, "d": {"KubernetesCluster": "prod"}, "e": nil,
	} {
		b.AddSecurityGroup(sim.SecurityGroupSpec{VPC: b.Cluster.VPC, Name: name, Tags: tags})
	}
	named := func(all Groups) []string {
		var list []string
		for _, name := range []string{"a", "b", "c", "d", "e", "default", "nodes.demo", "nodes.prod"} {
			if all.Named(name) != nil {
				list = append(list, name)
			}
		}

		return list
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "nodes.demo"}, named(b.observe())); diff != "" {
		t.Errorf("membership by either tag: %s", diff)
	}
	first := b.Requests("DescribeSecurityGroups")[0].Form
	if first.Get("Filter.1.Value.1") != b.Cluster.VPC || first.Get("Filter.2.Name") != "tag-key" {
		t.Errorf("AWS-API-6: EC2 filters: %v", first)
	}
	b.config.Cluster.Name = ""
	if diff := cmp.Diff([]string{"a", "b", "c", "d", "e", "default", "nodes.demo"}, named(b.observe())); diff != "" {
		t.Errorf("without a cluster ID everything in the VPC counts: %s", diff)
	}
	none, err := ObserveIDs(t.Context(), b.clients.EC2, b.Cluster.VPC, []string{"sg-0123456789abcdef0"})
	if err != nil || len(none) != 0 {
		t.Errorf("an ID that does not exist is left out: %v, %v", none, err)
	}
}
