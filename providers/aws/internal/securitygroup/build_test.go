package securitygroup

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

const (
	classicName = "k8s-elb-" + lbName
	networkName = "k8s-default-web-050727a58f"
)

func TestForNetwork(t *testing.T) {
	t.Parallel()
	managedKey := "security-group " + networkName
	old := &Group{ID: "sg-8", Name: "k8s-default-web-0123456789", Description: networkDescription, Tags: ownedTags()}
	for name, test := range map[string]struct {
		reason    string
		unmanaged bool
		annotated []string
		attached  []string
		seen      Groups
		want      []plan.Ref
		made      string
	}{
		"not managed, new":      {reason: "AWS-SG-2: no groups", unmanaged: true},
		"not managed, existing": {reason: "keep what it has", unmanaged: true, attached: []string{"sg-1"}, annotated: []string{"sg-2"}},
		"without groups":        {reason: "AWS cannot add later", attached: []string{}, annotated: []string{"sg-2"}},
		"annotated":             {reason: "exactly those", annotated: []string{"sg-2", "sg-3"}, want: []plan.Ref{{ID: "sg-2"}, {ID: "sg-3"}}},
		"annotated, existing":   {reason: "switches to those", annotated: []string{"sg-2"}, attached: []string{"sg-9"}, want: []plan.Ref{{ID: "sg-2"}}},
		"made":                  {reason: "AWS-SG-2: one is made, with the documented name", want: []plan.Ref{{Key: managedKey}}, made: networkName},
		"there": {
			reason: "found by name", seen: groups(&Group{ID: "sg-9", Name: networkName, Tags: ownedTags()}),
			attached: []string{"sg-1"}, want: []plan.Ref{{ID: "sg-9", Key: managedKey}}, made: networkName,
		},
		"of an earlier cluster name": {
			reason: "the one that was made before --cluster-name was changed is kept", seen: groups(old), attached: []string{"sg-8"},
			want: []plan.Ref{{ID: "sg-8", Key: "security-group " + old.Name}}, made: old.Name,
		},
		"of another owner": {
			reason: "one that is not in use is not known to be ours by its description", seen: groups(old), attached: []string{"sg-1"},
			want: []plan.Ref{{Key: managedKey}}, made: networkName,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, c := web(request.Network), config()
			c.ManagedNetworkGroups, r.SecurityGroups = !test.unmanaged, test.annotated
			got := ForNetwork(r, c, test.attached, test.seen)
			if diff := cmp.Diff(test.want, got.Groups); diff != "" {
				t.Errorf("%s: %s", test.reason, diff)
			}
			made := ""
			if got.Managed != nil {
				made = got.Managed.Name
			}
			if made != test.made {
				t.Errorf("%s: managed is %q, want %q", test.reason, made, test.made)
			}
		})
	}
}

func TestOwned(t *testing.T) {
	t.Parallel()
	group := func(id, name, description string, tags map[string]string) *Group {
		return &Group{ID: id, Name: name, Description: description, Tags: tags}
	}
	shared := map[string]string{"kubernetes.io/cluster/demo": "shared"}
	legacy := map[string]string{"KubernetesCluster": "demo"}
	describesUs := "Security group for Kubernetes ELB " + lbName + " (default/web)"
	for name, test := range map[string]struct {
		reason string
		group  *Group
		change func(*request.Request, *request.Config)
		want   bool
	}{
		"classic":         {reason: "by its derived name", group: group("sg-1", classicName, "", ownedTags()), want: true},
		"network":         {reason: "by its derived name", group: group("sg-1", networkName, "", ownedTags()), want: true},
		"legacy":          {reason: "the legacy tag is ownership too", group: group("sg-1", classicName, "", legacy), want: true},
		"shared":          {reason: "AWS-SG-6: not without ownership", group: group("sg-1", classicName, "", shared)},
		"untagged":        {reason: "without the tag never", group: group("sg-1", classicName, "", nil)},
		"another service": {reason: "another name is another's", group: group("sg-1", "k8s-elb-"+otherName, "", ownedTags())},
		"attached":        {reason: "by the description of ours, if attached", group: group("sg-attached", "renamed", describesUs, ownedTags()), want: true},
		"not attached":    {reason: "by the description only if attached", group: group("sg-1", "renamed", describesUs, ownedTags())},
		"earlier name": {
			reason: "made under another --cluster-name", group: group("sg-attached", "k8s-default-web-0123456789", networkDescription, ownedTags()), want: true,
		},
		"another's managed group": {
			reason: "one of another Service is not ours though attached", group: group("sg-attached", "k8s-default-api-0123456789", networkDescription, ownedTags()),
		},
		"annotated": {
			reason: "AWS-SG-6: an annotated group is never ours", group: group("sg-1", classicName, "", ownedTags()),
			change: func(r *request.Request, _ *request.Config) { r.SecurityGroups = []string{"sg-1"} },
		},
		"extra": {
			reason: "nor is an extra one", group: group("sg-1", classicName, "", ownedTags()),
			change: func(r *request.Request, _ *request.Config) { r.ExtraSecurityGroups = []string{"sg-1"} },
		},
		"ElbSecurityGroup": {
			reason: "nor is the configured one", group: group("sg-1", classicName, "", ownedTags()),
			change: func(_ *request.Request, c *request.Config) { c.ClassicSecurityGroup = "sg-1" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, c := web(request.Classic), config()
			if test.change != nil {
				test.change(r, &c)
			}
			got := Owned(groups(test.group), r, c, []string{"sg-attached"})
			if (len(got) > 0) != test.want {
				t.Errorf("%s: got %v", test.reason, got)
			}
		})
	}
}
