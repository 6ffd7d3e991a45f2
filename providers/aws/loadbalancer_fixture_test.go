package aws

import (
	"context"
	"errors"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// The Service of the documented examples.
const (
	webUID  = "0f0e0d0c-1111-2222-3333-444455556666"
	webName = "a0f0e0d0c11112222333344445555666"
	flagged = "kubernetes" // --cluster-name
	webNLB  = "k8s-default-web-050727a58f"
)

// balanced is a region with a cluster of three nodes, whose Services get load
// balancers.
type balanced struct {
	*region

	lb     *loadBalancer
	nodes  []*v1.Node
	ids    []string
	events *record.FakeRecorder
	// slow is that operations take their time, which is virtual.
	slow bool
	// decoded are the responses that clients without connections decoded before.
	decoded *responses
}

// balance makes the region, with settings that differ from the usual ones. It
// does not throttle: the tests make the calls of minutes at once, with a client
// that does not wait.
func balance(t testing.TB, settings ...func(*loadBalancerConfig)) *balanced {
	t.Helper()

	return balanceIn(newRegion(t, sim.Options{DisableThrottling: true}), settings...)
}

// balanceIn adds the cluster to a region.
func balanceIn(r *region, settings ...func(*loadBalancerConfig)) *balanced {
	r.t.Helper()
	b := &balanced{region: r, events: record.NewFakeRecorder(100)}
	b.ids = b.seed.AddNodes(3)
	b.nodes = nodesOf(b.ids...)
	b.lb = b.controller(settings...)

	return b
}

// inSlowRegion runs a test in virtual time, in a region whose operations take as
// long as on AWS until they have all their effect.
func inSlowRegion(t *testing.T, test func(*balanced), settings ...func(*loadBalancerConfig)) {
	t.Helper()
	r := newRegion(t, sim.Options{DisableThrottling: true, Delays: new(sim.TypicalDelays())})
	synctest.Test(t, func(t *testing.T) {
		b := balanceIn(r.in(t), append(settings, productionWaits)...)
		b.slow = true
		test(b)
	})
}

// controller makes a load balancer controller without any cache, as after a
// restart.
func (b *balanced) controller(settings ...func(*loadBalancerConfig)) *loadBalancer {
	b.t.Helper()
	base, err := client.Load(context.Background(), client.Options{
		Tuning: impatient, Middleware: []func(*middleware.Stack) error{b.ServeDirectly},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	clients, err := base.In(context.Background(), b.Region())
	if err != nil {
		b.t.Fatal(err)
	}
	id := cluster.ID{Name: demo}
	config := loadBalancerConfig{
		Settings: request.Config{Cluster: id, VPC: b.seed.VPC, SharedProbePort: 10256, SharedProbePath: "/healthz"},
		Region:   b.Region(),
		EC2:      clients.EC2, ELB: clients.ELB, ELBV2: clients.ELBV2,
		Network:   vpc.NewNetwork(clients.EC2, b.seed.VPC, vpc.NewZones(clients.EC2)),
		Instances: inventory.New(clients.EC2, inventory.Config{Cluster: id, VPC: b.seed.VPC, Window: time.Nanosecond}),
		Tuning:    loadBalancerTuning{Wait: change.Wait{Interval: time.Millisecond, Limit: 100 * time.Millisecond}},
	}
	for _, set := range settings {
		set(&config)
	}
	lb := newLoadBalancer(config)
	lb.services.SetRecorder(b.events)
	lb.services.SetClients(kubeBuilder{}) // it has no Services

	return lb
}

// The settings that tests are about.
func managedGroups(c *loadBalancerConfig)   { c.Settings.ManagedNetworkGroups = true }
func leaveNodes(c *loadBalancerConfig)      { c.Settings.LeaveNodeSecurityGroups = true }
func sharedProbe(c *loadBalancerConfig)     { c.Settings.SharedProbe = true }
func productionWaits(c *loadBalancerConfig) { c.Tuning = loadBalancerTuning{} }
func longWaits(c *loadBalancerConfig)       { c.Tuning.Wait.Limit = time.Minute }

func configuredGroup(id string) func(*loadBalancerConfig) {
	return func(c *loadBalancerConfig) { c.Settings.ClassicSecurityGroup = id }
}

func nodesOf(ids ...string) []*v1.Node {
	var nodes []*v1.Node
	for _, id := range ids {
		nodes = append(nodes, node(id))
	}

	return nodes
}

// web is the Service with the TCP ports 80 and 443.
func web(options ...kubetest.ServiceOption) *v1.Service {
	return kubetest.Service("default", "web", append([]kubetest.ServiceOption{
		kubetest.ServiceUID(webUID), kubetest.Port(v1.ProtocolTCP, 80), kubetest.Port(v1.ProtocolTCP, 443),
	}, options...)...)
}

// apiService is another Service, with the TCP port 8080.
func apiService(options ...kubetest.ServiceOption) *v1.Service {
	return kubetest.Service("default", "api", append([]kubetest.ServiceOption{
		kubetest.ServiceUID("aaaaaaaa-1111-2222-3333-444455556666"), kubetest.Port(v1.ProtocolTCP, 8080),
	}, options...)...)
}

func annotate(name annotation.Name, value string) kubetest.ServiceOption {
	return kubetest.ServiceAnnotated(string(name), value)
}

// nlb requests a network load balancer.
func nlb() kubetest.ServiceOption { return annotate(request.AnnotationType, "nlb") }

func from(ranges ...string) kubetest.ServiceOption {
	return func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = ranges }
}

// group makes a security group as a user would.
func (b *balanced) group(name string, tags map[string]string) string {
	return b.AddSecurityGroup(sim.SecurityGroupSpec{VPC: b.seed.VPC, Name: name, Tags: tags})
}

// ensure makes the load balancer, which must not fail but may be incomplete, and
// returns the hostname.
func (b *balanced) ensure(svc *v1.Service) string {
	b.t.Helper()
	status, err := b.lb.EnsureLoadBalancer(b.t.Context(), flagged, svc, b.nodes)
	if _, incomplete := errors.AsType[*service.IncompleteError](err); incomplete {
		status, err = &svc.Status.LoadBalancer, nil
		if len(status.Ingress) == 0 {
			status, _, err = b.lb.GetLoadBalancer(b.t.Context(), flagged, svc)
		}
	}
	if err != nil {
		b.t.Fatal(err)
	}
	if len(status.Ingress) != 1 || status.Ingress[0].Hostname == "" {
		b.t.Fatalf("one ingress with a hostname: %v", status)
	}
	if diff := cmp.Diff(v1.LoadBalancerIngress{Hostname: status.Ingress[0].Hostname}, status.Ingress[0]); diff != "" {
		b.t.Errorf("AWS-LB-5: nothing but a hostname: %s", diff)
	}
	svc.Status.LoadBalancer = *status

	return status.Ingress[0].Hostname
}

// remove deletes the load balancer as the service controller does, which tries
// again later if something is in use.
func (b *balanced) remove(svc *v1.Service) {
	b.t.Helper()
	err := b.lb.EnsureLoadBalancerDeleted(b.t.Context(), flagged, svc)
	for range 3 {
		if !b.slow || !notReady(err) {
			break
		}
		time.Sleep(retryTime)
		err = b.lb.EnsureLoadBalancerDeleted(b.t.Context(), flagged, svc)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// exists is the query of the service controller before it deletes.
func (b *balanced) exists(svc *v1.Service) bool {
	b.t.Helper()
	_, exists, err := b.lb.GetLoadBalancer(b.t.Context(), flagged, svc)
	if err != nil {
		b.t.Fatal(err)
	}

	return exists
}

// writes are the writes that f makes, by operation.
func (b *balanced) writes(f func()) map[string]int {
	b.t.Helper()
	calls := b.calls(f)
	maps.DeleteFunc(calls, func(op string, _ int) bool { return !sim.Mutating(op) })

	return calls
}

// unchanged checks that a sync without a change writes nothing and describes
// every load balancer at most once. Groups without the cluster's tag need a
// query of their own.
func (b *balanced) unchanged(svc *v1.Service) {
	b.t.Helper()
	calls := b.calls(func() { b.ensure(svc) })
	for op, n := range calls {
		if sim.Mutating(op) {
			b.t.Errorf("AWS-LB-14: a sync without a change writes: %d × %s", n, op)
		}
	}
	if calls["elb.DescribeLoadBalancers"] > 1 || calls["elbv2.DescribeLoadBalancers"] > 1 || calls["DescribeSecurityGroups"] > 2 {
		b.t.Errorf("AWS-LB-14: a sync without a change reads once: %v", calls)
	}
}

// reachable checks that the security groups block no traffic.
func (b *balanced) reachable(name string, clients ...string) {
	b.t.Helper()
	if missing := b.BlockedTraffic(name, clients...); len(missing) > 0 {
		b.t.Errorf("blocked by security groups: %v", missing)
	}
}

// same checks that nothing was left behind since before.
func (b *balanced) same(before []string) {
	b.t.Helper()
	if diff := cmp.Diff(before, b.Leaks()); diff != "" {
		b.t.Errorf("left behind: -before +after\n%s", diff)
	}
}

// drainEvents returns the Events since the last call.
func (b *balanced) drainEvents() []string { return kubetest.Events(b.events) }

// rules are the rules of a group, one text each.
func (b *balanced) rules(group string) []string {
	var texts []string
	for _, rule := range b.Rules(group) {
		texts = append(texts, ruleText(rule))
	}

	return texts
}
