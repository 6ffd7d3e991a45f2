package client_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// Security groups are listed by name in the own project, in pages.
func TestSecurityGroupLists(t *testing.T) {
	t.Parallel()
	f := newLBFixture(t, openstack.Options{PageSize: 3})
	for range 4 {
		f.AddSecurityGroup(openstack.SecurityGroupSpec{Name: "same"})
	}
	f.AddSecurityGroup(openstack.SecurityGroupSpec{Name: "same", Project: openstack.ProjectOther})
	net, ctx := f.open(t, credential.NewInFile(f.Credentials(openstack.UserOperator), nil)).Network(), bounded(t)
	name := func(g *client.SecurityGroup) string { return g.Name }
	found, err := net.SecurityGroupsByName(ctx, "same")
	must(t, err)
	if len(found) != 4 {
		t.Errorf("%d groups, want 4", len(found))
	}
	f.count(t, "neutron.ListSecurityGroups", 2)
	all, err := net.ListSecurityGroups(ctx)
	must(t, err)
	for _, want := range []string{"group", "used", "default"} {
		if !slices.Contains(namesOf(all, name), want) {
			t.Errorf("groups %v lack %s", namesOf(all, name), want)
		}
	}
	must(t, is(without(net.SecurityGroupsByName(ctx, "")), apierr.ErrInvalid))
}

// A group is made, gets rules in one call, is given to a port and taken away again.
func TestSecurityGroupLife(t *testing.T) {
	t.Parallel()
	f := newLBFixture(t, openstack.Options{})
	net, ctx := f.client.Network(), bounded(t)
	group, err := net.CreateSecurityGroup(ctx, "new", "d")
	must(t, err)
	if group.Name != "new" || group.Description != "d" || group.ProjectID != f.ProjectID(openstack.ProjectCCM) {
		t.Errorf("group = %+v", group)
	}
	own, err := net.SecurityGroupRules(ctx, group.ID)
	must(t, err)
	if len(own) != 2 || own[0].Direction != "egress" || own[0].RemotePrefix != "" || own[0].PortMin != nil {
		t.Errorf("rules from the start: %+v", own)
	}
	rule := client.SecurityGroupRule{GroupID: group.ID, Direction: "ingress", EtherType: "IPv4", Protocol: "tcp", PortMin: new(80), PortMax: new(80), RemotePrefix: "10.0.0.0/24"}
	other := rule
	other.Protocol = "udp"
	made, err := net.CreateSecurityGroupRules(ctx, []client.SecurityGroupRule{rule, other})
	must(t, err)
	got := *made[0]
	got.ID, got.ProjectID = "", ""
	if diff := cmp.Diff(rule, got); diff != "" || len(made) != 2 {
		t.Errorf("rules: %s", diff)
	}
	f.count(t, "neutron.CreateSecurityGroupRule", 1)
	rules, err := net.SecurityGroupRules(ctx, group.ID)
	must(t, err)
	if len(rules) != 4 {
		t.Errorf("%d rules, want 4", len(rules))
	}
	none, err := net.CreateSecurityGroupRules(ctx, nil)
	if none != nil || err != nil {
		t.Errorf("no rules: %v, %v", none, err)
	}
	ports, err := net.PortsByIDFull(ctx, []string{f.port})
	must(t, err)
	port, err := net.UpdateSecurityGroups(ctx, f.port, append(ports[0].SecurityGroups, group.ID), ports[0].Revision)
	must(t, err)
	if !slices.Contains(port.SecurityGroups, group.ID) || !slices.Contains(port.SecurityGroups, f.sg) {
		t.Errorf("groups of the port = %v", port.SecurityGroups)
	}
	must(t, is(without(net.UpdateSecurityGroups(ctx, f.port, nil, ports[0].Revision)), apierr.ErrConflict)) // an old revision
	with, err := net.PortsBySecurityGroup(ctx, group.ID)
	must(t, err)
	if len(with) != 1 || with[0].ID != f.port || with[0].Revision == nil {
		t.Errorf("ports with the group = %+v", with)
	}
	err = net.DeleteSecurityGroup(ctx, group.ID)
	must(t, is(err, apierr.ErrConflict))
	if client.MayBeApplied(err) {
		t.Errorf("%v may be applied", err)
	}
	must(t, without(net.UpdateSecurityGroups(ctx, f.port, []string{f.sg}, with[0].Revision)))
	for range 2 {
		must(t, net.DeleteSecurityGroupRule(ctx, made[0].ID))
		must(t, net.DeleteSecurityGroup(ctx, group.ID))
	}
}

// Without the extension that filters by group, the filter is ignored or refused; then all
// ports are sent and most are left out.
func TestPortsBySecurityGroupWithoutExtension(t *testing.T) {
	t.Parallel()
	for calls, without := range map[int][]string{
		1: {client.ExtensionGroupFilter, client.ExtensionFilterValidation},
		2: {client.ExtensionGroupFilter},
	} {
		f := newLBFixture(t, openstack.Options{})
		f.SetWithoutExtensions(without...)
		ports, err := f.client.Network().PortsBySecurityGroup(bounded(t), f.sg)
		must(t, err)
		if len(ports) != 1 || ports[0].ID != f.port || ports[0].Revision == nil {
			t.Errorf("without %v: ports = %+v", without, ports)
		}
		f.count(t, "neutron.ListPorts", calls)
	}
}

// A group without an ID would be no filter.
func TestPortsBySecurityGroupWithoutID(t *testing.T) {
	t.Parallel()
	f := newLBFixture(t, openstack.Options{})
	must(t, is(without(f.client.Network().PortsBySecurityGroup(bounded(t), "")), apierr.ErrInvalid))
	must(t, is(without(f.client.Network().SecurityGroupRules(bounded(t), "")), apierr.ErrInvalid))
	f.count(t, "neutron.ListPorts", 0)
}

// Rows of other groups are left out, and ports cost one call for each 50.
func TestForeignRowsOfSecurityGroups(t *testing.T) {
	t.Parallel()
	f := newLBFixture(t, openstack.Options{})
	project := f.ProjectID(openstack.ProjectCCM)
	f.Interceptor().Inject("neutron", simserver.Always(), raw(http.StatusOK, `{}`))
	must(t, is(without(f.client.Network().SecurityGroupRules(bounded(t), f.sg)), apierr.ErrUnavailable)) // no rules in the response
	f.Interceptor().Clear()
	f.serve("neutron", func(w http.ResponseWriter, _ *http.Request) bool {
		reply(w, http.StatusOK, map[string]any{"security_group_rules": []any{
			map[string]any{"id": "1", "security_group_id": f.sg}, map[string]any{"id": "2", "security_group_id": f.group},
		}})

		return true
	})
	found, err := f.client.Network().SecurityGroupRules(bounded(t), f.sg)
	if err != nil || len(found) != 1 || found[0].ID != "1" {
		t.Errorf("rules = %+v, %v", found, err)
	}
	f.Interceptor().Clear()
	ports := &collection{key: "ports", ignore: true}
	var ids []string
	for i := range 120 {
		ids = append(ids, fmt.Sprintf("00000000-0000-4000-8000-%012d", i))
		ports.rows = append(ports.rows, map[string]any{"id": ids[i], "project_id": project})
	}
	ports.rows = append(ports.rows, map[string]any{"id": missingID, "project_id": project}, map[string]any{"id": ids[0], "project_id": "other"})
	f.serve("neutron", ports.serve)
	all, err := f.client.Network().PortsByIDFull(bounded(t), ids)
	if err != nil || len(all) != 120 || len(ports.queries) != 3 {
		t.Errorf("%d ports in %d calls, %v", len(all), len(ports.queries), err)
	}
}

// What refusals of security groups mean. None is sent again.
func TestRefusalsOfSecurityGroups(t *testing.T) {
	t.Parallel()
	same := func(prefix string) func(context.Context, *lbFixture) error {
		return func(ctx context.Context, f *lbFixture) error {
			return without(f.client.Network().CreateSecurityGroupRules(ctx, []client.SecurityGroupRule{
				{GroupID: f.sg, Direction: "ingress", EtherType: "IPv4", Protocol: "udp"},
				{GroupID: f.sg, Direction: "ingress", EtherType: "IPv4", Protocol: "tcp", PortMin: new(80), PortMax: new(80), RemotePrefix: prefix},
			}))
		}
	}
	setGroups := func(port func(f *lbFixture) string) func(context.Context, *lbFixture) error {
		return func(ctx context.Context, f *lbFixture) error {
			return without(f.client.Network().UpdateSecurityGroups(ctx, port(f), []string{f.group}, new(0)))
		}
	}
	const rule, put = "neutron.CreateSecurityGroupRule", "neutron.UpdatePort"
	cases := map[string]struct {
		reason, op string
		options    openstack.Options
		call       func(context.Context, *lbFixture) error
		want       error
		status     int
	}{
		"Quota": {"409 of a quota", "neutron.CreateSecurityGroup", openstack.Options{Quotas: openstack.Quotas{SecurityGroups: 3}}, func(ctx context.Context, f *lbFixture) error {
			return without(f.client.Network().CreateSecurityGroup(ctx, "x", ""))
		}, apierr.ErrQuota, http.StatusConflict},
		"RuleQuota": {"409 of the quota for rules", rule, openstack.Options{Quotas: openstack.Quotas{SecurityGroupRules: 10}}, func(ctx context.Context, f *lbFixture) error {
			var many []client.SecurityGroupRule
			for i := range 11 {
				many = append(many, client.SecurityGroupRule{GroupID: f.sg, Direction: "ingress", EtherType: "IPv4", Protocol: "tcp", PortMin: new(100 + i), PortMax: new(100 + i)})
			}

			return without(f.client.Network().CreateSecurityGroupRules(ctx, many))
		}, apierr.ErrQuota, http.StatusConflict},
		"Exists": {"a rule that is there", rule, openstack.Options{}, same("10.0.0.0/24"), apierr.ErrConflict, http.StatusConflict},
		"InUse": {"a group that a port has", "neutron.DeleteSecurityGroup", openstack.Options{}, func(ctx context.Context, f *lbFixture) error {
			return f.client.Network().DeleteSecurityGroup(ctx, f.sg)
		}, apierr.ErrConflict, http.StatusConflict},
		"Revision": {"412 for an old revision", put, openstack.Options{}, setGroups(func(f *lbFixture) string { return f.port }), apierr.ErrConflict, http.StatusPreconditionFailed},
		"NoGroup": {"404 for a group that does not exist", put, openstack.Options{}, func(ctx context.Context, f *lbFixture) error {
			return without(f.client.Network().UpdateSecurityGroups(ctx, f.port, []string{missingID}, nil))
		}, apierr.ErrInvalid, http.StatusNotFound},
		"NoPortSecurity": {"a port without port security", put, openstack.Options{}, func(ctx context.Context, f *lbFixture) error {
			port := f.AddPort(openstack.PortSpec{Network: f.network, NoPortSecurity: true})

			return without(f.client.Network().UpdateSecurityGroups(ctx, port, []string{f.group}, nil))
		}, apierr.ErrInvalid, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newLBFixture(t, tc.options)
			err := tc.call(bounded(t), f)
			must(t, is(err, tc.want))
			if is(err, apierr.ErrNotFound) == nil || client.MayBeApplied(err) || tc.status != 0 && statusOf(err) != tc.status {
				t.Errorf("%s: %v", tc.reason, err)
			}
			f.count(t, tc.op, 1)
		})
	}
}

// Tags of a port are deleted one by one. One that is not there is no error.
func TestDeletePortTag(t *testing.T) {
	t.Parallel()
	f := newLBFixture(t, openstack.Options{})
	net, ctx := f.client.Network(), bounded(t)
	port := f.AddPort(openstack.PortSpec{Network: f.network, Tags: []string{f.group, "a b"}})
	for range 2 {
		must(t, net.DeletePortTag(ctx, port, f.group))
	}
	ports, err := net.PortsByIDFull(ctx, []string{port})
	must(t, err)
	if diff := cmp.Diff([]string{"a b"}, ports[0].Tags); diff != "" {
		t.Errorf("tags: %s", diff)
	}
	must(t, net.DeletePortTag(ctx, port, "a b"))
	ports, err = net.PortsByIDFull(ctx, []string{port})
	must(t, err)
	if len(ports[0].Tags) > 0 {
		t.Errorf("tags %v, want none", ports[0].Tags)
	}
	must(t, is(net.DeletePortTag(ctx, "", "x"), apierr.ErrInvalid))
	f.count(t, "neutron.DeleteTag", 3)
}

// A rule for an address group is not one for all addresses.
func TestRuleOfAddressGroup(t *testing.T) {
	t.Parallel()
	f := newLBFixture(t, openstack.Options{})
	f.serve("neutron", func(w http.ResponseWriter, _ *http.Request) bool {
		reply(w, http.StatusOK, map[string]any{"security_group_rules": []any{
			map[string]any{"id": "1", "security_group_id": f.sg, "remote_address_group_id": missingID},
		}})

		return true
	})
	found, err := f.client.Network().SecurityGroupRules(bounded(t), f.sg)
	if err != nil || len(found) != 1 || found[0].RemoteAddressGroupID != missingID {
		t.Errorf("rules = %+v, %v", found, err)
	}
}
