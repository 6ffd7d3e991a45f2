package openstack_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/trunk_details"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/trunks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

func TestTrunkDetails(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{})
	server := s.cloud.AddServer(openstack.ServerSpec{Name: "node-1"})
	s.vars["parent"] = s.cloud.AddPort(openstack.PortSpec{Network: s.vars["private"], Server: server, IPs: []string{"10.0.0.5"}})
	sub := s.port(t, "sub", "10.0.0.6")
	trunk := s.cloud.AddTrunk("t", s.vars["parent"], openstack.Subport{Port: sub, Segment: 101})
	var parent struct {
		ports.Port
		trunk_details.TrunkDetailsExt
	}
	if err := ports.Get(t.Context(), s.ccm(t), s.vars["parent"]).ExtractInto(&parent); err != nil {
		t.Fatal(err)
	}
	p, err := ports.Get(t.Context(), s.ccm(t), sub).Extract()
	if err != nil {
		t.Fatal(err)
	}
	want := trunk_details.TrunkDetails{TrunkID: trunk, SubPorts: []trunk_details.Subport{
		{Subport: trunks.Subport{SegmentationID: 101, SegmentationType: "vlan", PortID: sub}, MACAddress: p.MACAddress},
	}}
	if diff := cmp.Diff(want, parent.TrunkDetails); diff != "" {
		t.Errorf("details of the parent (-want +got):\n%s", diff)
	}
	if p.DeviceOwner != "trunk:subport" || p.DeviceID != "" || p.Status != "ACTIVE" {
		t.Errorf("the subport is %+v, want it to be of no device and as ACTIVE as its parent", p)
	}
	if leaks := s.cloud.Leaks(); len(leaks) > 0 {
		t.Errorf("left: %v", leaks)
	}
	s.cloud.SetWithoutExtensions("trunk-details")
	if _, ok := s.call(t, openstack.UserCCM, "GET", "ports/$parent$", "").object()["trunk_details"]; ok {
		t.Error("trunk_details are there without their extension")
	}
}

// TestTrunks has responses of a Neutron of Zed.
func TestTrunks(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{})
	for _, name := range []string{"a", "b", "c", "d"} {
		s.port(t, name)
	}
	subports := func(op, entry string, status int, kind, message string) step {
		return step{method: "PUT", path: "trunks/$t$/" + op, body: `{"sub_ports":[` + entry + `]}`, status: status, kind: kind, message: message}
	}
	vlan := func(port, segment string) string {
		return `{"port_id":"` + port + `","segmentation_type":"vlan","segmentation_id":` + segment + `}`
	}
	s.run(t,
		step{method: "POST", path: "trunks", body: `{"trunk":{"port_id":"$a$","name":"t","sub_ports":[` + vlan("$b$", "101") + `]}}`, status: 201, save: "t"},
		step{method: "POST", path: "trunks", body: `{"trunk":{"port_id":"$a$"}}`, status: 409, kind: "ParentPortInUse", message: "Port $a$ is currently in use and is not eligible for use as a parent port."},
		step{method: "POST", path: "trunks", body: `{"trunk":{"port_id":"$b$"}}`, status: 409, kind: "TrunkPortInUse", message: "Port $b$ is in use by another trunk."},
		step{method: "POST", path: "trunks", body: `{"trunk":{"port_id":"$nowhere$"}}`, status: 404, kind: "PortNotFound"},
		subports("add_subports", vlan("$c$", "101"), 409, "DuplicateSubPort", "segmentation_type vlan and segmentation_id 101 already in use on trunk $t$."),
		subports("add_subports", vlan("$c$", "102"), 200, "", ""),
		subports("add_subports", vlan("$c$", "103"), 409, "TrunkPortInUse", ""),
		subports("add_subports", vlan("$a$", "103"), 409, "ParentPortInUse", ""),
		subports("add_subports", vlan("$d$", "5000"), 400, "InvalidInput", "Invalid input for operation: Segmentation ID '5000' is not in range."),
		subports("add_subports", `{"port_id":"$d$"}`, 400, "InvalidInput", "Invalid input for operation: Invalid subport details '{'port_id': '$d$'}': missing segmentation information. Must specify both segmentation_id and segmentation_type."),
		subports("remove_subports", `{"port_id":"$d$"}`, 404, "SubPortNotFound", "SubPort $d$ on trunk $t$ could not be found."),
		subports("remove_subports", `{"port_id":"$c$"}`, 200, "", ""),
		step{method: "DELETE", path: "ports/$a$", status: 409, kind: "PortInUseAsTrunkParent", message: "Port $a$ is currently a parent port for trunk $t$."},
		step{method: "DELETE", path: "ports/$b$", status: 409, kind: "PortInUseAsSubPort", message: "Port $b$ is currently a subport for trunk $t$."},
		step{method: "PUT", path: "trunks/$t$", body: `{"trunk":{"admin_state_up":false}}`, status: 200},
		subports("add_subports", vlan("$c$", "102"), 409, "TrunkDisabled", "Trunk $t$ is currently disabled."),
		step{user: openstack.UserOther, method: "GET", path: "trunks/$t$", status: 404, kind: "TrunkNotFound", message: "Trunk $t$ could not be found."},
	)
	subs, err := trunks.GetSubports(t.Context(), s.ccm(t), s.vars["t"]).Extract()
	if err != nil || len(subs) != 1 || subs[0].PortID != s.vars["b"] {
		t.Errorf("subports are %+v, %v, want one", subs, err)
	}
	if err := trunks.Delete(t.Context(), s.ccm(t), s.vars["t"]).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if p, _ := s.cloud.Port(s.vars["b"]); p.DeviceOwner != "" {
		t.Errorf("the subport is %+v, want it to be of nothing after its trunk", p)
	}
}
