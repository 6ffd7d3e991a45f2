package client_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// TestThrottlingOverTheWire checks that what one API throttles slows that class
// of its operations only, and that a caller that gives up is not tried again.
func TestThrottlingOverTheWire(t *testing.T) {
	cloud, _ := start(t, sim.Options{})
	keys(t, cloud)
	fake := clocktesting.NewFakeClock(time.Now())
	waits := &waits{FakeClock: fake, seen: make(chan time.Duration, 1)}
	_, clients := connect(t, client.Options{
		Overrides: overrides(cloud), Tuning: client.Tuning{MaxBackoff: time.Millisecond, Clock: waits},
	})
	describe := func(ctx context.Context) <-chan error {
		done := make(chan error, 1)
		go func() {
			_, err := clients.ELBV2.DescribeLoadBalancers(ctx, &elbv2.DescribeLoadBalancersInput{})
			done <- err
		}()

		return done
	}

	cloud.Interceptor().Inject("elbv2.DescribeLoadBalancers", simserver.First(1), sim.Throttled())
	first := describe(t.Context())
	if backoff := <-waits.seen; backoff > 400*time.Millisecond {
		t.Errorf("the backoff before the second attempt is %s", backoff)
	}
	_, instances := clients.EC2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{})
	_, classic := clients.ELB.DescribeLoadBalancers(t.Context(), &elb.DescribeLoadBalancersInput{})
	_, writes := clients.ELBV2.DeleteTargetGroup(t.Context(), &elbv2.DeleteTargetGroupInput{TargetGroupArn: new("none")})
	if err := errors.Join(instances, classic); err != nil || apierr.Code(writes) == apierr.CodeThrottled || len(waits.seen) != 0 {
		t.Errorf("%d calls of other classes waited: %v, %v", len(waits.seen), err, writes)
	}
	fake.Step(400 * time.Millisecond)
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	if got := cloud.Interceptor().Count("elbv2.DescribeLoadBalancers"); got != 2 {
		t.Errorf("%d attempts, want 2", got)
	}

	fake.Step(time.Minute)
	cloud.Interceptor().Inject("elbv2.DescribeLoadBalancers", always, sim.Throttled())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	second := describe(ctx)
	<-waits.seen
	before := cloud.Interceptor().Count("elbv2.DescribeLoadBalancers")
	cancel()
	if err := <-second; apierr.Code(err) != apierr.CodeCanceled {
		t.Errorf("given up: %v", err)
	}
	if got := cloud.Interceptor().Count("elbv2.DescribeLoadBalancers"); got != before {
		t.Errorf("a call that is given up is not retried, got %d more attempts", got-before)
	}
}

// TestThrottledCallsAreTriedUntilTheySucceed checks that calls that are
// throttled more often than the SDK tries by itself succeed nevertheless.
func TestThrottledCallsAreTriedUntilTheySucceed(t *testing.T) {
	cloud, _ := start(t, sim.Options{})
	keys(t, cloud)
	_, clients := connect(t, client.Options{Overrides: overrides(cloud), Tuning: client.Tuning{Speed: 100}})
	cloud.Interceptor().Inject("elb.DescribeLoadBalancers", simserver.First(12), sim.Throttled())
	errs := make(chan error, 4)
	for range cap(errs) {
		go func() {
			_, err := clients.ELB.DescribeLoadBalancers(t.Context(), &elb.DescribeLoadBalancersInput{})
			errs <- err
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if got := cloud.Interceptor().Count("elb.DescribeLoadBalancers"); got != 16 {
		t.Errorf("%d attempts, want 16", got)
	}
}

// waits is a clock that reports the durations that are waited for.
type waits struct {
	*clocktesting.FakeClock
	seen chan time.Duration
}

func (w *waits) NewTimer(d time.Duration) clock.Timer {
	timer := w.FakeClock.NewTimer(d)
	w.seen <- d

	return timer
}
