package e2e

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// startCloud runs simulated vCenters until the test has ended.
func startCloud(t *testing.T, vcenters ...vsphere.VCenterSpec) *vsphere.Cloud {
	t.Helper()
	cloud, err := vsphere.Start(vsphere.Spec{VCenters: vcenters})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})

	return cloud
}

// smallVCenter has one datacenter with VMs of the given names.
func smallVCenter(name string, vms ...string) vsphere.VCenterSpec {
	dc := vsphere.DatacenterSpec{Name: "dc-" + name}
	for i, vm := range vms {
		dc.VMs = append(dc.VMs, vsphere.VMSpec{Name: vm, NICs: []vsphere.NIC{{IPs: []string{fmt.Sprintf("10.1.0.%d", i+1)}}}})
	}

	return vsphere.VCenterSpec{Name: name, Datacenters: []vsphere.DatacenterSpec{dc}}
}

// vsphereConfig is a cloud-config with the vCenters, their users and passwords.
func vsphereConfig(vcenters ...*vsphere.VCenter) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[Global]\nprovider = vsphere\n")
	for _, vc := range vcenters {
		fmt.Fprintf(&b, "\n%suser = %q\npassword = %q\n", section(vc), vc.User(), vc.Password())
	}

	return b.String()
}

// section is the part of a cloud-config with the address of a vCenter.
func section(vc *vsphere.VCenter) string {
	host, port, err := net.SplitHostPort(vc.Address())
	if err != nil {
		panic(err) // it listens there
	}

	return fmt.Sprintf("[VirtualCenter %q]\nserver = %q\nport = %s\nca-file = %q\n", vc.Name(), host, port, vc.CAFile())
}

// wantNoSessions checks that a vCenter has no session left.
func wantNoSessions(t *testing.T, vc *vsphere.VCenter) {
	t.Helper()
	for _, session := range vc.Sessions() {
		t.Errorf("vCenter %s has a session left: %+v", vc.Name(), session)
	}
}
