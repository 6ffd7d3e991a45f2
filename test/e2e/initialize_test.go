package e2e

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
)

// twoSites has two vCenters: zones come from the cluster, the region from the
// datacenter, and VMs of the second one have addresses of both families.
func twoSites(vms, dual []vsphere.VMSpec) []vsphere.VCenterSpec {
	return []vsphere.VCenterSpec{
		{Name: "single", Datacenters: []vsphere.DatacenterSpec{{
			Name:     "dc-1",
			Tags:     vsphere.Tags{"k8s-region": {"eu"}},
			Clusters: []vsphere.ClusterSpec{{Name: "c-1", Tags: vsphere.Tags{"k8s-zone": {"eu-1"}}}},
			VMs:      vms,
		}}},
		{Name: "dual", Datacenters: []vsphere.DatacenterSpec{{
			Name:     "dc-2",
			Tags:     vsphere.Tags{"k8s-region": {"us"}},
			Clusters: []vsphere.ClusterSpec{{Name: "c-2", Tags: vsphere.Tags{"k8s-zone": {"us-2"}}}},
			VMs:      dual,
		}}},
	}
}

// vcenterLabel names the vCenter of the VM of a Node.
const vcenterLabel = "multicloud-ccm.io/vcenter-uuid"

// labeled are the labels of an initialized node, and those
// of --node-labels.
func labeled(instanceType, zone, region, team string) map[string]string {
	return map[string]string{
		"node.kubernetes.io/instance-type":         instanceType,
		"beta.kubernetes.io/instance-type":         instanceType,
		"topology.kubernetes.io/zone":              zone,
		"failure-domain.beta.kubernetes.io/zone":   zone,
		"topology.kubernetes.io/region":            region,
		"failure-domain.beta.kubernetes.io/region": region,
		"team": team,
	}
}

// addresses are those of a node: its host name, then type and address in turn.
func addresses(hostName string, pairs ...string) []v1.NodeAddress {
	list := []v1.NodeAddress{{Type: v1.NodeHostName, Address: hostName}}
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, v1.NodeAddress{Type: v1.NodeAddressType(pairs[i]), Address: pairs[i+1]})
	}

	return list
}

type initializeCase struct {
	reason string
	vm     vsphere.VMSpec
	dual   bool // the VM is in the vCenter of that name
	node   controlplane.NodeSpec
	want   nodeState
}

// initializeCases are keyed by the name of their node.
func initializeCases() map[string]initializeCase {
	const small = "vsphere-vm.cpu-2.mem-4gb.os-ubuntu"
	nic := func(ips ...string) []vsphere.NIC { return []vsphere.NIC{{IPs: ips}} }

	return map[string]initializeCase{
		"by-uuid": {
			reason: "VS-NODE-1: a Node without providerID is found by its system UUID whatever its guest is called",
			vm:     vsphere.VMSpec{UUID: "00000000-0000-4000-8000-00000000000a", Hostname: "guest-1", NICs: nic("10.0.0.1")},
			node:   controlplane.NodeSpec{SystemUUID: "00000000-0000-4000-8000-00000000000A"},
			want: nodeState{
				ProviderID: "vsphere://00000000-0000-4000-8000-00000000000a", Labels: labeled(small, "eu-1", "eu", "blue"),
				Addresses: addresses("guest-1", "InternalIP", "10.0.0.1", "ExternalIP", "10.0.0.1"),
			},
		},
		"own-label": {
			reason: "FW-LABEL-2, FW-ADDR-1: --node-labels never replace a label that the Node has; usable addresses only",
			vm: vsphere.VMSpec{
				UUID: "00000000-0000-4000-8000-000000000005",
				NICs: nic("169.254.1.1", "127.0.0.1", "10.0.0.5", "10.0.0.55"),
			},
			node: controlplane.NodeSpec{Labels: map[string]string{"team": "red"}},
			want: nodeState{
				ProviderID: "vsphere://00000000-0000-4000-8000-000000000005", Labels: labeled(small, "eu-1", "eu", "red"),
				Addresses: addresses("own-label", "InternalIP", "10.0.0.5", "ExternalIP", "10.0.0.5"),
			},
		},
		"dual-stack": {
			reason: "VS-ADDR-7: both families in the order of ip-family, which the entry of a vCenter sets for itself",
			dual:   true,
			vm:     vsphere.VMSpec{UUID: "00000000-0000-4000-8000-000000000007", NICs: nic("10.2.0.7", "fe80::7", "fd00::7")},
			want: nodeState{
				ProviderID: "vsphere://00000000-0000-4000-8000-000000000007", Labels: labeled(small, "us-2", "us", "blue"),
				Addresses: addresses("dual-stack",
					"InternalIP", "fd00::7", "InternalIP", "10.2.0.7", "ExternalIP", "fd00::7", "ExternalIP", "10.2.0.7"),
			},
		},
	}
}

// TestNodesAreInitialized registers all nodes with one cluster at once.
func TestNodesAreInitialized(t *testing.T) {
	t.Parallel()
	cases := initializeCases()
	var single, dual []vsphere.VMSpec
	var nodes []controlplane.NodeSpec
	for name, tc := range cases {
		tc.vm.Name, tc.node.Name = name, name
		if nodes = append(nodes, tc.node); tc.dual {
			dual = append(dual, tc.vm)
		} else {
			single = append(single, tc.vm)
		}
	}
	cloud := startCloud(t, twoSites(single, dual)...)
	uuids := map[bool]string{false: "11111111-0000-4000-8000-000000000001", true: "11111111-0000-4000-8000-000000000002"}
	cloud.VCenter("single").SetInstanceUUID(uuids[false])
	cloud.VCenter("dual").SetInstanceUUID(uuids[true])
	config := vsphereConfig(cloud.VCenters()...) + "ip-family = ipv6, ipv4\nprot = 1\n\n[Workspace]\nserver = vc\n\n[Labels]\nzone = k8s-zone\nregion = k8s-region\n"
	c := startCluster(t)
	c.join(t, nodes...)
	m := c.run(t, writeConfig(t, config), append([]string{"--node-labels=team=blue"}, taggingArgs...)...)

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.want.Labels[vcenterLabel] = uuids[tc.dual]
			c.awaitNode(t, name, "to be as specified", func(node *v1.Node) error {
				if diff := cmp.Diff(tc.want, stateOf(node), cmpopts.EquateEmpty()); diff != "" {
					return fmt.Errorf("%s (-want +got):\n%s", tc.reason, diff)
				}

				return nil
			})
		})
	}
	for want, reason := range map[string]string{
		"The tagging controller is for AWS alone, not starting it": "FW-START-7: the flags of the tagging controller are for every provider",
		"unknown key":            "FW-CONFIG-7: what is odd but harmless does not keep the process from starting",
		"[Workspace] is ignored": "FW-CONFIG-8: other programs read the same file",
	} {
		if n := len(m.logged(t, want)); n != 1 {
			t.Errorf("%s: want %q once in the log, it is there %d times", reason, want, n)
		}
	}
	m.terminate(t)
	for _, vc := range cloud.VCenters() {
		wantNoSessions(t, vc)
	}
}
