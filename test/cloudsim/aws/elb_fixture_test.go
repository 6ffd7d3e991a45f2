package aws

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	testingclock "k8s.io/utils/clock/testing"
)

const testCertificate = "arn:aws:acm:us-west-2:123456789012:certificate/0a1b2c3d-0000-1111-2222-333344445555"

// balancing is a region with a cluster, a clock that stands still, and the real
// clients.
type balancing struct {
	*Cloud
	t     *testing.T
	seed  *Seed
	nodes []string
	clock *testingclock.FakePassiveClock
	elb   *elb.Client
	v2    *elbv2.Client
	ec2   *ec2.Client
}

func startBalancing(t *testing.T, opts Options) *balancing {
	t.Helper()
	k := &balancing{t: t, clock: testingclock.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))}
	opts.Clock = k.clock
	if opts.Delays == nil {
		opts.Delays = new(Delays) // each is tested by itself
	}
	k.Cloud = start(t, opts)
	k.seed = k.Seed("demo")
	k.nodes = k.seed.AddNodes(3)
	client := config(t, k.Cloud)
	k.elb, k.v2, k.ec2 = elb.NewFromConfig(client), elbv2.NewFromConfig(client), ec2.NewFromConfig(client)

	return k
}

// ok returns the result of a call that must succeed.
func ok[T any](k *balancing, call func(context.Context) (T, error)) T {
	k.t.Helper()
	out, err := call(k.t.Context())
	if err != nil {
		k.t.Fatal(err)
	}

	return out
}

// sleep lets time pass.
func (k *balancing) sleep(d time.Duration) { k.clock.SetTime(k.clock.Now().Add(d)) }

func (k *balancing) group(name string) string {
	return k.AddSecurityGroup(SecurityGroupSpec{VPC: k.seed.VPC, Name: name, Description: name})
}

func (k *balancing) public() []string {
	var ids []string
	for _, zone := range k.seed.Zones {
		ids = append(ids, k.seed.Public[zone])
	}

	return ids
}

// web is a classic load balancer as the provider makes them.
func (k *balancing) web() *elb.CreateLoadBalancerInput {
	return &elb.CreateLoadBalancerInput{
		LoadBalancerName: new("web"), Subnets: k.public(), SecurityGroups: []string{k.seed.NodeGroup},
		Listeners: []elbtypes.Listener{
			{Protocol: new("tcp"), LoadBalancerPort: 80, InstanceProtocol: new("tcp"), InstancePort: new(int32(30080))},
		},
		Tags: []elbtypes.Tag{{Key: new("kubernetes.io/cluster/demo"), Value: new("owned")}},
	}
}

func (k *balancing) createWeb(change func(*elb.CreateLoadBalancerInput)) *elb.CreateLoadBalancerOutput {
	k.t.Helper()
	in := k.web()
	if change != nil {
		change(in)
	}

	return ok(k, func(ctx context.Context) (*elb.CreateLoadBalancerOutput, error) {
		return k.elb.CreateLoadBalancer(ctx, in)
	})
}

// tlsListener is a listener that terminates TLS.
func tlsListener(port int32) elbtypes.Listener {
	return elbtypes.Listener{
		Protocol: new("SSL"), LoadBalancerPort: port, InstanceProtocol: new("TCP"), InstancePort: new(int32(30443)),
		SSLCertificateId: new(testCertificate),
	}
}

// net is a network load balancer as the provider makes them.
func (k *balancing) net() *elbv2.CreateLoadBalancerInput {
	in := &elbv2.CreateLoadBalancerInput{
		Name: new("net"), Type: elbv2types.LoadBalancerTypeEnumNetwork,
		Tags: []elbv2types.Tag{{Key: new("kubernetes.io/cluster/demo"), Value: new("owned")}},
	}
	for _, id := range k.public() {
		in.SubnetMappings = append(in.SubnetMappings, elbv2types.SubnetMapping{SubnetId: new(id)})
	}

	return in
}

// createNet returns the ARN of a new network load balancer.
func (k *balancing) createNet(change func(*elbv2.CreateLoadBalancerInput)) string {
	k.t.Helper()
	in := k.net()
	if change != nil {
		change(in)
	}
	out := ok(k, func(ctx context.Context) (*elbv2.CreateLoadBalancerOutput, error) {
		return k.v2.CreateLoadBalancer(ctx, in)
	})

	return *out.LoadBalancers[0].LoadBalancerArn
}

func (k *balancing) group80(name string) *elbv2.CreateTargetGroupInput {
	return &elbv2.CreateTargetGroupInput{
		Name: new(name), Protocol: elbv2types.ProtocolEnumTcp, Port: new(int32(30080)), VpcId: new(k.seed.VPC),
		TargetType: elbv2types.TargetTypeEnumInstance,
	}
}

// createGroup returns the ARN of a new target group.
func (k *balancing) createGroup(name string, change func(*elbv2.CreateTargetGroupInput)) string {
	k.t.Helper()
	in := k.group80(name)
	if change != nil {
		change(in)
	}
	out := ok(k, func(ctx context.Context) (*elbv2.CreateTargetGroupOutput, error) {
		return k.v2.CreateTargetGroup(ctx, in)
	})

	return *out.TargetGroups[0].TargetGroupArn
}

func listenerInput(balancer, group string, port int32) *elbv2.CreateListenerInput {
	return &elbv2.CreateListenerInput{
		LoadBalancerArn: new(balancer), Port: new(port), Protocol: elbv2types.ProtocolEnumTcp,
		DefaultActions: []elbv2types.Action{{Type: elbv2types.ActionTypeEnumForward, TargetGroupArn: new(group)}},
	}
}

// listen returns the ARN of a new TCP listener.
func (k *balancing) listen(balancer, group string, port int32) string {
	k.t.Helper()
	out := ok(k, func(ctx context.Context) (*elbv2.CreateListenerOutput, error) {
		return k.v2.CreateListener(ctx, listenerInput(balancer, group, port))
	})

	return *out.Listeners[0].ListenerArn
}

// targets names instances as targets.
func targets(ids ...string) []elbv2types.TargetDescription {
	var out []elbv2types.TargetDescription
	for _, id := range ids {
		out = append(out, elbv2types.TargetDescription{Id: new(id)})
	}

	return out
}

func (k *balancing) register(group string, ids ...string) error {
	_, err := k.v2.RegisterTargets(k.t.Context(), &elbv2.RegisterTargetsInput{TargetGroupArn: new(group), Targets: targets(ids...)})

	return err
}

func (k *balancing) deregister(group string, ids ...string) error {
	_, err := k.v2.DeregisterTargets(k.t.Context(), &elbv2.DeregisterTargetsInput{TargetGroupArn: new(group), Targets: targets(ids...)})

	return err
}

// rejection is a call that AWS rejects.
type rejection struct {
	reason string
	call   func(*balancing) error
	code   string
}

// rejected runs the calls, each on a region of its own.
func rejected(t *testing.T, cases map[string]rejection) {
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := startBalancing(t, Options{})
			if got := code(tc.call(k)); got != tc.code {
				t.Errorf("got error code %q, want %q (%s)", got, tc.code, tc.reason)
			}
		})
	}
}
