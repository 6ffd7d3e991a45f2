package snapshot

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

func TestMain(m *testing.M) { awstest.Main(m) }

// fixture is a Snapshot of a simulated region, in virtual time.
type fixture struct {
	*Snapshot

	t      testing.TB
	region *awstest.Region
	// others writes without the Snapshot, as another process does.
	others client.ELBV2
}

// run runs a test with a Snapshot that has not read anything yet.
func run(t *testing.T, test func(f *fixture)) {
	t.Helper()
	region := awstest.Start(t, awstest.Unthrottled())
	// Some tests have more load balancers than there may be by default.
	region.SetQuotas(sim.Quotas{NetworkLoadBalancers: 500})
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{t: t, region: region}
		f.region.Interceptor().SetLatency(30 * time.Millisecond)
		f.others = f.api()
		f.restart()
		test(f)
	})
}

// restart replaces the Snapshot by one that has not read anything yet.
func (f *fixture) restart() { f.Snapshot = New(f.api(), Options{}) }

func (f *fixture) api() client.ELBV2 {
	f.t.Helper()

	return f.region.Connect(f.t, client.Options{Tuning: client.Tuning{ThrottleDelay: 1}}).ELBV2
}

// name is that of a load balancer of a Service.
func name(i int) string { return fmt.Sprintf("a%031x", i) }

// addBalancer creates a load balancer through an API, and returns its ARN.
func (f *fixture) addBalancer(api client.ELBV2, name string, tags map[string]string) string {
	f.t.Helper()
	in := &elbv2.CreateLoadBalancerInput{
		Name: aws.String(name), Type: types.LoadBalancerTypeEnumNetwork, Subnets: []string{f.region.Cluster.Public[f.region.Cluster.Zones[0]]},
	}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		in.Tags = append(in.Tags, types.Tag{Key: aws.String(key), Value: aws.String(tags[key])})
	}
	out, err := api.CreateLoadBalancer(f.t.Context(), in)
	if err != nil {
		f.t.Fatal(err)
	}

	return aws.ToString(out.LoadBalancers[0].LoadBalancerArn)
}

// addGroup creates a target group through an API, and returns its ARN.
func (f *fixture) addGroup(api client.ELBV2, name string) string {
	f.t.Helper()
	out, err := api.CreateTargetGroup(f.t.Context(), f.group(name))
	if err != nil {
		f.t.Fatal(err)
	}

	return aws.ToString(out.TargetGroups[0].TargetGroupArn)
}

func (f *fixture) group(name string) *elbv2.CreateTargetGroupInput {
	return &elbv2.CreateTargetGroupInput{
		Name: aws.String(name), VpcId: aws.String(f.region.Cluster.VPC), Protocol: types.ProtocolEnumTcp,
		Port: aws.Int32(80), TargetType: types.TargetTypeEnumInstance,
	}
}

// addListener creates a listener through an API, and returns its ARN.
func (f *fixture) addListener(api client.ELBV2, balancer, group string, port int32) string {
	f.t.Helper()
	out, err := api.CreateListener(f.t.Context(), &elbv2.CreateListenerInput{
		LoadBalancerArn: aws.String(balancer), Protocol: types.ProtocolEnumTcp, Port: aws.Int32(port), DefaultActions: forwardTo(group),
	})
	if err != nil {
		f.t.Fatal(err)
	}

	return aws.ToString(out.Listeners[0].ListenerArn)
}

func forwardTo(group string) []types.Action {
	return []types.Action{{Type: types.ActionTypeEnumForward, TargetGroupArn: aws.String(group)}}
}

// must ends the test if there is an error.
func must[T any](f *fixture) func(T, error) T {
	return func(value T, err error) T {
		f.t.Helper()
		if err != nil {
			f.t.Fatal(err)
		}

		return value
	}
}

// balancer returns the ARN of a load balancer, empty if there is none.
func (f *fixture) balancer(name string) string {
	f.t.Helper()
	found := must[*types.LoadBalancer](f)(f.LoadBalancer(f.t.Context(), name))
	if found == nil {
		return ""
	}

	return aws.ToString(found.LoadBalancerArn)
}

// groupsOf returns the names of the target groups of a load balancer.
func (f *fixture) groupsOf(balancer string) []string {
	f.t.Helper()

	return names(must[[]types.TargetGroup](f)(f.TargetGroupsOf(f.t.Context(), balancer)))
}

// groupsNamed returns the names of the target groups that begin with a prefix.
func (f *fixture) groupsNamed(prefix string) []string {
	f.t.Helper()

	return names(must[[]types.TargetGroup](f)(f.TargetGroupsNamed(f.t.Context(), prefix, false)))
}

func names(groups []types.TargetGroup) []string {
	var all []string
	for _, group := range groups {
		all = append(all, aws.ToString(group.TargetGroupName))
	}

	return all
}

// calls checks the calls of f, by operation.
func (f *fixture) calls(reason string, want map[string]int, do func()) {
	f.t.Helper()
	f.region.Interceptor().Reset()
	do()
	if diff := cmp.Diff(want, f.region.Interceptor().Calls()); diff != "" {
		f.t.Errorf("%s: calls, -want +got:\n%s", reason, diff)
	}
}

// same compares what was read.
func same[T any](f *fixture, reason string, want, got T) {
	f.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		f.t.Errorf("%s: -want +got:\n%s", reason, diff)
	}
}
