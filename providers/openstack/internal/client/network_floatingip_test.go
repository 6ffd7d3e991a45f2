package client_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// Filters that are empty would be no filters: the first floating IP of the project would
// be taken for that of a port without ID.
func TestFloatingIPsByNothing(t *testing.T) {
	t.Parallel()
	f := newLBFixture(t, openstack.Options{})
	net, ctx := f.client.Network(), bounded(t)
	must(t, is(without(net.FloatingIPsByPort(ctx, []string{""})), apierr.ErrInvalid))
	must(t, is(without(net.FloatingIPsByPort(ctx, []string{f.port, ""})), apierr.ErrInvalid))
	must(t, is(without(net.FloatingIPsByAddress(ctx, "")), apierr.ErrInvalid))
	must(t, is(without(net.PortsByDevice(ctx, []string{serverID, ""})), apierr.ErrInvalid))
	found, err := net.FloatingIPsByPort(ctx, nil)
	if err != nil || found != nil {
		t.Errorf("no ports: %v, %v", found, err)
	}
	f.count(t, "neutron.ListFloatingIPs", 0)
	f.count(t, "neutron.ListPorts", 0)
}

// Many ports cost one call for each 50, and rows of a service without filters are left
// out.
func TestFloatingIPsOfManyPorts(t *testing.T) {
	t.Parallel()
	f := newLBFixture(t, openstack.Options{})
	project := f.ProjectID(openstack.ProjectCCM)
	ips := &collection{key: "floatingips", ignore: true}
	var ids []string
	for i := range 120 {
		ids = append(ids, fmt.Sprintf("00000000-0000-4000-8000-%012d", i))
		ips.rows = append(ips.rows, map[string]any{"id": ids[i], "project_id": project, "port_id": ids[i]})
	}
	ips.rows = append(
		ips.rows,
		map[string]any{"id": "free", "project_id": project, "port_id": nil},
		map[string]any{"id": "foreign", "project_id": "other", "port_id": ids[0]},
	)
	f.serve("neutron", ips.serve)
	found, err := f.client.Network().FloatingIPsByPort(bounded(t), ids)
	must(t, err)
	if len(found) != 120 || len(ips.queries) != 3 || ips.longest > 4000 {
		t.Errorf("%d floating IPs in %d calls with URLs of up to %d bytes", len(found), len(ips.queries), ips.longest)
	}
}

// A floating IP that was changed since it was read is not associated.
func TestAssociationOfChanged(t *testing.T) {
	t.Parallel()
	f := newLBFixture(t, openstack.Options{})
	net, ctx := f.client.Network(), bounded(t)
	read, err := net.ListFloatingIPs(ctx)
	must(t, err)
	read = slices.DeleteFunc(read, func(ip *client.FloatingIP) bool { return ip.ID != f.freeIP })
	if len(read) != 1 || read[0].Revision == nil {
		t.Fatalf("read %+v", read)
	}
	_, err = net.AssociateFloatingIP(ctx, read[0], f.vipPort, "")
	must(t, err)
	must(t, is(without(net.AssociateFloatingIP(ctx, read[0], f.port, "")), apierr.ErrConflict))
	_, err = net.DisassociateFloatingIP(ctx, read[0].ID)
	must(t, err)
	must(t, without(net.AssociateFloatingIP(ctx, &client.FloatingIP{ID: read[0].ID}, f.vipPort, "")))
	f.count(t, "neutron.UpdateFloatingIP", 4)
}

// An association that the response does not show may have been carried out, or not.
func TestAssociationIsReadBack(t *testing.T) {
	t.Parallel()
	f := newLBFixture(t, openstack.Options{})
	f.Interceptor().Inject("neutron.UpdateFloatingIP", simserver.Always(), raw(200, `{"floatingip": {"id": "`+f.floatingIP+`", "port_id": "`+f.port+`"}}`))
	for _, err := range []error{
		without(f.client.Network().DisassociateFloatingIP(bounded(t), f.floatingIP)),
		without(f.client.Network().AssociateFloatingIP(bounded(t), &client.FloatingIP{ID: f.floatingIP}, f.vipPort, "")),
	} {
		if is(err, apierr.ErrUnavailable) != nil || !client.MayBeApplied(err) {
			t.Errorf("%v, may be applied: %v", err, client.MayBeApplied(err))
		}
	}
}

// Subnets that are not shown are invisible, which does not mean that they do not exist.
func TestSubnets(t *testing.T) {
	t.Parallel()
	f := newLBFixture(t, openstack.Options{})
	net, ctx := f.client.Network(), bounded(t)
	got, err := net.GetSubnet(ctx, f.subnet)
	must(t, err)
	want := &client.Subnet{ID: f.subnet, Name: "v4", ProjectID: f.ProjectID(openstack.ProjectCCM), NetworkID: f.network, Version: 4, CIDR: "10.0.0.0/24", Tags: []string{}}
	openstacktest.Check(t, "it", want, got)
	for _, id := range []string{f.outside, missingID} {
		_, err = net.GetSubnet(ctx, id)
		if is(err, client.ErrInvisible) != nil || is(err, apierr.ErrNotFound) == nil {
			t.Errorf("subnet that is not shown: %v", err)
		}
	}
	_, err = net.GetSubnet(ctx, "x")
	must(t, is(err, apierr.ErrInvalid))
	ids := func(rows []*client.Subnet, err error) []string {
		must(t, err)

		return namesOf(rows, func(n *client.Subnet) string { return n.ID })
	}
	if got := ids(net.SubnetsByNetwork(ctx, []string{f.network, f.external})); !slices.Equal(got, []string{f.subnet}) {
		t.Errorf("by network: %v", got)
	}
	if got := ids(net.SubnetsByID(ctx, []string{f.outside, f.subnet})); !slices.Equal(got, []string{f.subnet}) {
		t.Errorf("by ID: %v", got)
	}
	f.Interceptor().Inject("neutron.ShowSubnet", simserver.From(1), openstack.Denied())
	must(t, is(without(net.GetSubnet(ctx, f.subnet)), client.ErrInvisible))
	for _, fault := range []simserver.Fault{openstack.Proxy(404, ""), raw(200, `{}`), raw(200, `{"subnet": {"id": "`+missingID+`"}}`)} {
		f.Interceptor().Clear()
		f.Interceptor().Inject("neutron.ShowSubnet", simserver.Always(), fault)
		err = without(net.GetSubnet(ctx, f.subnet))
		if is(err, apierr.ErrUnavailable) != nil || is(err, client.ErrInvisible) == nil {
			t.Errorf("unknown: %v", err)
		}
	}
}
