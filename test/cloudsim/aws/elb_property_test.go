package aws

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestBalancersLeaveNothing: after any calls in any order, rejected or not,
// every load balancer has one network interface per subnet, what is left can be
// deleted, and then the region is as it was.
func TestBalancersLeaveNothing(t *testing.T) {
	t.Parallel()
	// Thousands of calls are made while the clock stands still.
	k := startBalancing(t, Options{DisableThrottling: true})
	before, interfacesBefore := k.Dump(), countInterfaces(t, k)
	rapid.Check(t, func(rt *rapid.T) {
		random := randomBalancing{balancing: k, t: rt}
		rt.Repeat(map[string]func(*rapid.T){
			"classic":  random.classic,
			"network":  random.network,
			"subnets":  random.subnets,
			"group":    random.targetGroup,
			"listener": random.listener,
			"modify":   random.modify,
			"targets":  random.targets,
			"delete":   random.remove,
			"":         random.check,
		})
		random.removeAll()
		if diff := cmp.Diff(before, k.Dump()); diff != "" {
			rt.Errorf("after deleting everything, -before +after:\n%s", diff)
		}
		if n := countInterfaces(t, k); n != interfacesBefore {
			rt.Errorf("%d network interfaces are left, want %d", n, interfacesBefore)
		}
	})
}

func countInterfaces(t *testing.T, k *balancing) int {
	out, err := k.ec2.DescribeNetworkInterfaces(t.Context(), &ec2.DescribeNetworkInterfacesInput{})
	if err != nil {
		t.Fatal(err)
	}

	return len(out.NetworkInterfaces)
}

// randomBalancing makes random calls and ignores their responses.
type randomBalancing struct {
	*balancing
	t *rapid.T
}

func (r *randomBalancing) some(rt *rapid.T, of []string) []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(of), 1, len(of), rapid.ID).Draw(rt, "some")
}

func (r *randomBalancing) classic(rt *rapid.T) {
	in := r.web()
	in.LoadBalancerName = new(rapid.SampledFrom([]string{"web-a", "web-b"}).Draw(rt, "name"))
	in.Subnets = r.some(rt, append(r.public(), r.seed.Private["us-west-2a"]))
	_, _ = r.elb.CreateLoadBalancer(r.balancing.t.Context(), in)
}

func (r *randomBalancing) network(rt *rapid.T) {
	in := r.net()
	in.Name = new(rapid.SampledFrom([]string{"net-a", "net-b"}).Draw(rt, "name"))
	in.SubnetMappings = nil
	in.Subnets = r.some(rt, append(r.public(), r.seed.Private["us-west-2a"]))
	_, _ = r.v2.CreateLoadBalancer(r.balancing.t.Context(), in)
}

func (r *randomBalancing) subnets(rt *rapid.T) {
	ids := r.some(rt, r.public())
	ctx := r.balancing.t.Context()
	switch name := rapid.SampledFrom([]string{"web-a", "web-b", "net-a", "net-b"}).Draw(rt, "name"); {
	case name[:3] == "net":
		if n, found := r.Network(name); found {
			_, _ = r.v2.SetSubnets(ctx, &elbv2.SetSubnetsInput{LoadBalancerArn: new(n.ARN), Subnets: ids})
		}
	case rapid.Bool().Draw(rt, "attach"):
		_, _ = r.elb.AttachLoadBalancerToSubnets(ctx, &elb.AttachLoadBalancerToSubnetsInput{LoadBalancerName: new(name), Subnets: ids})
	default:
		_, _ = r.elb.DetachLoadBalancerFromSubnets(ctx, &elb.DetachLoadBalancerFromSubnetsInput{LoadBalancerName: new(name), Subnets: ids})
	}
}

func (r *randomBalancing) targetGroup(rt *rapid.T) {
	in := r.group80(rapid.SampledFrom([]string{"group-a", "group-b"}).Draw(rt, "name"))
	in.Protocol = elbv2types.ProtocolEnum(rapid.SampledFrom([]string{"TCP", "UDP"}).Draw(rt, "protocol"))
	_, _ = r.v2.CreateTargetGroup(r.balancing.t.Context(), in)
}

// anyGroup returns a target group, if there is one.
func (r *randomBalancing) anyGroup(rt *rapid.T) TargetGroup {
	groups := r.TargetGroups()
	if len(groups) == 0 {
		rt.Skip("no target group")
	}

	return rapid.SampledFrom(groups).Draw(rt, "group")
}

func (r *randomBalancing) listener(rt *rapid.T) {
	n, found := r.Network(rapid.SampledFrom([]string{"net-a", "net-b"}).Draw(rt, "name"))
	if !found {
		rt.Skip("no load balancer")
	}
	in := listenerInput(n.ARN, r.anyGroup(rt).ARN, rapid.Int32Range(80, 81).Draw(rt, "port"))
	_, _ = r.v2.CreateListener(r.balancing.t.Context(), in)
}

func (r *randomBalancing) modify(rt *rapid.T) {
	n, _ := r.Network("net-a")
	if len(n.Listeners) == 0 {
		rt.Skip("no listener")
	}
	in := listenerInput(n.ARN, r.anyGroup(rt).ARN, 80)
	_, _ = r.v2.ModifyListener(r.balancing.t.Context(), &elbv2.ModifyListenerInput{ListenerArn: new(n.Listeners[0].ARN), DefaultActions: in.DefaultActions})
}

func (r *randomBalancing) targets(rt *rapid.T) {
	group, ids := r.anyGroup(rt).ARN, r.some(rt, r.nodes)
	if rapid.Bool().Draw(rt, "register") {
		_ = r.register(group, ids...)
	} else {
		_ = r.deregister(group, ids...)
	}
}

func (r *randomBalancing) remove(rt *rapid.T) {
	name := rapid.SampledFrom([]string{"web-a", "web-b", "net-a", "net-b", "group-a", "group-b"}).Draw(rt, "name")
	_ = r.delete(name)
}

func (r *randomBalancing) delete(name string) error {
	ctx := r.balancing.t.Context()
	if n, found := r.Network(name); found {
		return r.deleteNet(n.ARN)
	}
	for _, g := range r.TargetGroups() {
		if g.Name == name {
			_, err := r.v2.DeleteTargetGroup(ctx, &elbv2.DeleteTargetGroupInput{TargetGroupArn: new(g.ARN)})

			return err
		}
	}
	_, err := r.elb.DeleteLoadBalancer(ctx, &elb.DeleteLoadBalancerInput{LoadBalancerName: new(name)})

	return err
}

// check compares the load balancers with their network interfaces, and the
// target groups with the listeners.
func (r *randomBalancing) check(rt *rapid.T) {
	want := make(map[string]int)
	classic, network := r.LoadBalancers()
	for _, name := range classic {
		b, _ := r.Classic(name)
		for _, subnet := range b.Subnets {
			want[fmt.Sprint("ELB ", name, " ", subnet)]++
		}
	}
	for _, name := range network {
		n, _ := r.Network(name)
		for _, m := range n.Mappings {
			want[fmt.Sprint("ELB ", n.ARN[len(r.balancerARN("loadbalancer/")):], " ", m.Subnet)]++
		}
	}
	got := make(map[string]int)
	r.inspect(func() {
		for _, eni := range r.Cloud.ec2.interfaces.all() {
			if eni.requester != "" {
				got[fmt.Sprint(eni.description, " ", eni.subnet)]++
			}
		}
	})
	if diff := cmp.Diff(want, got); diff != "" {
		rt.Errorf("network interfaces by load balancer and subnet, -want +got:\n%s", diff)
	}
}

// removeAll deletes load balancers before target groups, none of which is in
// use then.
func (r *randomBalancing) removeAll() {
	for _, name := range []string{"web-a", "web-b", "net-a", "net-b", "group-a", "group-b"} {
		if err := r.delete(name); err != nil {
			r.t.Errorf("delete %s: %v", name, err)
		}
	}
}
