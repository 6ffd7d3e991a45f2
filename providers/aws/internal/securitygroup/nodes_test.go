package securitygroup

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

func TestForNetworkNodes(t *testing.T) {
	t.Parallel()
	const client, health = " (kubernetes.io/rule/nlb/client=lb)", " (kubernetes.io/rule/nlb/health=lb)"
	for name, test := range map[string]struct {
		reason  string
		traffic Traffic
		want    string
	}{
		"for all clients": {
			reason:  "AWS-SG-9: the rules for the clients include the health checks of node ports",
			traffic: Traffic{Transport: tcp, NodePorts: []int32{30080}, HealthCheckPorts: []int32{30080}, Clients: prefixes("0.0.0.0/0"), Subnets: prefixes("10.0.0.0/22")},
			want:    "tcp 30080 from 0.0.0.0/0" + client,
		},
		"for some": {
			reason:  "then the subnets must be allowed too",
			traffic: Traffic{Transport: tcp, NodePorts: []int32{30080}, HealthCheckPorts: []int32{30080}, Clients: prefixes("192.0.2.0/24"), Subnets: prefixes("10.0.0.0/22", "10.0.4.0/22")},
			want:    "tcp 30080 from 10.0.0.0/22" + health + ", tcp 30080 from 10.0.4.0/22" + health + ", tcp 30080 from 192.0.2.0/24" + client,
		},
		"for all clients and more": {
			reason:  "only the one range 0.0.0.0/0 covers health checks",
			traffic: Traffic{Transport: tcp, NodePorts: []int32{30080}, HealthCheckPorts: []int32{30080}, Clients: prefixes("0.0.0.0/0", "::/0"), Subnets: prefixes("10.0.0.0/22")},
			want:    "tcp 30080 from 0.0.0.0/0" + client + ", tcp 30080 from 10.0.0.0/22" + health + ", tcp 30080 from ::/0" + client,
		},
		"own health check port": {
			reason:  "a port that clients do not use",
			traffic: Traffic{Transport: tcp, NodePorts: []int32{30080}, HealthCheckPorts: []int32{10256}, Clients: prefixes("0.0.0.0/0"), Subnets: prefixes("10.0.0.0/22")},
			want:    "tcp 10256 from 10.0.0.0/22" + health + ", tcp 30080 from 0.0.0.0/0" + client,
		},
		"UDP": {
			reason:  "health checks are TCP",
			traffic: Traffic{Transport: udp, NodePorts: []int32{30053}, HealthCheckPorts: []int32{30053}, Clients: prefixes("0.0.0.0/0"), Subnets: prefixes("10.0.0.0/22")},
			want:    "tcp 30053 from 10.0.0.0/22" + health + ", udp 30053 from 0.0.0.0/0" + client,
		},
		"hidden clients": {
			reason: "AWS-SG-9: packets come from the subnets then, to the node port too",
			traffic: Traffic{
				Transport: tcp, NodePorts: []int32{30080}, HealthCheckPorts: []int32{32000}, Clients: prefixes("192.0.2.0/24"), Subnets: prefixes("10.0.0.0/22"), HidesClients: true,
			},
			want: "tcp 30080 from 10.0.0.0/22" + health + ", tcp 30080 from 192.0.2.0/24" + client + ", tcp 32000 from 10.0.0.0/22" + health,
		},
		"same rule twice": {
			reason:  "EC2 takes both for one, and it is the clients' then",
			traffic: Traffic{Transport: tcp, NodePorts: []int32{30080}, HealthCheckPorts: []int32{30080}, Clients: prefixes("10.0.0.0/22"), Subnets: prefixes("10.0.0.0/22")},
			want:    "tcp 30080 from 10.0.0.0/22" + client,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.traffic.LoadBalancer = "lb"
			if got := ForNetworkNodes(test.traffic).String(); got != test.want {
				t.Errorf("%s: got\n%s, want\n%s", test.reason, got, test.want)
			}
		})
	}
}

func TestChooseNodeGroups(t *testing.T) {
	t.Parallel()
	instance := func(groups ...string) *inventory.Instance { return &inventory.Instance{SecurityGroups: groups} }
	for name, test := range map[string]struct {
		reason    string
		instances map[string]*inventory.Instance
		want      []string
		warnings  []service.Warning
		err       string
	}{
		"tagged": {
			reason:    "AWS-SG-7: the single one with the tag, each once",
			instances: map[string]*inventory.Instance{"i-1": instance("sg-1", "tagged-1"), "i-2": instance("tagged-1"), "i-3": instance("tagged-2", "sg-1", "sg-2")},
			want:      []string{"tagged-1", "tagged-2"},
		},
		"untagged": {reason: "none has the tag, but there is only one", instances: map[string]*inventory.Instance{"i-1": instance("sg-1")}, want: []string{"sg-1"}},
		"none": {
			reason:    "AWS-SG-7: an instance without groups is left out, with a warning",
			instances: map[string]*inventory.Instance{"i-1": instance(), "i-2": instance("tagged-1")},
			want:      []string{"tagged-1"},
			warnings:  []service.Warning{{Reason: NoGroup, Message: "Instances without a security group get no rules for the load balancer: i-1"}},
		},
		"several": {
			reason: "AWS-SG-7: an ambiguous group is an error and an Event, and the others have their rules",
			instances: map[string]*inventory.Instance{
				"i-1": instance("tagged-2", "tagged-1"), "i-2": instance("sg-1", "sg-2"), "i-3": instance("tagged-3"),
			},
			want: []string{"tagged-3"},
			warnings: []service.Warning{{
				Reason: AmbiguousGroup, Message: "Tag exactly one of the security groups of each instance for the cluster: i-1 (tagged-1, tagged-2), i-2 (sg-1, sg-2)",
			}},
			err: "choose the security group of instances i-1 (tagged-1, tagged-2), i-2 (sg-1, sg-2): tag exactly one of the groups of each for the cluster",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chosen := ChooseNodeGroups(test.instances, func(id string) bool { return id[0] == 't' })
			got, warnings, err := chosen.IDs, chosen.Warnings, chosen.Err
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s: %s", test.reason, diff)
			}
			if diff := cmp.Diff(test.warnings, warnings); diff != "" {
				t.Errorf("%s: %s", test.reason, diff)
			}
			text := ""
			if err != nil {
				text = err.Error()
			}
			if text != test.err || (err != nil) != errors.Is(err, apierr.ErrInvalid) {
				t.Errorf("%s: got %q", test.reason, text)
			}
		})
	}
}

// The descriptions of rules for the load balancer of the tests and another.
const (
	myClient    = clientPrefix + lbName
	myHealth    = healthPrefix + lbName
	otherClient = clientPrefix + otherName
	otherHealth = healthPrefix + otherName
)

func TestDiffNodes(t *testing.T) {
	t.Parallel()
	tagged := func(id string, rules Rules) *Group { return &Group{ID: id, Tags: ownedTags(), Rules: rules} }
	untagged := func(id string, rules Rules) *Group { return &Group{ID: id, Rules: rules} }
	const anywhere, subnet = "0.0.0.0/0", "10.0.0.0/22"
	client, health, mtu := rule("tcp", 30080, 30080, anywhere), rule("tcp", 10256, 10256, subnet), rule("icmp", 3, 4, anywhere)
	network := func(groups ...string) Needs {
		return Needs{LoadBalancer: lbName, Groups: groups, Rules: Rules{client: myClient, health: myHealth}}
	}
	classic := func(groups ...string) Needs {
		return Needs{LoadBalancer: lbName, Groups: groups, Primary: plan.Ref{ID: "sg-lb"}, Sources: []string{"sg-lb", "sg-old"}}
	}
	for name, test := range map[string]struct {
		reason string
		needs  Needs
		groups Groups
		users  map[Rule][]string
		want   string
	}{
		"network, new": {
			reason: "AWS-SG-8: rules with descriptions, and MTU messages from where clients are",
			needs:  network("sg-n"), groups: groups(tagged("sg-n", nil), tagged("sg-m", nil)),
			want: "add to security group sg-n the rules icmp 3/4 from 0.0.0.0/0 (kubernetes.io/rule/nlb/mtu), tcp 10256 from 10.0.0.0/22 (" + myHealth + "), tcp 30080 from 0.0.0.0/0 (" + myClient + ")\n",
		},
		"network, unchanged": {
			reason: "no writes", needs: network("sg-n"),
			groups: groups(tagged("sg-n", Rules{client: myClient, health: myHealth, mtu: mtuDescription})),
		},
		"network, of a user": {
			reason: "what a user allows need not be allowed again, and there is no client then to send MTU messages for", needs: network("sg-n"),
			groups: groups(tagged("sg-n", Rules{client: "mine", health: "", rule("tcp", 22, 22, anywhere): ""})),
		},
		"network, shared": {
			reason: "AWS-SG-12: one rule is enough for two", needs: network("sg-n"),
			groups: groups(tagged("sg-n", Rules{client: myClient, health: otherHealth, mtu: mtuDescription})),
		},
		"network, moved": {
			reason: "what another group has of it is revoked, not what others have", needs: network("sg-n"),
			groups: groups(
				tagged("sg-n", Rules{client: myClient, health: myHealth, mtu: mtuDescription}),
				tagged("sg-o", Rules{client: myClient, health: otherHealth, mtu: mtuDescription, rule("tcp", 22, 22, anywhere): ""}),
			),
			want: "remove from security group sg-o the rules icmp 3/4 from 0.0.0.0/0 (kubernetes.io/rule/nlb/mtu), tcp 30080 from 0.0.0.0/0 (" + myClient + ")\n",
		},
		"network, MTU of others": {
			reason: "AWS-SG-12: MTU messages stay as long as any client rule is there", needs: Needs{LoadBalancer: lbName},
			groups: groups(tagged("sg-n", Rules{client: myClient, rule("tcp", 30081, 30081, anywhere): otherClient, mtu: mtuDescription})),
			want:   "remove from security group sg-n the rules tcp 30080 from 0.0.0.0/0 (" + myClient + ")\n",
		},
		"network, MTU of a user": {
			reason: "AWS-SG-11: only rules of our form go", needs: Needs{LoadBalancer: lbName},
			groups: groups(tagged("sg-n", Rules{client: myClient, mtu: "mine"})),
			want:   "remove from security group sg-n the rules tcp 30080 from 0.0.0.0/0 (" + myClient + ")\n",
		},
		"network, nothing of it here": {
			reason: "the groups of other load balancers are left alone even if MTU messages lack", needs: Needs{LoadBalancer: lbName},
			groups: groups(tagged("sg-n", Rules{rule("tcp", 30081, 30081, anywhere): otherClient, mtu: mtuDescription}), tagged("sg-m", Rules{mtu: mtuDescription})),
		},
		"network, all clients now": {
			reason: "AWS-SG-10: health rules are removed when clients may come from anywhere",
			needs:  Needs{LoadBalancer: lbName, Groups: []string{"sg-n"}, Rules: Rules{client: myClient}},
			groups: groups(tagged("sg-n", Rules{
				rule("tcp", 30080, 30080, "192.0.2.0/24"): myClient, rule("tcp", 30080, 30080, subnet): myHealth, rule("icmp", 3, 4, "192.0.2.0/24"): mtuDescription,
			})),
			want: "add to security group sg-n the rules icmp 3/4 from 0.0.0.0/0 (kubernetes.io/rule/nlb/mtu), tcp 30080 from 0.0.0.0/0 (" + myClient + ")\n" +
				"remove from security group sg-n the rules icmp 3/4 from 192.0.2.0/24 (kubernetes.io/rule/nlb/mtu), tcp 30080 from 10.0.0.0/22 (" + myHealth + "), tcp 30080 from 192.0.2.0/24 (" + myClient + ")\n",
		},
		"network, handed over": {
			reason: "AWS-SG-12: a rule goes to the other load balancer that needs it", needs: Needs{LoadBalancer: lbName},
			groups: groups(tagged("sg-n", Rules{client: myClient, health: myHealth, mtu: mtuDescription})), users: map[Rule][]string{health: {otherName}},
			want: "describe in security group sg-n the rules tcp 10256 from 10.0.0.0/22 (" + otherHealth + ")\n" +
				"remove from security group sg-n the rules icmp 3/4 from 0.0.0.0/0 (kubernetes.io/rule/nlb/mtu), tcp 30080 from 0.0.0.0/0 (" + myClient + ")\n",
		},
		"network, other purpose": {
			reason: "a rule whose purpose changes is kept",
			needs:  Needs{LoadBalancer: lbName, Groups: []string{"sg-n"}, Rules: Rules{health: myClient}},
			groups: groups(tagged("sg-n", Rules{health: myHealth})),
			want: "add to security group sg-n the rules icmp 3/4 from 10.0.0.0/22 (kubernetes.io/rule/nlb/mtu)\n" +
				"describe in security group sg-n the rules tcp 10256 from 10.0.0.0/22 (" + myClient + ")\n",
		},
		"network, IPv6": {
			reason: "AWS-SG-5: MTU messages of IPv6 for clients of IPv6",
			needs:  Needs{LoadBalancer: lbName, Groups: []string{"sg-n"}, Rules: Rules{rule("tcp", 30080, 30080, "::/0"): myClient}},
			groups: groups(tagged("sg-n", nil)),
			want:   "add to security group sg-n the rules icmpv6 2/0 from ::/0 (kubernetes.io/rule/nlb/mtu), tcp 30080 from ::/0 (" + myClient + ")\n",
		},
		"network, untagged": {
			reason: "a description is proof enough in a group without the tag", needs: Needs{LoadBalancer: lbName},
			groups: groups(untagged("sg-n", Rules{client: myClient, mtu: mtuDescription})),
			want:   "remove from security group sg-n the rules icmp 3/4 from 0.0.0.0/0 (kubernetes.io/rule/nlb/mtu), tcp 30080 from 0.0.0.0/0 (" + myClient + ")\n",
		},
		"classic, new": {
			reason: "AWS-SG-8: everything from the primary group", needs: classic("sg-n"), groups: groups(tagged("sg-n", nil), tagged("sg-m", nil)),
			want: "add to security group sg-n the rules everything from sg-lb\n",
		},
		"classic, unchanged": {reason: "no writes", needs: classic("sg-n"), groups: groups(tagged("sg-n", Rules{FromEverything("sg-lb"): ""}))},
		"classic, moved": {
			reason: "AWS-SG-14: gone from tagged groups that do not need it, kept in others", needs: classic("sg-n"),
			groups: groups(tagged("sg-n", Rules{FromEverything("sg-lb"): ""}), tagged("sg-o", Rules{FromEverything("sg-lb"): ""}), untagged("sg-u", Rules{FromEverything("sg-lb"): ""})),
			want:   "remove from security group sg-o the rules everything from sg-lb\n",
		},
		"classic, group replaced": {
			reason: "AWS-SG-11: only the exact form that is made here goes with a group", needs: classic("sg-n"),
			groups: groups(tagged("sg-n", Rules{
				FromEverything("sg-lb"): "", FromEverything("sg-old"): "", rule("tcp", 443, 443, "sg-old"): "", rule("tcp", 0, 65535, "sg-old"): "", FromEverything("sg-foreign"): "",
			})),
			want: "remove from security group sg-n the rules everything from sg-old\n",
		},
		"classic, another needs it": {
			reason: "AWS-SG-13: the rule stays, as it is", needs: Needs{LoadBalancer: lbName, Sources: []string{"sg-byo"}},
			groups: groups(tagged("sg-n", Rules{FromEverything("sg-byo"): ""})), users: map[Rule][]string{FromEverything("sg-byo"): {otherName}},
		},
		"classic, group ends": {
			reason: "AWS-SG-14: from untagged groups too when the group itself is deleted", needs: Needs{LoadBalancer: lbName, Sources: []string{"sg-lb"}, Ending: []string{"sg-lb"}},
			groups: groups(untagged("sg-u", Rules{FromEverything("sg-lb"): ""})),
			want:   "remove from security group sg-u the rules everything from sg-lb\n",
		},
		"classic, of a user": {
			reason: "AWS-SG-11: a rule with a description is that of a user, who allows the same", needs: Needs{LoadBalancer: lbName, Sources: []string{"sg-byo"}},
			groups: groups(tagged("sg-n", Rules{FromEverything("sg-byo"): "bastion"})),
		},
		"classic, of a user, group ends": {
			reason: "nothing may refer to a group that is deleted",
			needs:  Needs{LoadBalancer: lbName, Sources: []string{"sg-lb"}, Ending: []string{"sg-lb"}},
			groups: groups(tagged("sg-n", Rules{FromEverything("sg-lb"): "mine"})),
			want:   "remove from security group sg-n the rules everything from sg-lb (mine)\n",
		},
		"classic, group of the nodes": {
			reason: "AWS-SG-11: nodes that allow each other's traffic continue to", needs: Needs{LoadBalancer: lbName, Sources: []string{"sg-n"}},
			groups: groups(tagged("sg-n", Rules{FromEverything("sg-n"): ""})),
		},
		"network, not known of all nodes": {
			reason: "rules that work stay, what is missing is added",
			needs:  Needs{LoadBalancer: lbName, Groups: []string{"sg-n"}, Rules: Rules{client: myClient}, AddOnly: true},
			groups: groups(tagged("sg-n", nil), tagged("sg-m", Rules{client: myClient, health: myHealth, mtu: mtuDescription, rule("icmp", 3, 4, subnet): mtuDescription})),
			want:   "add to security group sg-n the rules icmp 3/4 from 0.0.0.0/0 (kubernetes.io/rule/nlb/mtu), tcp 30080 from 0.0.0.0/0 (" + myClient + ")\n",
		},
		"classic, not known of all nodes": {
			reason: "rules that work stay",
			needs:  Needs{LoadBalancer: lbName, Primary: plan.Ref{ID: "sg-lb"}, Sources: []string{"sg-old"}, AddOnly: true},
			groups: groups(tagged("sg-n", Rules{FromEverything("sg-lb"): "", FromEverything("sg-old"): ""})),
		},
		"classic, group is not created yet": {
			reason: "the plan names the group", needs: Needs{LoadBalancer: lbName, Groups: []string{"sg-n"}, Primary: plan.Ref{Key: "web"}},
			groups: groups(tagged("sg-n", nil)),
			want:   "add to security group sg-n the rules everything from <web>\n",
		},
		"classic, beside network": {
			reason: "rules of network load balancers are none of its business", needs: classic("sg-n"),
			groups: groups(tagged("sg-n", Rules{FromEverything("sg-lb"): "", rule("tcp", 30081, 30081, anywhere): otherClient})),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			diff := DiffNodes(test.needs, test.groups, cluster.ID{Name: clusterID})
			users := RuleUsers{candidates: test.users, known: &KnownNeeds{}}
			for _, names := range test.users {
				for _, name := range names {
					users.known.Put(Needs{LoadBalancer: name, Groups: slices.Collect(maps.Keys(test.groups))}, true)
				}
			}
			if d := cmp.Diff(test.want, diff.Plan(users).String()); d != "" {
				t.Errorf("%s: -want +got\n%s", test.reason, d)
			}
			for rule := range test.users {
				if stale := diff.Stale(); len(stale) == 0 {
					t.Errorf("%s: %s is not among what others are checked for: %v", test.reason, rule, stale)
				}
			}
		})
	}
}
