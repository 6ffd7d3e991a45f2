package aws

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go/middleware"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/profile"
)

const (
	// latency is how long each call takes.
	latency = 30 * time.Millisecond
	// serviceWorkers is the default of --concurrent-service-syncs.
	serviceWorkers = 10
)

// foreignGroups and foreignBalancers return how much others have in the account.
func foreignGroups() int { return profile.Of(200, 1600, 1600) }

func foreignBalancers() int { return profile.Of(60, 300, 300) }

// costOptions are those of a region for many Services.
func costOptions() sim.Options {
	// Each port of a network load balancer has a rule in the security group of the
	// nodes, which AWS allows 60, and on request 1000:
	// https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html
	// 500 Services need some more, as all nodes of these tests are in one group.
	return sim.Options{Limits: sim.Limits{RulesPerSecurityGroup: 1100}}
}

// costQuotas leave room for the Services of these tests beside what others have;
// AWS raises these quotas on request.
var costQuotas = sim.Quotas{
	NetworkLoadBalancers: 900, TargetGroups: 2800, ClassicLoadBalancers: 200,
}

// foreign is the state of a region in whose account others have many load
// balancers and target groups. Each test starts with it.
var foreign = sync.OnceValues(func() (*sim.Snapshot, error) {
	options := costOptions()
	options.DisableThrottling = true // to have it made at once
	cloud, err := sim.Start(options)
	if err != nil {
		return nil, err
	}
	seed := cloud.Seed(demo)
	cloud.SetQuotas(costQuotas)
	config := cloud.Config()
	defer closeIdle(config)
	api := elbv2.NewFromConfig(config, func(o *elbv2.Options) { o.APIOptions = append(o.APIOptions, cloud.ServeDirectly) })
	for i := range foreignGroups() {
		if err := addForeign(api, seed, i); err != nil {
			return nil, errors.Join(err, cloud.Close())
		}
	}

	return cloud.Snapshot(), cloud.Close()
})

// addForeign creates a target group. The first ones have a load balancer each,
// which is named like that of a Service of another cluster.
func addForeign(api *elbv2.Client, seed *sim.Seed, i int) error {
	ctx := context.Background()
	group, err := api.CreateTargetGroup(ctx, &elbv2.CreateTargetGroupInput{
		Name: awssdk.String(fmt.Sprintf("foreign-%d", i)), VpcId: awssdk.String(seed.VPC),
		Protocol: elbv2types.ProtocolEnumTcp, Port: awssdk.Int32(80), TargetType: elbv2types.TargetTypeEnumInstance,
	})
	if err != nil || i >= foreignBalancers() {
		return err
	}
	balancer, err := api.CreateLoadBalancer(ctx, &elbv2.CreateLoadBalancerInput{
		Name: awssdk.String(fmt.Sprintf("af%030x", i)), Type: elbv2types.LoadBalancerTypeEnumNetwork,
		Subnets: []string{seed.Public[seed.Zones[0]]},
		Tags:    networkTags(map[string]string{sim.ClusterTag("other"): "owned", cluster.ServiceNameTag: "default/other"}),
	})
	if err != nil {
		return err
	}
	_, err = api.CreateListener(ctx, &elbv2.CreateListenerInput{
		LoadBalancerArn: balancer.LoadBalancers[0].LoadBalancerArn, Protocol: elbv2types.ProtocolEnumTcp, Port: awssdk.Int32(80),
		DefaultActions: []elbv2types.Action{{
			Type: elbv2types.ActionTypeEnumForward, TargetGroupArn: group.TargetGroups[0].TargetGroupArn,
		}},
	})

	return err
}

// account is the region that a test of costs runs in.
type account struct {
	// busy adds many load balancers of others to the account.
	busy  bool
	nodes int
	// services of twoPorts have their load balancers when the test begins.
	services int
	options  []kubetest.ServiceOption
}

// prepare returns the state of the region when a test begins.
func (a account) prepare(t *testing.T) *sim.Snapshot {
	t.Helper()
	// The load balancers of many Services take AWS an hour, which is not counted.
	r := newRegion(t, sim.Options{Limits: costOptions().Limits, DisableThrottling: true})
	r.SetQuotas(costQuotas)
	if a.busy {
		state, err := foreign()
		if err != nil {
			t.Fatal(err)
		}
		r.Restore(state)
	}
	var state *sim.Snapshot
	synctest.Test(t, func(t *testing.T) {
		b := &balanced{region: r.in(t), decoded: newResponses(t)}
		b.nodes = nodesOf(b.seed.AddNodes(a.nodes)...)
		b.lb, _ = b.direct(impatient)
		services := twoPorts(0, a.services, a.options...)
		if a.services > 0 && request.KindOf(services[0]) == request.Network {
			b.lb.Settings.LeaveNodeSecurityGroups = true
			b.addNodeRules(services)
		}
		b.ensureAll(services)
		state = b.Snapshot()
	})

	return state
}

// addNodeRules adds the rules that network load balancers need in the security
// group of the nodes, all at once: the provider would read the growing group for
// each Service. A test that expects no writes shows that they are the right ones.
func (b *balanced) addNodeRules(services []*v1.Service) {
	const anywhere = "0.0.0.0/0"
	b.AddRule(b.seed.NodeGroup, sim.Rule{
		Protocol: "icmp", From: 3, To: 4, Source: anywhere, Description: "kubernetes.io/rule/nlb/mtu",
	})
	for _, svc := range services {
		name := b.lb.GetLoadBalancerName(b.t.Context(), flagged, svc)
		for _, port := range svc.Spec.Ports {
			b.AddRule(b.seed.NodeGroup, sim.Rule{
				Protocol: "tcp", From: port.NodePort, To: port.NodePort, Source: anywhere,
				Description: "kubernetes.io/rule/nlb/client=" + name,
			})
		}
	}
}

// test runs a test in virtual time, with the rate limiters of production against
// the buckets of AWS, in a process without any cache.
func (a account) test(t *testing.T, test func(b *balanced)) {
	t.Helper()
	a.from(t, a.prepare(t), test)
}

// from is like test, from a state that was prepared before.
func (a account) from(t *testing.T, state *sim.Snapshot, test func(b *balanced)) {
	t.Helper()
	r := newRegion(t, costOptions())
	ids := r.seed.AddNodes(a.nodes) // as in the state
	r.Restore(state)
	synctest.Test(t, func(t *testing.T) {
		b := &balanced{region: r.in(t), decoded: newResponses(t), ids: ids, nodes: nodesOf(ids...)}
		b.Interceptor().SetLatency(latency)
		b.restart()
		test(b)
	})
}

// in returns the region for the use in a synctest bubble.
func (r *region) in(t *testing.T) *region {
	inside := *r
	inside.t = t

	return &inside
}

// restart begins with a process without any cache, some time after what came
// before, so that the buckets of AWS are full.
func (b *balanced) restart() {
	b.t.Helper()
	b.refillBuckets()
	b.lb, _ = b.direct(client.Tuning{})
}

// restartWithNodes begins with a process that has initialized its Nodes.
func (b *balanced) restartWithNodes() {
	b.t.Helper()
	b.refillBuckets()
	var zones *vpc.Zones
	b.lb, zones = b.direct(client.Tuning{})
	_, instances := b.lb.Instances.Get(b.t.Context(), b.ids)
	_, zone := zones.Get(b.t.Context(), b.seed.Zones[0])
	if err := errors.Join(instances, zone); err != nil {
		b.t.Fatal(err)
	}
}

// refillBuckets waits until the buckets of AWS are full.
func (*balanced) refillBuckets() { time.Sleep(time.Minute) }

// direct returns a load balancer controller without any cache that calls the
// region without connections, and the zones that it uses.
func (b *balanced) direct(tuning client.Tuning) (*loadBalancer, *vpc.Zones) {
	b.t.Helper()
	base, err := client.Load(b.t.Context(), client.Options{
		Tuning: tuning, Middleware: []func(*middleware.Stack) error{b.ServeDirectly, b.decoded.add},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	clients, err := base.In(b.t.Context(), b.Region())
	if err != nil {
		b.t.Fatal(err)
	}
	id := cluster.ID{Name: demo}
	zones := vpc.NewZones(clients.EC2)
	lb := newLoadBalancer(loadBalancerConfig{
		Settings: request.Config{Cluster: id, VPC: b.seed.VPC, SharedProbePort: 10256, SharedProbePath: "/healthz"},
		EC2:      clients.EC2, ELB: clients.ELB, ELBV2: clients.ELBV2,
		Network:   vpc.NewNetwork(clients.EC2, b.seed.VPC, zones),
		Instances: inventory.New(clients.EC2, inventory.Config{Cluster: id, VPC: b.seed.VPC}),
	})
	lb.services.SetRecorder(&record.FakeRecorder{})

	return lb, zones
}

// twoPorts returns Services with two ports each, and names and ports of their
// own.
func twoPorts(from, count int, options ...kubetest.ServiceOption) []*v1.Service {
	var services []*v1.Service
	for i := from; i < from+count; i++ {
		own := []kubetest.ServiceOption{
			kubetest.ServiceUID(fmt.Sprintf("%08d-1111-2222-3333-444455556666", i)),
			kubetest.Port(v1.ProtocolTCP, 1000+2*int32(i)), kubetest.Port(v1.ProtocolTCP, 1001+2*int32(i)),
		}
		services = append(services, kubetest.Service("default", fmt.Sprintf("web-%d", i), append(own, options...)...))
	}

	return services
}

// ensureAll makes load balancers as the workers of the service controller do.
func (b *balanced) ensureAll(services []*v1.Service) {
	b.t.Helper()
	parallel(serviceWorkers, services, func(svc *v1.Service) {
		status, err := b.lb.EnsureLoadBalancer(b.t.Context(), flagged, svc, b.nodes)
		if err != nil {
			b.t.Errorf("ensure %s: %v", svc.Name, err)

			return
		}
		svc.Status.LoadBalancer = *status
	})
}

// updateAll calls the controller for all Services as after a change of the Nodes.
func (b *balanced) updateAll(services []*v1.Service) {
	b.t.Helper()
	parallel(serviceWorkers, services, func(svc *v1.Service) {
		if err := b.lb.UpdateLoadBalancer(b.t.Context(), flagged, svc, b.nodes); err != nil {
			b.t.Errorf("update %s: %v", svc.Name, err)
		}
	})
}

// deleteOnce makes one attempt at a deletion as the service controller does,
// which first looks whether there is a load balancer.
func (b *balanced) deleteOnce(svc *v1.Service) error {
	if svc.DeletionTimestamp == nil {
		svc.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	}
	_, exists, err := b.lb.GetLoadBalancer(b.t.Context(), flagged, svc)
	if err != nil || !exists {
		return err
	}

	return b.lb.EnsureLoadBalancerDeleted(b.t.Context(), flagged, svc)
}

// cost are the calls of a part of a test.
type cost struct {
	t     testing.TB
	what  string
	calls map[string]int
	took  time.Duration
}

// measure counts the calls that f makes.
func (b *balanced) measure(what string, f func()) cost {
	b.t.Helper()
	began := time.Now()
	c := cost{t: b.t, what: what}
	c.calls = b.calls(f)
	c.took = time.Since(began)

	return c
}

// writes returns the mutating calls.
func (c cost) writes() map[string]int {
	writes := maps.Clone(c.calls)
	maps.DeleteFunc(writes, func(op string, _ int) bool { return !sim.Mutating(op) })

	return writes
}

// atMost fails the test if there were more calls for all of the Services, and
// shows what there was.
func (c cost) atMost(limit, services int) cost {
	c.t.Helper()
	c.t.Logf("%s: %d calls (%d writes), %.1f for each Service, %v of virtual time; %v",
		c.what, total(c.calls), total(c.writes()), float64(total(c.calls))/float64(services), c.took, c.calls)
	if total(c.calls) > limit {
		c.t.Errorf("%s: %d calls, want at most %d", c.what, total(c.calls), limit)
	}

	return c
}

// readOnly fails the test if there were writes.
func (c cost) readOnly() cost {
	c.t.Helper()
	if writes := c.writes(); len(writes) > 0 {
		c.t.Errorf("%s: writes %v", c.what, writes)
	}

	return c
}

// notThrottled fails the test if AWS would have throttled calls.
func (b *balanced) notThrottled() {
	b.t.Helper()
	if throttled := b.ThrottledCalls(); len(throttled) > 0 {
		b.t.Errorf("throttled: %v", throttled)
	}
}

// ofAPI returns how many calls of an API there were, by the prefix of its
// operations in the log.
func (c cost) ofAPI(prefix string) int {
	n := 0
	for op, count := range c.calls {
		if strings.HasPrefix(op, prefix) {
			n += count
		}
	}

	return n
}
