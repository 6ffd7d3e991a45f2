package client_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
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

// Without the extension that filters by group, the filter is ignored or refused; then all
// ports are sent and most are left out.
func TestPortsBySecurityGroupWithoutExtension(t *testing.T) {
	t.Parallel()
	openstacktest.CountsCalls(t)
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
