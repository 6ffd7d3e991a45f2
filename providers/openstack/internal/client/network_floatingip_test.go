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

func ipName(f *client.FloatingIP) string { return f.Description }

// Floating IPs are found by their port and address, in the own project only.
func TestFloatingIPLists(t *testing.T) {
	t.Parallel()
	f := newLBFixture(t, openstack.Options{PageSize: 3})
	for i := range 5 {
		f.AddFloatingIP(openstack.FloatingIPSpec{Network: f.external, Description: fmt.Sprint(i)})
	}
	f.AddFloatingIP(openstack.FloatingIPSpec{Network: f.external, Description: "free", Project: openstack.ProjectOther})
	net, ctx := f.open(t, credential.NewInFile(f.Credentials(openstack.UserOperator), nil)).Network(), bounded(t)
	all, err := net.ListFloatingIPs(ctx)
	must(t, err)
	if diff := cmp.Diff([]string{"0", "1", "2", "3", "4", "free", "of the port"}, namesOf(all, ipName)); diff != "" {
		t.Error(diff)
	}
	f.count(t, "neutron.ListFloatingIPs", 3)
	byPort, err := net.FloatingIPsByPort(ctx, []string{f.vipPort, f.port})
	must(t, err)
	if len(byPort) != 1 || byPort[0].ID != f.floatingIP || byPort[0].PortID != f.port || byPort[0].Address == "" || byPort[0].FixedAddress == "" || byPort[0].NetworkID != f.external {
		t.Errorf("by port: %+v", byPort)
	}
	byAddress, err := net.FloatingIPsByAddress(ctx, byPort[0].Address)
	must(t, err)
	if diff := cmp.Diff([]string{"of the port"}, namesOf(byAddress, ipName)); diff != "" {
		t.Errorf("by address: %s", diff)
	}
}

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

// A floating IP is made with its port, moved, released and deleted.
func TestFloatingIPLife(t *testing.T) {
	t.Parallel()
	f := newLBFixture(t, openstack.Options{})
	net, ctx := f.client.Network(), bounded(t)
	made, err := net.CreateFloatingIP(ctx, client.FloatingIPCreate{NetworkID: f.external, SubnetID: f.outside, PortID: f.vipPort, FixedAddress: f.LoadBalancer(f.lb).VIPAddress, Description: "new"})
	must(t, err)
	if made.PortID != f.vipPort || made.FixedAddress != f.LoadBalancer(f.lb).VIPAddress || made.ProjectID != f.ProjectID(openstack.ProjectCCM) {
		t.Errorf("made = %+v", made)
	}
	changed, err := net.DisassociateFloatingIP(ctx, made.ID)
	must(t, err)
	if changed.PortID != "" || changed.FixedAddress != "" || changed.Description != "new" {
		t.Errorf("without port: %+v", changed)
	}
	changed, err = net.AssociateFloatingIP(ctx, changed, f.vipPort, f.LoadBalancer(f.lb).VIPAddress)
	must(t, err)
	if changed.PortID != f.vipPort {
		t.Errorf("with port: %+v", changed)
	}
	for range 2 {
		must(t, net.DeleteFloatingIP(ctx, made.ID))
	}
	found, err := net.FloatingIPsByPort(ctx, []string{f.vipPort})
	if err != nil || len(found) != 0 {
		t.Errorf("after the deletion: %v, %v", found, err)
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

// What refusals of floating IPs mean. None is sent again.
func TestRefusalsOfFloatingIPs(t *testing.T) {
	t.Parallel()
	create := func(change func(f *lbFixture, ip *client.FloatingIPCreate)) func(context.Context, *lbFixture) error {
		return func(ctx context.Context, f *lbFixture) error {
			ip := client.FloatingIPCreate{NetworkID: f.external}
			change(f, &ip)

			return without(f.client.Network().CreateFloatingIP(ctx, ip))
		}
	}
	const made, changed = "neutron.CreateFloatingIP", "neutron.UpdateFloatingIP"
	cases := map[string]struct {
		reason, op string
		options    openstack.Options
		call       func(context.Context, *lbFixture) error
		want       error
		status     int
	}{
		"Quota":      {"409 of a quota", made, openstack.Options{Quotas: openstack.Quotas{FloatingIPs: 2}}, create(func(*lbFixture, *client.FloatingIPCreate) {}), apierr.ErrQuota, http.StatusConflict},
		"Address":    {"an address needs more rights", made, openstack.Options{}, create(func(_ *lbFixture, ip *client.FloatingIPCreate) { ip.Address = "192.0.2.99" }), apierr.ErrDenied, http.StatusForbidden},
		"NoNetwork":  {"no such network", made, openstack.Options{}, create(func(_ *lbFixture, ip *client.FloatingIPCreate) { ip.NetworkID = missingID }), apierr.ErrInvalid, http.StatusNotFound},
		"NotOutside": {"a network that is not external", made, openstack.Options{}, create(func(f *lbFixture, ip *client.FloatingIPCreate) { ip.NetworkID = f.network }), apierr.ErrInvalid, http.StatusBadRequest},
		"Second":     {"one for each fixed IP", made, openstack.Options{}, create(func(f *lbFixture, ip *client.FloatingIPCreate) { ip.PortID = f.port }), apierr.ErrConflict, http.StatusConflict},
		"NoRouter": {"404 because no router connects them", changed, openstack.Options{}, func(ctx context.Context, f *lbFixture) error {
			alone := f.AddNetwork(openstack.NetworkSpec{Name: "alone"})
			f.AddSubnet(openstack.SubnetSpec{Network: alone, CIDR: "10.9.0.0/24"})

			return without(f.client.Network().AssociateFloatingIP(ctx, &client.FloatingIP{ID: f.freeIP}, f.AddPort(openstack.PortSpec{Network: alone}), ""))
		}, apierr.ErrInvalid, http.StatusNotFound},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newLBFixture(t, tc.options)
			err := tc.call(bounded(t), f)
			must(t, is(err, tc.want))
			if is(err, apierr.ErrNotFound) == nil || client.MayBeApplied(err) || statusOf(err) != tc.status {
				t.Errorf("%s: %v", tc.reason, err)
			}
			f.count(t, tc.op, 1)
		})
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
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
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
