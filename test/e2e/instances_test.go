package e2e

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
)

// taggingArgs start the tagging controller of AWS beside all others.
var taggingArgs = []string{"--controllers=*,tagging", "--tags=team=blue", "--resources=instance"}

// The label with the hash of the tags of an instance (AWS-TAG-2): the MD5 sum of
// team=blue.
const (
	taggedLabel = "k8s.io/cloud-provider-aws"
	taggedBlue  = "55235795f7518dcda5dc109eb759e43c"
)

// elastic are the labels of an initialized node of AWS, those of the tagging
// controller included (AWS-TOPOLOGY-1, AWS-TAG-2).
func elastic(instanceType, zone, zoneID string, more map[string]string) map[string]string {
	labels := labeled(instanceType, zone, "us-west-2", "")
	delete(labels, "team")
	labels["topology.k8s.aws/zone-id"] = zoneID
	labels[taggedLabel] = taggedBlue
	maps.Copy(labels, more)

	return labels
}

type instanceCase struct {
	reason string
	zone   string // a, when it is empty
	spec   aws.InstanceSpec
	node   controlplane.NodeSpec
	want   nodeState
}

// instanceCases are keyed by what finds the instance, or what is special about
// it.
func instanceCases() map[string]instanceCase {
	in := func(ips ...string) aws.InterfaceSpec { return aws.InterfaceSpec{PrivateIPs: ips} }

	return map[string]instanceCase{
		"name": {
			reason: "AWS-ID-3: a Node without providerID is found by its private DNS name",
			spec:   aws.InstanceSpec{ID: "i-0000000000000000a", InterfaceSpec: in("10.0.64.10")},
			node:   controlplane.NodeSpec{Name: "ip-10-0-64-10.us-west-2.compute.internal"},
			want: nodeState{
				ProviderID: "aws:///us-west-2a/i-0000000000000000a", Labels: elastic("m5.large", "us-west-2a", "usw2-az2", nil),
				Addresses: addresses("ip-10-0-64-10.us-west-2.compute.internal",
					"InternalIP", "10.0.64.10", "InternalDNS", "ip-10-0-64-10.us-west-2.compute.internal"),
			},
		},
		"resource name": {
			reason: "AWS-ID-3: a name that begins with i- is an instance ID",
			zone:   "b",
			spec:   aws.InstanceSpec{ID: "i-0000000000000000b", ResourceName: true, Type: "c7g.2xlarge", InterfaceSpec: in("10.0.128.11")},
			node:   controlplane.NodeSpec{Name: "i-0000000000000000b.us-west-2.compute.internal"},
			want: nodeState{
				ProviderID: "aws:///us-west-2b/i-0000000000000000b", Labels: elastic("c7g.2xlarge", "us-west-2b", "usw2-az1", nil),
				Addresses: addresses("i-0000000000000000b.us-west-2.compute.internal",
					"InternalIP", "10.0.128.11", "InternalDNS", "i-0000000000000000b.us-west-2.compute.internal"),
			},
		},
		"provider ID": {
			reason: "AWS-ID-1, FW-ID-4: an existing providerID counts in any of its forms and is left as it is",
			spec:   aws.InstanceSpec{ID: "i-0000000000000000c", InterfaceSpec: in("10.0.64.12")},
			node:   controlplane.NodeSpec{Name: "ip-10-0-64-12.us-west-2.compute.internal", ProviderID: "aws:////i-0000000000000000c"},
			want: nodeState{
				ProviderID: "aws:////i-0000000000000000c", Labels: elastic("m5.large", "us-west-2a", "usw2-az2", nil),
				Addresses: addresses("ip-10-0-64-12.us-west-2.compute.internal",
					"InternalIP", "10.0.64.12", "InternalDNS", "ip-10-0-64-12.us-west-2.compute.internal"),
			},
		},
		"several interfaces": {
			reason: "AWS-ADDR-1, AWS-ADDR-2, AWS-ADDR-4: all private addresses by device index, then one IPv6 address of each interface",
			spec: aws.InstanceSpec{ID: "i-0000000000000000d", Interfaces: []aws.InterfaceSpec{
				{Device: 1, PrivateIPs: []string{"10.0.64.23"}, IPv6s: []string{"2001:db8:1:80::23"}},
				{Device: 0, PrivateIPs: []string{"10.0.64.13", "10.0.64.113"}, IPv6s: []string{"2001:db8:1:80::13", "2001:db8:1:80::1"}},
			}},
			node: controlplane.NodeSpec{Name: "ip-10-0-64-13.us-west-2.compute.internal"},
			want: nodeState{
				ProviderID: "aws:///us-west-2a/i-0000000000000000d", Labels: elastic("m5.large", "us-west-2a", "usw2-az2", nil),
				Addresses: addresses("ip-10-0-64-13.us-west-2.compute.internal",
					"InternalIP", "10.0.64.13", "InternalIP", "10.0.64.113", "InternalIP", "10.0.64.23",
					"InternalIP", "2001:db8:1:80::13", "InternalIP", "2001:db8:1:80::23",
					"InternalDNS", "ip-10-0-64-13.us-west-2.compute.internal"),
			},
		},
		"network topology": {
			reason: "AWS-TOPOLOGY-3: the place in the network of an instance type that has one",
			zone:   "c",
			spec: aws.InstanceSpec{
				ID: "i-0000000000000000e", Type: "p5.48xlarge", InterfaceSpec: in("10.0.192.14"),
				NetworkNodes: []string{"nn-1", "nn-2", "nn-3"},
			},
			node: controlplane.NodeSpec{Name: "ip-10-0-192-14.us-west-2.compute.internal"},
			want: nodeState{
				ProviderID: "aws:///us-west-2c/i-0000000000000000e",
				Labels: elastic("p5.48xlarge", "us-west-2c", "usw2-az3", map[string]string{
					"topology.k8s.aws/network-node-layer-1": "nn-1",
					"topology.k8s.aws/network-node-layer-2": "nn-2",
					"topology.k8s.aws/network-node-layer-3": "nn-3",
				}),
				Addresses: addresses("ip-10-0-192-14.us-west-2.compute.internal",
					"InternalIP", "10.0.192.14", "InternalDNS", "ip-10-0-192-14.us-west-2.compute.internal"),
			},
		},
	}
}

// fargateCase is a pod that is a node of its own.
func fargateCase(r *region) instanceCase {
	const name = "fargate-ip-10-0-64-77.us-west-2.compute.internal"
	r.AddFargate(aws.FargateSpec{Subnet: r.seed.Private["us-west-2a"], PrivateIP: "10.0.64.77"})
	want := nodeState{
		ProviderID: "aws:///us-west-2a/0123abcd/" + name, Labels: elastic("", "us-west-2a", "usw2-az2", nil),
		Addresses: addresses(name, "InternalIP", "10.0.64.77", "InternalDNS", "ip-10-0-64-77.us-west-2.compute.internal"),
	}
	for _, label := range []string{"node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type", taggedLabel} {
		delete(want.Labels, label)
	}

	return instanceCase{
		reason: "AWS-FARGATE-2, AWS-TAG-3: a Fargate node is its network interface, has no type and is never tagged",
		node:   controlplane.NodeSpec{Name: name, ProviderID: want.ProviderID}, want: want,
	}
}

// TestInstancesAreInitialized is for AWS what TestNodesAreInitialized is for
// vSphere.
func TestInstancesAreInitialized(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	r := c.startRegion(t)
	cases := instanceCases()
	for _, tc := range cases {
		subnet := r.seed.Private["us-west-2"+tc.zone]
		if tc.zone == "" {
			subnet = r.seed.Private["us-west-2a"]
		}
		tc.spec.Subnet = subnet
		for i := range tc.spec.Interfaces {
			tc.spec.Interfaces[i].Subnet, tc.spec.Interfaces[i].Groups = subnet, []string{r.seed.NodeGroup}
		}
		r.seed.AddNode(tc.spec)
	}
	cases["Fargate"] = fargateCase(r)
	for _, tc := range cases {
		c.join(t, tc.node)
	}
	m := c.run(t, writeConfig(t, awsConfig+"NodeIPFamilies = ipv4\nNodeIPFamilies = ipv6\n"), taggingArgs...)

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c.awaitNode(t, tc.node.Name, "to be as specified", func(node *v1.Node) error {
				if diff := cmp.Diff(tc.want, stateOf(node), cmpopts.EquateEmpty()); diff != "" {
					return fmt.Errorf("%s (-want +got):\n%s", tc.reason, diff)
				}

				return nil
			})
		})
	}
	t.Run("Counted", func(t *testing.T) {
		for _, operation := range []string{"DescribeInstances", "DescribeAvailabilityZones", "DescribeInstanceTopology", "CreateTags"} {
			if r.Interceptor().Count(operation) == 0 {
				t.Errorf("%s was not called", operation)
			}
			m.await(t, "all calls to be counted", func(ctx context.Context) error {
				counted, err := m.metric(ctx, "multicloud_ccm_cloud_requests_total", fmt.Sprintf("operation=%q", operation))
				if want := r.Interceptor().Count(operation); err == nil && counted != float64(want) {
					err = fmt.Errorf("%v of %d calls of %s are", counted, want, operation)
				}

				return err
			})
		}
	})
	t.Run("Tagged", func(t *testing.T) { testTags(t, c, r, cases["name"]) })
}

// testTags checks that an instance has the tags of the flags for as long as its
// node is there (AWS-TAG-2).
func testTags(t *testing.T, c *cluster, r *region, tc instanceCase) {
	if tags := r.Tags(tc.spec.ID); tags["team"] != "blue" {
		t.Errorf("the tags of %s are %v", tc.spec.ID, tags)
	}
	if err := c.Client().CoreV1().Nodes().Delete(t.Context(), tc.node.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "the tags to go with the node", func(context.Context) error {
		if tags := r.Tags(tc.spec.ID); tags["team"] != "" {
			return fmt.Errorf("they are %v", tags)
		}

		return nil
	})
}
