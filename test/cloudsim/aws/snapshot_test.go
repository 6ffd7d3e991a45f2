package aws

import (
	"context"
	"reflect"
	"testing"
	"time"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// bind is a call with its input.
func bind[I, O, P any](call func(context.Context, *I, ...P) (*O, error), in *I) func(context.Context) (*O, error) {
	return func(ctx context.Context) (*O, error) { return call(ctx, in) }
}

// populate makes one of everything that a load balancer can have.
func populate(k *balancing) {
	k.t.Helper()
	group := k.group("front")
	k.AddRule(group, Rule{Protocol: "tcp", From: 80, To: 80, Source: "10.0.0.0/8"})
	ok(k, bind(k.elb.CreateLoadBalancer, k.web()))
	ok(k, bind(k.elb.RegisterInstancesWithLoadBalancer, &elb.RegisterInstancesWithLoadBalancerInput{
		LoadBalancerName: new("web"), Instances: []elbtypes.Instance{{InstanceId: &k.nodes[0]}, {InstanceId: &k.nodes[1]}},
	}))
	made := ok(k, bind(k.v2.CreateLoadBalancer, &elbv2.CreateLoadBalancerInput{
		Name: new("net"), Type: elbv2types.LoadBalancerTypeEnumNetwork, Subnets: k.public(), SecurityGroups: []string{group},
	}))
	targets := ok(k, bind(k.v2.CreateTargetGroup, &elbv2.CreateTargetGroupInput{
		Name: new("targets"), VpcId: &k.seed.VPC, Protocol: elbv2types.ProtocolEnumTcp, Port: new(int32(30080)),
		TargetType: elbv2types.TargetTypeEnumInstance,
	}))
	arn := targets.TargetGroups[0].TargetGroupArn
	ok(k, bind(k.v2.RegisterTargets, &elbv2.RegisterTargetsInput{
		TargetGroupArn: arn, Targets: []elbv2types.TargetDescription{{Id: &k.nodes[0]}},
	}))
	ok(k, bind(k.v2.CreateListener, &elbv2.CreateListenerInput{
		LoadBalancerArn: made.LoadBalancers[0].LoadBalancerArn, Port: new(int32(80)), Protocol: elbv2types.ProtocolEnumTcp,
		DefaultActions: []elbv2types.Action{{Type: elbv2types.ActionTypeEnumForward, TargetGroupArn: arn}},
	}))
}

// A copy has nothing in common with what it was made of, so that neither changes
// with the other.
func TestSnapshotSharesNothing(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	populate(k)
	k.SetDrainingDelay(time.Second)
	k.AddFargate(FargateSpec{Subnet: k.seed.Private[k.seed.Zones[0]], Groups: []string{k.seed.NodeGroup}})
	k.AddAllocation()
	snapshot := k.Snapshot()
	parts := map[uintptr]string{}
	walk(reflect.ValueOf(k.Cloud.ec2), "ec2", func(at uintptr, path string) { parts[at] = path })
	walk(reflect.ValueOf(k.balancers), "balancers", func(at uintptr, path string) { parts[at] = path })
	if len(parts) < 50 {
		t.Fatalf("only %d parts found", len(parts))
	}
	shared := func(at uintptr, path string) {
		if of, ok := parts[at]; ok {
			t.Errorf("%s of the snapshot is %s of the cloud", path, of)
		}
	}
	walk(reflect.ValueOf(snapshot.ec2), "ec2", shared)
	walk(reflect.ValueOf(snapshot.balancers), "balancers", shared)
}

// walk visits everything mutable that a value refers to.
func walk(v reflect.Value, path string, visit func(at uintptr, path string)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && v.Type().Elem().PkgPath() == reflect.TypeFor[Cloud]().PkgPath() {
			visit(v.Pointer(), path)
			walk(v.Elem(), path, visit)
		}
	case reflect.Slice:
		if v.Len() > 0 {
			visit(v.Pointer(), path)
		}
		for i := range v.Len() {
			walk(v.Index(i), path+"[]", visit)
		}
	case reflect.Map:
		if !v.IsNil() {
			visit(v.Pointer(), path)
		}
		for each := v.MapRange(); each.Next(); {
			walk(each.Value(), path+"{}", visit)
		}
	case reflect.Struct:
		if v.Type().PkgPath() != reflect.TypeFor[Cloud]().PkgPath() {
			return // such as time.Time, which is immutable
		}
		for i := range v.NumField() {
			walk(v.Field(i), path+"."+v.Type().Field(i).Name, visit)
		}
	default: // a plain value
	}
}
