package aws

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/smithy-go/middleware"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// The security groups that users bring: two for load balancers, one for
// ElbSecurityGroup, and one that has nothing to do with any.
const (
	broughtGroup   = "sg-0b01"
	otherGroup     = "sg-0b02"
	overrideGroup  = "sg-0b03"
	unrelatedGroup = "sg-0b04"
)

// neighbor is another cluster in the VPC. Its ID begins like ours.
const neighbor = demo + "2"

// dbName is the name of the classic load balancer of a third Service.
const dbName = "abbbbbbbb11112222333344445555666"

// settings are those of the cloud-config that scenarios differ in.
type settings struct {
	managed, leave bool
	classicGroup   string
}

func (d settings) set(c *loadBalancerConfig) {
	c.Settings.ManagedNetworkGroups, c.Settings.LeaveNodeSecurityGroups = d.managed, d.leave
	c.Settings.ClassicSecurityGroup = d.classicGroup
}

// environment is a region in which operations are interrupted. Beside the
// Service that they are about there are two more with load balancers, which
// share nodes, a security group and a health check port with it, those of
// another cluster with similar names, and rules of users. None of these may ever
// change.
type environment struct {
	*region

	clock    *clocktesting.FakeClock
	base     *client.Base
	settings settings
	// replayer handles the calls of the current process, if there is one.
	replayer *replayer
	// calling is held by each call, and exclusively to wait until none is under way.
	calling sync.RWMutex
	// nodes are two in the group of the seed, one each in two more groups of the
	// cluster, one in a group without its tag, and one in several groups of the
	// cluster, which none of the other Services has.
	nodes []*v1.Node
	// constants are the exchanges whose results never change.
	constants recording
	// described is the last description of the state, nil if it may have changed.
	described *described
	// decoded are the responses that were decoded before.
	decoded *responses
}

// immediateRetries has clients retry without waiting.
var immediateRetries = client.Tuning{Timeout: 20 * time.Second, MaxBackoff: time.Nanosecond, ThrottleDelay: time.Millisecond}

// small are the options of a region with small responses, which are decoded
// sooner. It does not throttle: the tests make thousands of calls in a second.
var small = sim.Options{
	Zones:             []sim.Zone{{Name: "us-west-2a", ID: "usw2-az2"}, {Name: "us-west-2b", ID: "usw2-az1"}},
	DisableThrottling: true,
}

// newEnvironment makes a region with everything but the Service and its two
// peers.
func newEnvironment(t testing.TB, d settings, decoded *responses) *environment {
	t.Helper()
	s := &environment{clock: newClock(), settings: d, decoded: decoded}
	s.region = newRegion(t, s.options())
	s.connectClients()
	ours := map[string]string{sim.ClusterTag(demo): "owned"}
	ids := s.seed.AddNodes(2)
	var groups []string
	for _, name := range []string{"workers", "gpus", "plain"} {
		tags := ours
		if name == "plain" {
			tags = nil
		}
		group := s.AddSecurityGroup(sim.SecurityGroupSpec{VPC: s.seed.VPC, Name: name, Tags: tags})
		ids = append(ids, s.seed.AddNode(sim.InstanceSpec{InterfaceSpec: sim.InterfaceSpec{Groups: []string{group}}}))
		groups = append(groups, group)
	}
	ids = append(ids, s.seed.AddNode(sim.InstanceSpec{InterfaceSpec: sim.InterfaceSpec{Groups: groups[:2]}}))
	s.nodes = nodesOf(ids...)
	s.addUsers()
	s.addNeighbor()

	return s
}

// options are those of the region. The delays of AWS are on, by a clock that
// passes with each call, so that they cost no real time.
func (s *environment) options() sim.Options {
	options := small
	options.Clock = s.clock

	return options
}

// connectClients loads the configuration of clients.
func (s *environment) connectClients() {
	s.t.Helper()
	options := client.Options{Tuning: immediateRetries, Middleware: []func(*middleware.Stack) error{
		s.ServeDirectly, // connections are much of the CPU time of a call
		s.decoded.add,
		func(stack *middleware.Stack) error {
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("replayer", s.intercept), middleware.After)
		},
	}}
	var err error
	s.base, err = client.Load(context.Background(), options)
	s.must(err)
}

// intercept has the replayer handle a call. Reads that Services share run in a
// goroutine of their own, which may get to its call only after its process was killed:
// its context has ended by then.
func (s *environment) intercept(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
	middleware.InitializeOutput, middleware.Metadata, error,
) {
	s.calling.RLock()
	defer s.calling.RUnlock()
	if err := ctx.Err(); err != nil {
		return middleware.InitializeOutput{}, middleware.Metadata{}, err
	}
	if s.replayer == nil {
		s.clock.Step(callTime)

		return next.HandleInitialize(ctx, in)
	}

	return s.replayer.handle(ctx, s, in, next)
}

// quiesce waits for the calls of a process that was killed, which no longer waits for them
// itself.
func (s *environment) quiesce() {
	s.calling.Lock()
	defer s.calling.Unlock()
}

// templates are environments to begin with, by their settings. All of them decode
// each response once.
type templates struct {
	decoded *responses

	mu  sync.Mutex
	all map[settings]func() *template
}

func newTemplates(t testing.TB) *templates {
	t.Helper()

	return &templates{decoded: newResponses(t), all: map[settings]func() *template{}}
}

// template is an environment with the states that scenarios begin in: without the
// peers, and with them.
type template struct {
	environment      *environment
	alone, withPeers moment
}

// environment makes an environment like all others with the same settings.
func (p *templates) environment(t testing.TB, d settings) (s *environment, from *template) {
	t.Helper()
	p.mu.Lock()
	if p.all[d] == nil {
		p.all[d] = sync.OnceValue(func() *template {
			first := newEnvironment(t, d, p.decoded)
			made := &template{environment: first, alone: first.save()}
			first.addPeers()
			made.withPeers = first.save()

			return made
		})
	}
	get := p.all[d]
	p.mu.Unlock()
	from = get()
	s = &environment{clock: newClock(), settings: d, nodes: from.environment.nodes, decoded: p.decoded}
	cloud, err := sim.Start(s.options())
	if err != nil {
		t.Fatal(err)
	}
	s.region = &region{Cloud: cloud, t: t, seed: from.environment.seed}
	t.Cleanup(func() { s.must(cloud.Close()) })
	s.connectClients()
	s.load(from.withPeers)

	return s, from
}

// addUsers adds resources of users.
func (s *environment) addUsers() {
	anywhere := []sim.Rule{{Protocol: "-1", Source: "0.0.0.0/0"}}
	for id, name := range map[string]string{broughtGroup: "brought", otherGroup: "other", overrideGroup: "override", unrelatedGroup: "unrelated"} {
		s.AddSecurityGroup(sim.SecurityGroupSpec{ID: id, VPC: s.seed.VPC, Name: name, Rules: anywhere})
	}
	for _, rule := range []sim.Rule{
		{Protocol: "tcp", From: 22, To: 22, Source: "10.0.0.0/8", Description: "administration"},
		{Protocol: "tcp", From: 9100, To: 9100, Source: broughtGroup, Description: "metrics"},
		{Protocol: "tcp", From: 30443, To: 30443, Source: "0.0.0.0/0", Description: "for tests of web"},
		{Protocol: "-1", Source: unrelatedGroup},
	} {
		s.AddRule(s.seed.NodeGroup, rule)
	}
}

// addNeighbor creates load balancers of another cluster, for Services with the
// names of ours.
func (s *environment) addNeighbor() {
	theirs := map[string]string{sim.ClusterTag(neighbor): "owned"}
	group := s.AddSecurityGroup(sim.SecurityGroupSpec{VPC: s.seed.VPC, Name: "nodes." + neighbor, Tags: theirs})
	id := s.AddInstance(sim.InstanceSpec{Tags: theirs, InterfaceSpec: sim.InterfaceSpec{
		Subnet: s.seed.Private[s.seed.Zones[0]], Groups: []string{group},
	}})
	lb := s.provider(nil, managedGroups, func(c *loadBalancerConfig) { c.Settings.Cluster.Name = neighbor })
	common := annotate(request.AnnotationSubnets, "public-us-west-2a,public-us-west-2b")
	nodes := nodesOf(id)
	s.must(ensured(lb, web(kubetest.ServiceUID(webUID[:34]+"aa"), common, nlb(), annotate(request.AnnotationHealthCheckPort, "10256")), nodes))
	s.must(ensured(lb, web(kubetest.ServiceUID(webUID[:34]+"bb"), common, annotate(request.AnnotationSecurityGroups, broughtGroup)), nodes))
	s.must(ensured(lb, apiService(kubetest.ServiceUID(webUID[:34]+"cc"), common), nodes))
}

// addPeers creates load balancers for two more Services of the cluster.
func (s *environment) addPeers() {
	lb := s.provider(nil)
	s.must(ensured(lb, apiService(nlb(), annotate(request.AnnotationHealthCheckPort, "10256")), s.nodes[:5]))
	s.must(ensured(lb, kubetest.Service("default", "db",
		kubetest.ServiceUID("bbbbbbbb-1111-2222-3333-444455556666"), kubetest.Port(v1.ProtocolTCP, 5432),
		annotate(request.AnnotationSecurityGroups, broughtGroup)), s.nodes[:5]))
}

func ensured(lb *loadBalancer, svc *v1.Service, nodes []*v1.Node) error {
	_, err := lb.EnsureLoadBalancer(context.Background(), flagged, svc, nodes)

	return err
}

func (s *environment) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// provider makes the load balancers of a process that has just started: it knows
// nothing of what another one did. The replayer handles its calls, if there is
// one.
func (s *environment) provider(p *replayer, settings ...func(*loadBalancerConfig)) *loadBalancer {
	s.t.Helper()
	s.replayer = p
	clients, err := s.base.In(context.Background(), s.Region())
	s.must(err)
	id := cluster.ID{Name: demo}
	config := loadBalancerConfig{
		Settings: request.Config{Cluster: id, VPC: s.seed.VPC, SharedProbePort: 10256, SharedProbePath: "/healthz"},
		EC2:      clients.EC2, ELB: clients.ELB, ELBV2: clients.ELBV2,
		Network: vpc.NewNetwork(clients.EC2, s.seed.VPC, vpc.NewZones(clients.EC2)),
		// Each poll takes a second of the region's clock. The limit is for a machine
		// that is busy otherwise.
		Tuning: loadBalancerTuning{Wait: change.Wait{Interval: time.Millisecond, Limit: 20 * time.Second}},
	}
	for _, set := range append([]func(*loadBalancerConfig){s.settings.set}, settings...) {
		set(&config)
	}
	config.Instances = inventory.New(clients.EC2, inventory.Config{
		Cluster: config.Settings.Cluster, VPC: s.seed.VPC, Window: time.Nanosecond, Clock: s.clock,
	})
	lb := newLoadBalancer(config)
	lb.services.SetRecorder(&record.FakeRecorder{})
	lb.services.SetClients(kubeBuilder{}) // it has no Services

	return lb
}

// pick returns nodes by number.
func (s *environment) pick(numbers []int) []*v1.Node {
	var nodes []*v1.Node
	for _, n := range numbers {
		nodes = append(nodes, s.nodes[n])
	}

	return nodes
}

// regionState is all that exists.
type regionState struct {
	dump  string
	leaks string
}

// described is a state as it was described after a number of calls, at a time.
type described struct {
	calls int
	at    time.Time
	state regionState
}

// state describes what exists, once for all who need it before the next call.
// What changes the region in another way has to drop the last description.
func (s *environment) state() regionState {
	calls, at := s.Interceptor().Total(), s.clock.Now()
	if last := s.described; last == nil || last.calls != calls || !last.at.Equal(at) {
		s.described = &described{calls, at, regionState{s.Dump(), strings.Join(s.Leaks(), "\n")}}
	}

	return s.described.state
}

// lost are the lines of a state that are not in another one.
func (s regionState) lost(later regionState) []string {
	there := map[string]bool{}
	for line := range strings.Lines(later.dump) {
		there[line] = true
	}
	gone := map[string]bool{}
	for line := range strings.Lines(s.dump) {
		if !there[line] {
			gone[line] = true
		}
	}

	return slices.Sorted(maps.Keys(gone))
}

// blocked is the traffic that passes no load balancer of the cluster.
func (s *environment) blocked() []string {
	return slices.Concat(s.BlockedTraffic(webName), s.BlockedTraffic(apiName), s.BlockedTraffic(dbName))
}
