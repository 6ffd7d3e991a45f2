package openstack_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/attachinterfaces"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/tags"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// TestFlavorsOfOperators creates flavors and lists them in another order.
func TestFlavorsOfOperators(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{StaleReads: new(openstack.StaleReads)}) // each write is read back at once
	admin, ccm := compute(t, connect(t, cloud, openstack.UserAdmin), ""), compute(t, connect(t, cloud, openstack.UserCCM), "")
	opts := flavors.CreateOpts{Name: "big", RAM: 65536, VCPUs: 16, Disk: new(5)}
	if err := flavors.Create(t.Context(), ccm, opts).Err; status(err) != 403 {
		t.Errorf("create as a member: %v, want 403", err)
	}
	made, err := flavors.Create(t.Context(), admin, opts).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if err := flavors.Create(t.Context(), admin, opts).Err; status(err) != 409 {
		t.Errorf("create again: %v, want 409", err)
	}
	cloud.AddFlavor(openstack.FlavorSpec{Name: "small", VCPUs: 1, RAM: 256, Disk: 3, ExtraSpecs: map[string]string{"hw:x": "y"}})
	pages, err := flavors.ListDetail(ccm, flavors.ListOpts{SortKey: "memory_mb", SortDir: "desc"}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := flavors.ExtractFlavors(pages)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range all {
		names = append(names, f.Name)
	}
	if diff := cmp.Diff([]string{"big", "m1.large", "m1.medium", "m1.small", "m1.tiny", "small"}, names); diff != "" || all[0].ID != made.ID {
		t.Errorf("flavors by memory (-want +got):\n%s", diff)
	}
	specs, err := flavors.ListExtraSpecs(t.Context(), ccm, all[5].ID).Extract()
	if diff := cmp.Diff(map[string]string{"hw:x": "y"}, specs); err != nil || diff != "" {
		t.Errorf("extra specs: %v (-want +got):\n%s", err, diff)
	}
}

// TestInterfacesAndTags reads the ports and the tags of a server.
func TestInterfacesAndTags(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{StaleReads: new(openstack.StaleReads)}) // each write is read back at once
	id := cloud.AddServer(openstack.ServerSpec{
		Name: "node-1", Tags: []string{"a", "b"}, Networks: []openstack.ServerNetwork{{Name: "net", IPs: []string{"10.0.0.5"}}},
	})
	client := compute(t, connect(t, cloud, openstack.UserCCM), "")
	pages, err := attachinterfaces.List(client, id).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	interfaces, err := attachinterfaces.ExtractInterfaces(pages)
	if err != nil || len(interfaces) != 1 {
		t.Fatalf("interfaces: %+v, %v", interfaces, err)
	}
	if got := interfaces[0]; got.PortID != cloud.ServerPorts(id)[0] || got.FixedIPs[0].IPAddress != "10.0.0.5" || got.PortState != "ACTIVE" {
		t.Errorf("interface: %+v", got)
	}
	if err := tags.List(t.Context(), client, id).Err; status(err) != 404 {
		t.Errorf("tags at 2.1: %v, want 404", err)
	}
	client.Microversion = "2.26"
	list, err := tags.List(t.Context(), client, id).Extract()
	if diff := cmp.Diff([]string{"a", "b"}, list); err != nil || diff != "" {
		t.Errorf("tags: %v (-want +got):\n%s", err, diff)
	}
}
