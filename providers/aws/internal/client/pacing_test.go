package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
)

// workers runs a function that many times at once and waits for all of them.
func workers(n int, run func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { run(i) })
	}
	all.Wait()
}

func describeGroups(ctx context.Context, c *Clients) error {
	_, err := c.ELBV2.DescribeTargetGroups(ctx, &elbv2.DescribeTargetGroupsInput{})

	return err
}

func createClassic(ctx context.Context, c *Clients) error {
	_, err := c.ELB.CreateLoadBalancer(ctx, &elb.CreateLoadBalancerInput{
		LoadBalancerName: new("a"), Listeners: []elbtypes.Listener{{Protocol: new("TCP"), LoadBalancerPort: 80, InstancePort: new(int32(80))}},
	})

	return err
}

// Callers that come back as the service controller does, after 5 s and twice as
// long each time, are done soon after the end of a storm.
func TestCallsSucceedSoonAfterAThrottlingStorm(t *testing.T) {
	virtualKeys(t)
	for _, callers := range []int{1, 10} {
		t.Run(fmt.Sprintf("%d callers", callers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const storm = 40 * time.Second
				cloud := newVirtualCloud()
				cloud.latency = 100 * time.Millisecond
				began := time.Now()
				cloud.throttles = func(Service, string) bool { return time.Since(began) < storm }
				clients := cloud.clients(t, Tuning{})
				workers(callers, func(int) {
					calls := []func(context.Context, *Clients) error{describeGroups, createClassic, describeGroups, describeGroups}
					for backoff := 5 * time.Second; len(calls) > 0; {
						if err := calls[0](t.Context(), clients); err == nil {
							calls = calls[1:]

							continue
						}
						time.Sleep(backoff)
						backoff *= 2
					}
				})
				if took := time.Since(began) - storm; took > 10*time.Second {
					t.Errorf("the calls were done %s after the storm, want at most 10s", took)
				}
				if _, throttled := cloud.counts(ServiceELBV2); throttled > 4*int(storm/time.Second) {
					t.Errorf("%d requests were throttled, want at most 4 a second", throttled)
				}
			})
		})
	}
}

// What one class waits for delays no other service, and no other class.
func TestThrottlingSlowsItsOwnClassOnly(t *testing.T) {
	virtualKeys(t)
	synctest.Test(t, func(t *testing.T) {
		cloud := newVirtualCloud()
		cloud.throttles = func(s Service, action string) bool { return s == ServiceELBV2 && action == "DescribeTargetGroups" }
		clients := cloud.clients(t, Tuning{})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if err := describeGroups(ctx, clients); err == nil {
					t.Error("the call of a throttled class succeeded")
				}
			})
		}
		time.Sleep(10 * time.Second)
		for range 10 {
			began := time.Now()
			_, nodes := clients.EC2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{"i-1"}})
			_, writes := clients.ELBV2.DeleteTargetGroup(ctx, &elbv2.DeleteTargetGroupInput{TargetGroupArn: new("a")})
			_, classic := clients.ELB.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{})
			if err := errors.Join(nodes, writes, classic); err != nil || time.Since(began) > 0 {
				t.Errorf("the others waited %s: %v", time.Since(began), err)
			}
		}
		cancel()
		all.Wait()
	})
}

// Another process that uses up most of the bucket, or more than is in it, slows
// the calls down, and each of them succeeds.
func TestForeignLoadFailsNoCall(t *testing.T) {
	virtualKeys(t)
	cases := map[string]struct {
		reason         string
		foreign, least float64
		failures       int64
	}{
		"half of the bucket":     {"the other half is ours", 5, 4, 0},
		"most of the bucket":     {"the rest is ours", 8, 1.6, 0},
		"more than is in it":     {"each request wins a share", 12, 0.8, 0},
		"twice what there is":    {"each request wins a share, a late one may come too late", 20, 0.4, 2},
		"no foreign load at all": {"all of it is ours", 0, 9, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const period = time.Minute
				cloud := newVirtualCloud()
				cloud.latency = 50 * time.Millisecond
				clients := cloud.clients(t, Tuning{})
				end := time.Now().Add(period)
				if tc.foreign > 0 {
					go cloud.load(end, tc.foreign)
				}
				var failed atomic.Int64
				workers(5, func(int) {
					for time.Now().Before(end) {
						if err := describeGroups(t.Context(), clients); err != nil {
							failed.Add(1)
						}
					}
				})
				accepted, throttled := cloud.counts(ServiceELBV2)
				t.Logf("%d requests were accepted and %d throttled, %d calls failed", accepted, throttled, failed.Load())
				if got := float64(accepted) / period.Seconds(); got < tc.least || failed.Load() > tc.failures {
					t.Errorf("%s: %.2f calls succeeded a second, %d failed, want at least %.2f and at most %d",
						tc.reason, got, failed.Load(), tc.least, tc.failures)
				}
			})
		})
	}
}
