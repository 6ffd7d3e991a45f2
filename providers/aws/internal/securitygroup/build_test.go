package securitygroup

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

const (
	classicName = "k8s-elb-" + lbName
	networkName = "k8s-default-web-050727a58f"
)

func TestForClassic(t *testing.T) {
	t.Parallel()
	managedKey := plan.Ref{Key: "security-group " + classicName}
	for name, test := range map[string]struct {
		reason string
		change func(*request.Request, *request.Config)
		seen   Groups
		want   []plan.Ref
		made   bool
	}{
		"made": {reason: "AWS-SG-1: one is created by default", want: []plan.Ref{managedKey}, made: true},
		"there": {
			reason: "the one that is there is used", made: true,
			seen: groups(&Group{ID: "sg-9", Name: classicName, Tags: ownedTags()}, &Group{ID: "sg-1", Name: "other"}),
			want: []plan.Ref{{ID: "sg-9", Key: managedKey.Key}},
		},
		"configured": {
			reason: "AWS-SG-1: ElbSecurityGroup replaces it",
			change: func(_ *request.Request, c *request.Config) { c.ClassicSecurityGroup = "sg-global" },
			want:   []plan.Ref{{ID: "sg-global"}},
		},
		"annotated": {
			reason: "security-groups wins, in its order, once each",
			change: func(r *request.Request, c *request.Config) {
				c.ClassicSecurityGroup, r.SecurityGroups = "sg-global", []string{"sg-2", "sg-1", "sg-2"}
			},
			want: []plan.Ref{{ID: "sg-2"}, {ID: "sg-1"}},
		},
		"extra": {
			reason: "extra-security-groups follow the others",
			change: func(r *request.Request, _ *request.Config) { r.ExtraSecurityGroups = []string{"sg-1", "sg-2"} },
			want:   []plan.Ref{managedKey, {ID: "sg-1"}, {ID: "sg-2"}}, made: true,
		},
		"extra and annotated": {
			reason: "what is in both lists is there once",
			change: func(r *request.Request, _ *request.Config) {
				r.SecurityGroups, r.ExtraSecurityGroups = []string{"sg-1"}, []string{"sg-1", "sg-2"}
			},
			want: []plan.Ref{{ID: "sg-1"}, {ID: "sg-2"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, c := web(request.Classic), config()
			if test.change != nil {
				test.change(r, &c)
			}
			got := ForClassic(r, c, test.seen)
			if diff := cmp.Diff(test.want, got.Groups); diff != "" {
				t.Errorf("%s: %s", test.reason, diff)
			}
			if (got.Managed != nil) != test.made {
				t.Errorf("%s: managed is %v", test.reason, got.Managed)
			}
		})
	}
}

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

func TestFrontRules(t *testing.T) {
	t.Parallel()
	tls := web(request.Network)
	tls.TLS.Certificate = "arn:aws:acm:us-west-2:123456789012:certificate/1"
	dns := web(request.Network)
	dns.Ports = []service.Port{{Protocol: "UDP", Port: 53, NodePort: 30053}}
	for name, test := range map[string]struct {
		reason  string
		request *request.Request
		want    string
	}{
		"all clients": {reason: "AWS-SG-4: each port and the MTU messages", request: web(request.Classic), want: "icmp 3/4 from 0.0.0.0/0, tcp 80 from 0.0.0.0/0, tcp 443 from 0.0.0.0/0"},
		"ranges": {
			reason: "from each source range", request: web(request.Classic, "10.0.0.0/8", "192.0.2.1/32"),
			want: "icmp 3/4 from 10.0.0.0/8, icmp 3/4 from 192.0.2.1/32, tcp 80 from 10.0.0.0/8, tcp 80 from 192.0.2.1/32, tcp 443 from 10.0.0.0/8, tcp 443 from 192.0.2.1/32",
		},
		"IPv6": {
			reason: "AWS-SG-5: IPv6 ranges, with the MTU message of IPv6", request: web(request.Classic, "2001:db8::1/32"),
			want: "icmpv6 2/0 from 2001:db8::/32, tcp 80 from 2001:db8::/32, tcp 443 from 2001:db8::/32",
		},
		"TLS": {reason: "AWS-SG-4: TLS is tcp", request: tls, want: "icmp 3/4 from 0.0.0.0/0, tcp 80 from 0.0.0.0/0, tcp 443 from 0.0.0.0/0"},
		"UDP": {reason: "the protocol of the port", request: dns, want: "icmp 3/4 from 0.0.0.0/0, udp 53 from 0.0.0.0/0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := frontRules(test.request).String(); got != test.want {
				t.Errorf("%s: got\n%s, want\n%s", test.reason, got, test.want)
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
