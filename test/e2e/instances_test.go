package e2e

import (
	"context"
	"fmt"
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
func elastic() map[string]string {
	labels := labeled("m5.large", "us-west-2a", "us-west-2", "")
	delete(labels, "team")
	labels["topology.k8s.aws/zone-id"] = "usw2-az2"
	labels[taggedLabel] = taggedBlue

	return labels
}

type instanceCase struct {
	reason string
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
				ProviderID: "aws:///us-west-2a/i-0000000000000000a", Labels: elastic(),
				Addresses: addresses("ip-10-0-64-10.us-west-2.compute.internal",
					"InternalIP", "10.0.64.10", "InternalDNS", "ip-10-0-64-10.us-west-2.compute.internal"),
			},
		},
		"provider ID": {
			reason: "AWS-ID-1, FW-ID-4: an existing providerID counts in any of its forms and is left as it is",
			spec:   aws.InstanceSpec{ID: "i-0000000000000000c", InterfaceSpec: in("10.0.64.12")},
			node:   controlplane.NodeSpec{Name: "ip-10-0-64-12.us-west-2.compute.internal", ProviderID: "aws:////i-0000000000000000c"},
			want: nodeState{
				ProviderID: "aws:////i-0000000000000000c", Labels: elastic(),
				Addresses: addresses("ip-10-0-64-12.us-west-2.compute.internal",
					"InternalIP", "10.0.64.12", "InternalDNS", "ip-10-0-64-12.us-west-2.compute.internal"),
			},
		},
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
		tc.spec.Subnet = r.seed.Private["us-west-2a"]
		r.seed.AddNode(tc.spec)
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
		for _, operation := range []string{"DescribeInstances", "DescribeAvailabilityZones", "CreateTags"} {
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
