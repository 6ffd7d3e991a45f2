package aws

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// tenant is a cluster that shares a VPC with another one.
type tenant struct {
	*balanced

	lb      *loadBalancer
	service *v1.Service
	nodes   []*v1.Node
}

func (t *tenant) ensure() {
	t.t.Helper()
	if _, err := t.lb.EnsureLoadBalancer(t.t.Context(), flagged, t.service, t.nodes); err != nil {
		t.t.Fatal(err)
	}
}

func (t *tenant) remove() {
	t.t.Helper()
	if err := t.lb.EnsureLoadBalancerDeleted(t.t.Context(), flagged, t.service); err != nil {
		t.t.Fatal(err)
	}
}

// lines are the state, a line for each resource and setting.
type lines []string

// everything is all there is.
func (t *tenant) everything() lines { return strings.Split(t.Dump(), "\n") }

// without are the lines that are not among others.
func (l lines) without(others lines) lines {
	return slices.DeleteFunc(slices.Clone(l), func(line string) bool { return slices.Contains(others, line) })
}

// spared checks that all lines still exist.
func (t *tenant) spared(before lines, what string) {
	t.t.Helper()
	if lost := before.without(t.everything()); len(lost) > 0 {
		t.t.Errorf("%s: the other cluster has lost %q", what, lost)
	}
}

// tenants are two clusters in one VPC, with the same subnets, the same security
// groups of users, and Services of the same name. The IDs of the clusters begin
// with the same letters.
func tenants(t *testing.T, managed bool, options ...kubetest.ServiceOption) (ours, theirs *tenant) {
	t.Helper()
	b := balance(t)
	for _, id := range []string{broughtGroup, otherGroup} {
		b.AddSecurityGroup(sim.SecurityGroupSpec{
			ID: id, VPC: b.seed.VPC, Name: id, Rules: []sim.Rule{{Protocol: "-1", Source: "0.0.0.0/0"}},
			Tags: map[string]string{sim.ClusterTag(demo): "shared", sim.ClusterTag(neighbor): "shared"},
		})
	}
	for _, zone := range b.seed.Zones {
		for _, subnet := range []string{b.seed.Public[zone], b.seed.Private[zone]} {
			tags := b.Tags(subnet)
			tags[sim.ClusterTag(neighbor)] = "shared"
			b.SetTags(subnet, tags)
		}
	}
	tags := map[string]string{sim.ClusterTag(neighbor): "owned"}
	group := b.group("nodes."+neighbor, tags)
	id := b.AddInstance(sim.InstanceSpec{Tags: tags, InterfaceSpec: sim.InterfaceSpec{
		Subnet: b.seed.Private[b.seed.Zones[0]], Groups: []string{group},
	}})
	mode := func(c *loadBalancerConfig) { c.Settings.ManagedNetworkGroups = managed }
	ours = &tenant{balanced: b, lb: b.controller(mode), service: web(options...), nodes: b.nodes}
	theirs = &tenant{
		balanced: b, nodes: nodesOf(id),
		service: web(append(options, kubetest.ServiceUID(strings.Replace(webUID, "0f0e0d0c", "0f0e0d0d", 1)))...),
		lb: b.controller(mode, func(c *loadBalancerConfig) {
			c.Settings.Cluster.Name = neighbor
			c.Instances = inventory.New(c.EC2, inventory.Config{Cluster: c.Settings.Cluster, VPC: b.seed.VPC, Window: time.Nanosecond})
		}),
	}

	return ours, theirs
}

// AWS-LB-18: each of two clusters in one VPC creates, changes and deletes while
// the other one has a load balancer. Neither ever changes resources of the other.
func TestTwoClusters(t *testing.T) {
	t.Parallel()
	brought := annotate(request.AnnotationSecurityGroups, broughtGroup)
	for name, test := range map[string]struct {
		reason  string
		managed bool
		options []kubetest.ServiceOption
		change  kubetest.ServiceOption
	}{
		"classic":          {reason: "with groups of their own", change: annotate(request.AnnotationSecurityGroups, otherGroup)},
		"classic, brought": {reason: "AWS-SG-13: with one group of a user", options: []kubetest.ServiceOption{brought}, change: annotate(request.AnnotationSecurityGroups, otherGroup)},
		"network":          {reason: "without groups", options: []kubetest.ServiceOption{nlb()}, change: probe},
		"network, shared port": {
			reason: "AWS-SG-12: with one port for health checks", change: annotate(request.AnnotationHealthCheckPort, "10257"),
			options: []kubetest.ServiceOption{nlb(), annotate(request.AnnotationHealthCheckPort, "10256")},
		},
		"network, managed": {reason: "with groups of their own", managed: true, options: []kubetest.ServiceOption{nlb()}, change: brought},
		"network, brought": {
			reason: "with one group of a user", managed: true, options: []kubetest.ServiceOption{nlb(), brought},
			change: annotate(request.AnnotationSecurityGroups, ""),
		},
	} {
		for _, order := range []string{"ours first", "theirs first"} {
			t.Run(name+", "+order, func(t *testing.T) {
				t.Parallel()
				first, second := tenants(t, test.managed, test.options...)
				if order == "theirs first" {
					first, second = second, first
				}
				empty := first.everything()
				first.ensure()
				alone := first.everything()

				// What the second one does changes nothing of the first.
				second.ensure()
				second.spared(alone, "create")
				test.change(second.service)
				second.ensure()
				second.spared(alone, "change")
				second.remove()
				if diff := cmp.Diff(alone, second.everything()); diff != "" {
					t.Errorf("%s: delete: -before +after\n%s", test.reason, diff)
				}

				// Nor does what the first one does to the second.
				second.ensure()
				for _, each := range []*tenant{first, second} {
					each.reachable(each.lb.GetLoadBalancerName(t.Context(), flagged, each.service))
				}
				theirs := second.everything().without(alone)
				test.change(first.service)
				first.ensure()
				first.spared(theirs, "change, the other way round")
				first.remove()
				first.spared(theirs, "delete, the other way round")
				second.remove()
				if diff := cmp.Diff(empty, second.everything()); diff != "" {
					t.Errorf("%s: left behind: -before +after\n%s", test.reason, diff)
				}
			})
		}
	}
}
