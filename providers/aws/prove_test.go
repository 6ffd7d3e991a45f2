package aws

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider/providertest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// FW-CONFIG-14: a proof finds the VPC, the cluster and the instances, or reports what AWS has
// refused.
func TestProve(t *testing.T) {
	t.Parallel()
	const arn = "arn:aws:iam::123456789012:user/cluster"
	all := []string{"node-1", "node-2", "node-gone"}
	cases := map[string]struct {
		proof providertest.Proof
		// change is what the text has instead of a part of it.
		change [2]string
		fault  func(*region)
	}{
		"Right": {proof: providertest.Proof{
			Reason: "an instance is missing, which is no error", Identity: arn, Scope: "cluster demo", Found: 2, Missing: []string{"node-gone"},
		}},
		"WrongKeys": {
			proof: providertest.Proof{Reason: "EC2 refuses them", Err: "AuthFailure", Unknown: all},
			fault: func(r *region) {
				r.Interceptor().Inject(simserver.Any, simserver.Always(), sim.Error(401, "AuthFailure", "AWS was not able to validate the provided access credentials"))
			},
		},
		"NoPermissions": {
			proof: providertest.Proof{Reason: "they may do nothing", Err: "UnauthorizedOperation", Unknown: all},
			fault: func(r *region) { r.RequireRole("arn:aws:iam::123456789012:role/ccm") },
		},
		"WrongRegion": {
			proof:  providertest.Proof{Reason: "EC2 refuses requests for it", Err: "Credential should be scoped to a valid region", Unknown: all},
			change: [2]string{"Region = us-west-2", "Region = eu-west-1"},
		},
		"WrongVPC": {
			proof:  providertest.Proof{Reason: "the region does not have it", Found: 2, Missing: []string{"node-gone"}, Err: "find VPC vpc-1: EC2 has no subnet of it in this region"},
			change: [2]string{"VPC = vpc-", "VPC = vpc-1 # "},
		},
		"WrongCluster": {
			proof:  providertest.Proof{Reason: "all Nodes are of another cluster", Found: 2, Missing: []string{"node-gone"}, Err: "belongs to another cluster"},
			change: [2]string{"KubernetesClusterID = demo", "KubernetesClusterID = other"},
		},
		"NoSubnets": {
			proof: providertest.Proof{Reason: "the permission to list subnets is missing", Found: 2, Missing: []string{"node-gone"}},
			fault: func(r *region) { r.Interceptor().Inject("DescribeSubnets", simserver.Always(), sim.Denied()) },
		},
		"NoCaller": {
			proof: providertest.Proof{Reason: "there is no endpoint of STS", Identity: "not known", Found: 2, Missing: []string{"node-gone"}},
			fault: func(r *region) { r.Interceptor().Inject("GetCallerIdentity", simserver.Always(), simserver.Drop()) },
		},
		"Down": {
			proof: providertest.Proof{Reason: "no response", Err: "find VPC", Unanswered: true, Unknown: all},
			fault: func(r *region) { r.Server().Down() },
		},
		"InstancesFail": {
			proof: providertest.Proof{Reason: "EC2 accepts the credentials and the VPC, and does not return instances", Scope: "cluster demo", Unknown: all},
			fault: func(r *region) {
				r.Interceptor().Inject("DescribeInstances", simserver.Always(), simserver.Status(503))
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRegion(t, sim.Options{})
			var nodes []*v1.Node
			for i := range 2 {
				nodes = append(nodes, kubetest.Node(fmt.Sprintf("node-%d", i+1), kubetest.ProviderID("aws:///us-west-2a/"+r.seed.AddNode(sim.InstanceSpec{}))))
			}
			nodes = append(nodes, kubetest.Node("node-gone", kubetest.ProviderID("aws:///us-west-2a/i-00000000000000bad"), kubetest.NotReady()))
			p := tc.proof
			p.Text = fmt.Sprintf("[Global]\nRegion = %s\nVPC = %s\nKubernetesClusterID = %s\n%s", r.Region(), r.seed.VPC, demo, serviceOverrides(r.Cloud))
			if tc.change[0] != "" {
				p.Text = strings.ReplaceAll(p.Text, tc.change[0], tc.change[1])
			}
			p.Nodes = nodes
			p.Prove = func(ctx context.Context, candidate provider.Candidate) (provider.Proof, error) {
				return proveWith(ctx, candidate, cloudTuning{client: impatient})
			}
			p.Changes = func() []string { return slices.Sorted(maps.Keys(r.Writes())) }
			if tc.fault != nil {
				tc.fault(r)
			}
			p.Check(t)
		})
	}
}

// AWS-CONFIG-10: a proof takes place where EC2 is slow, with the times of production: what EC2 does
// not return in time is not known, and is no reason to refuse a cloud-config.
func TestProveSlow(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		slow  time.Duration
		proof providertest.Proof
	}{
		"8 s":                 {8 * time.Second, providertest.Proof{Reason: "each call has a response", Found: 2, Missing: []string{"node-gone"}}},
		"20 s":                {20 * time.Second, providertest.Proof{Reason: "there is no time for another call without the missing instance", Unknown: []string{"node-1", "node-2", "node-gone"}}},
		"no response in 30 s": {time.Minute, providertest.Proof{Reason: "it can be repeated", Err: "find VPC", Unanswered: true, Unknown: []string{"node-1", "node-2", "node-gone"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cloud, err := sim.Start(sim.Options{InMemory: true})
				if err != nil {
					t.Fatal(err)
				}
				seed := cloud.Seed(demo)
				var nodes []*v1.Node
				for i, id := range append(seed.AddNodes(2), "i-00000000000000bad") {
					nodes = append(nodes, kubetest.Node([]string{"node-1", "node-2", "node-gone"}[i], kubetest.ProviderID("aws:///us-west-2a/"+id)))
				}
				cloud.Interceptor().Inject("ec2", simserver.Always(), simserver.Slow(tc.slow))
				p := tc.proof
				p.Text = fmt.Sprintf("[Global]\nRegion = %s\nVPC = %s\nKubernetesClusterID = %s\n%s", cloud.Region(), seed.VPC, demo, serviceOverrides(cloud))
				p.Nodes = nodes
				p.Prove = func(ctx context.Context, candidate provider.Candidate) (provider.Proof, error) {
					return proveWith(ctx, candidate, cloudTuning{client: client.Tuning{Dial: cloud.Server().Dial}})
				}
				p.Changes = func() []string { return nil }
				p.Check(t)
				if err := cloud.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// FW-CONFIG-14: a proof ends in time although AWS does not respond.
func TestProveHanging(t *testing.T) {
	t.Parallel()
	providertest.CheckHanging(t, func(t *testing.T) providertest.Proof {
		r := newRegion(t, sim.Options{InMemory: true})
		r.Interceptor().Inject(simserver.Any, simserver.Always(), simserver.Slow(time.Hour))

		return providertest.Proof{
			Reason: "EC2 hangs", Identity: "not known", Scope: "cluster demo", Err: "find VPC", Unanswered: true,
			Text: fmt.Sprintf("[Global]\nRegion = %s\nVPC = %s\nKubernetesClusterID = %s\n%s", r.Region(), r.seed.VPC, demo, serviceOverrides(r.Cloud)),
			Prove: func(ctx context.Context, candidate provider.Candidate) (provider.Proof, error) {
				return proveWith(ctx, candidate, cloudTuning{client: client.Tuning{Dial: r.Server().Dial}})
			},
			Changes: func() []string { return slices.Sorted(maps.Keys(r.Writes())) },
		}
	})
}
