package aws

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// everyKind makes one resource of each kind.
func everyKind(k *balancing) {
	k.createWeb(func(in *elb.CreateLoadBalancerInput) { in.Listeners = append(in.Listeners, tlsListener(443)) })
	ok(k, func(ctx context.Context) (*elb.RegisterInstancesWithLoadBalancerOutput, error) {
		return k.elb.RegisterInstancesWithLoadBalancer(ctx, &elb.RegisterInstancesWithLoadBalancerInput{
			LoadBalancerName: new("web"), Instances: []elbtypes.Instance{{InstanceId: new(k.nodes[1])}},
		})
	})
	group := k.createGroup("k8s-default-web-0", local)
	k.listen(k.createNet(nil), group, 80)
	if err := k.register(group, k.nodes[0], k.nodes[2]); err != nil {
		k.t.Fatal(err)
	}
}

func TestDump(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	everyKind(k)
	got := k.Dump()
	golden := filepath.Join("testdata", "dump.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestDumpIsWithoutIDs(t *testing.T) {
	t.Parallel()
	first, second := startBalancing(t, Options{}), startBalancing(t, Options{})
	everyKind(first)
	wantCode(t, second.deleteNet(second.createNet(nil)), "") // shifts all that is random
	everyKind(second)
	if diff := cmp.Diff(first.Dump(), second.Dump()); diff != "" {
		t.Errorf("two clouds with the same resources, -first +second:\n%s", diff)
	}
}

func TestBalancerLeaks(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	before := k.Leaks()
	everyKind(k)
	want := []string{
		"listener classic web SSL 443",
		"listener classic web TCP 80",
		"listener network net TCP 80",
		"load-balancer classic web",
		"load-balancer network net",
		"target-group k8s-default-web-0",
	}
	got := slices.DeleteFunc(k.Leaks(), func(line string) bool { return slices.Contains(before, line) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is left behind, -want +got:\n%s", diff)
	}
	if len(before) != 0 {
		t.Errorf("what the builder made leaks: %v", before)
	}
	classic, network := k.LoadBalancers()
	if !cmp.Equal(classic, []string{"web"}) || !cmp.Equal(network, []string{"net"}) {
		t.Errorf("load balancers %v and %v", classic, network)
	}
}

func TestBalancersAreEventuallyConsistent(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	k.SetConsistency(Consistency{Reads: 1})
	k.createWeb(nil)
	k.createNet(nil)
	classic := func() error {
		_, err := k.elb.DescribeLoadBalancers(t.Context(), &elb.DescribeLoadBalancersInput{LoadBalancerNames: []string{"web"}})

		return err
	}
	network := func() error {
		_, err := k.v2.DescribeLoadBalancers(t.Context(), &elbv2.DescribeLoadBalancersInput{Names: []string{"net"}})

		return err
	}
	for what, describe := range map[string]func() error{"classic": classic, "network": network} {
		if got := code(describe()); got != "LoadBalancerNotFound" {
			t.Errorf("%s: the first look finds it: %q", what, got)
		}
		if got := code(describe()); got != "" {
			t.Errorf("%s: the second look: %q", what, got)
		}
	}
}

func TestBalancersAreSparse(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	everyKind(k)
	k.SetSparse(true)
	n := describeNet(k)
	listeners := ok(k, func(ctx context.Context) (*elbv2.DescribeListenersOutput, error) {
		return k.v2.DescribeListeners(ctx, &elbv2.DescribeListenersInput{LoadBalancerArn: n.LoadBalancerArn})
	})
	web := describeWeb(k)
	if n.State != nil || len(listeners.Listeners[0].DefaultActions) != 0 || web.HealthCheck != nil || web.SourceSecurityGroup != nil {
		t.Errorf("got %+v, %+v and %+v", n, listeners, web)
	}
}

func TestBalancersAreThrottled(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	k.SetThrottle("elbv2.DescribeLoadBalancers", 1, 1)
	k.SetThrottle("elb", 1, 1)
	describe := func() (classic, network string) {
		_, err := k.elb.DescribeLoadBalancers(t.Context(), &elb.DescribeLoadBalancersInput{})
		_, err2 := k.v2.DescribeLoadBalancers(t.Context(), &elbv2.DescribeLoadBalancersInput{})

		return code(err), code(err2)
	}
	if classic, network := describe(); classic+network != "" {
		t.Errorf("the first calls: %q and %q", classic, network)
	}
	if classic, network := describe(); classic != "Throttling" || network != "ThrottlingException" {
		t.Errorf("the second calls: %q and %q", classic, network)
	}
	k.sleep(time.Second)
	if classic, network := describe(); classic+network != "" {
		t.Errorf("after a second: %q and %q", classic, network)
	}
}

func TestBalancerCallsAreCounted(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	everyKind(k)
	describeWeb(k)
	describeNet(k)
	want := map[string]int{
		"elb.CreateLoadBalancer": 1, "elb.RegisterInstancesWithLoadBalancer": 1, "elbv2.CreateLoadBalancer": 1,
		"elbv2.CreateTargetGroup": 1, "elbv2.CreateListener": 1, "elbv2.RegisterTargets": 1,
	}
	if diff := cmp.Diff(want, k.Writes()); diff != "" {
		t.Errorf("writes, -want +got:\n%s", diff)
	}
	k.Interceptor().Inject("elbv2.DeleteLoadBalancer", simserver.Nth(1), Throttled())
	n, _ := k.Network("net")
	wantCode(t, k.deleteNet(n.ARN), "ThrottlingException")
	if _, found := k.Network("net"); !found {
		t.Error("a failed call was applied")
	}
}

func TestBalancersOfManyCallers(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			in := k.net()
			in.Name = new("shared")
			if _, err := k.v2.CreateLoadBalancer(t.Context(), in); err != nil {
				t.Error(err)
			}
			if _, err := k.elb.CreateLoadBalancer(t.Context(), k.web()); err != nil {
				t.Error(err)
			}
			k.Dump()
			k.Network("shared")
			k.Classic("web")
		})
	}
	callers.Wait()
	if classic, network := k.LoadBalancers(); len(classic) != 1 || len(network) != 1 {
		t.Errorf("load balancers %v and %v, want one each", classic, network)
	}
}
