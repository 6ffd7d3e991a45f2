package securitygroup

import (
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/google/go-cmp/cmp"

	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// trackedFixture is a security group that is written through a Reader.
type trackedFixture struct {
	*fixture
	reader *Reader
	group  string
}

func (f *trackedFixture) authorize(rules Rules) error {
	_, err := f.reader.Client().AuthorizeSecurityGroupIngress(f.t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{
		GroupId: aws.String(f.group), IpPermissions: rules.permissions(true),
	})

	return err
}

func (f *trackedFixture) revoke(rules Rules) error {
	_, err := f.reader.Client().RevokeSecurityGroupIngress(f.t.Context(), &ec2.RevokeSecurityGroupIngressInput{
		GroupId: aws.String(f.group), IpPermissions: rules.permissions(false),
	})

	return err
}

// others changes the rules as another process does.
func (f *trackedFixture) others(remove bool, rules Rules) {
	for rule, description := range rules {
		spec := sim.Rule{Protocol: rule.Protocol, From: rule.From, To: rule.To, Source: rule.Source.Value, Description: description}
		if remove {
			f.RemoveRule(f.group, spec)
		} else {
			f.AddRule(f.group, spec)
		}
	}
}

// For the time in which own writes count, what EC2 returns about a single rule
// counts as well: that one which is to be removed does not exist, and one to be
// added does.
func TestRulesAreAsLastReturned(t *testing.T) {
	t.Parallel()
	one, two := rule("tcp", 80, 80, "10.0.0.0/8"), rule("tcp", 443, 443, "10.0.0.0/8")
	ours := Rules{one: "ours"}
	for name, test := range map[string]struct {
		reason string
		do     func(f *trackedFixture) []error
		errors []string
		want   Rules
	}{
		"added": {
			reason: "an own write", want: ours,
			do: func(f *trackedFixture) []error { return []error{f.authorize(ours)} },
		},
		"removed, lost response": {
			reason: "the retry finds no rule", errors: []string{"", codeRuleMissing}, want: Rules{},
			do: func(f *trackedFixture) []error {
				first := f.authorize(ours)
				f.others(true, ours)

				return []error{first, f.revoke(ours)}
			},
		},
		"added, lost response": {
			reason: "the retry finds the rule, with its description", errors: []string{"", "", codeRuleExists}, want: ours,
			do: func(f *trackedFixture) []error {
				first, second := f.authorize(Rules{one: "theirs"}), f.revoke(ours)
				f.others(false, ours)

				return []error{first, second, f.authorize(ours)}
			},
		},
		"rule of users": {
			reason: "a rule that EC2 rejects keeps the description that is read",
			errors: []string{codeRuleExists}, want: Rules{one: "bastion"},
			do: func(f *trackedFixture) []error {
				f.others(false, Rules{one: "bastion"})

				return []error{f.authorize(ours)}
			},
		},
		"several, one is missing": {
			reason: "it is not known which one: reads count", errors: []string{"", codeRuleMissing}, want: Rules{two: ""},
			do: func(f *trackedFixture) []error {
				both := Rules{one: "", two: ""}
				first := f.authorize(both)
				f.others(true, Rules{one: ""})

				return []error{first, f.revoke(both)}
			},
		},
		"several, one exists": {
			reason: "it is not known which one: reads count", errors: []string{"", "", codeRuleExists}, want: Rules{two: ""},
			do: func(f *trackedFixture) []error {
				both := Rules{one: "", two: ""}
				first, second := f.authorize(both), f.revoke(both)
				f.others(false, Rules{two: ""})

				return []error{first, second, f.authorize(both)}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &trackedFixture{fixture: newFixture(t, sim.Options{})}
			f.group = f.AddSecurityGroup(sim.SecurityGroupSpec{VPC: f.Cluster.VPC, Name: "web", Tags: ownedTags()})
			f.reader = NewReader(f.clients.EC2, f.config.VPC, f.config.Cluster)
			for i, err := range test.do(f) {
				if want := slices.Concat(test.errors, []string{""})[i]; (err != nil || want != "") && !hasCode(err, want) {
					t.Fatalf("%s: call %d: got %v, want %q", test.reason, i, err, want)
				}
			}
			groups, err := f.reader.OfCluster(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, maps.Clone(groups[f.group].Rules)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", test.reason, diff)
			}
		})
	}
}

// A write that EC2 rejects leaves what was read as it is: Services whose rules
// do not fit do not have all others read the groups again.
func TestRefusedWritesKeepWhatWasRead(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reason string
		code   string
		drops  bool
	}{
		"quota":       {reason: "nothing was written", code: codeRuleLimit},
		"denied":      {reason: "nothing was written", code: "UnauthorizedOperation"},
		"exists":      {reason: "what was read is out of date", code: codeRuleExists, drops: true},
		"no group":    {reason: "what was read is out of date", code: codeGroupMissing, drops: true},
		"unavailable": {reason: "it may have been written", code: "InternalError", drops: true},
		"accepted":    {reason: "it was written", drops: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &trackedFixture{fixture: newFixture(t, sim.Options{})}
			f.group = f.AddSecurityGroup(sim.SecurityGroupSpec{VPC: f.Cluster.VPC, Name: "web", Tags: ownedTags()})
			f.reader = NewReader(f.clients.EC2, f.config.VPC, f.config.Cluster)
			if test.code != "" {
				f.Interceptor().Inject("AuthorizeSecurityGroupIngress", simserver.Always(), sim.Error(http.StatusBadRequest, test.code, "refused"))
			}
			for range 2 {
				if _, err := f.reader.OfCluster(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			before := f.reader.Writes()
			if err := f.authorize(Rules{rule("tcp", 80, 80, "10.0.0.0/8"): ""}); (err != nil) != (test.code != "") {
				t.Fatal(err)
			}
			reads := f.calls(func() {
				if _, err := f.reader.OfCluster(t.Context()); err != nil {
					t.Fatal(err)
				}
			})["DescribeSecurityGroups"]
			if written := f.reader.Writes() != before; written != test.drops || (reads > 0) != test.drops {
				t.Errorf("%s: %d reads, written: %t", test.reason, reads, written)
			}
		})
	}
}
