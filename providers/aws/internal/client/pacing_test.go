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
	"golang.org/x/time/rate"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
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

// The observation of 100 NLB Services after a restart fits into the buckets of
// the documentation, however much the time on the way differs.
func TestReadsAfterARestartAreNotThrottled(t *testing.T) {
	virtualKeys(t)
	synctest.Test(t, func(t *testing.T) {
		cloud := newVirtualCloud()
		cloud.latency = 400 * time.Millisecond
		clients := cloud.clients(t, Tuning{})
		began := time.Now()
		workers(10, func(int) {
			for range 48 {
				if err := describeGroups(t.Context(), clients); err != nil {
					t.Error(err)
				}
			}
		})
		if accepted, throttled := cloud.counts(ServiceELBV2); accepted != 480 || throttled != 0 {
			t.Errorf("%d requests were accepted and %d throttled, want 480 and 0", accepted, throttled)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("took %s, want at most a minute", took)
		}
	})
}

// A handful of throttled responses costs seconds, and no call fails.
func TestThrottledCreationsSucceedWithinSeconds(t *testing.T) {
	virtualKeys(t)
	synctest.Test(t, func(t *testing.T) {
		cloud := newVirtualCloud()
		cloud.latency = 200 * time.Millisecond
		refused := 0
		cloud.refuses = func(Service, string) bool { refused++; return refused <= 12 }
		clients := cloud.clients(t, Tuning{})
		began := time.Now()
		workers(4, func(int) {
			if err := createClassic(t.Context(), clients); err != nil {
				t.Error(err)
			}
		})
		if accepted, throttled := cloud.counts(ServiceELB); accepted != 4 || throttled != 12 {
			t.Errorf("%d requests were accepted and %d throttled, want 4 and 12", accepted, throttled)
		}
		if took := time.Since(began); took > 8*time.Second {
			t.Errorf("took %s, want less than 8s", took)
		}
	})
}

// Callers that come back as the service controller does, after 5 s and twice as
// long each time, are done soon after the end of a storm.
func TestStormIsOverSoonAfterItsEnd(t *testing.T) {
	virtualKeys(t)
	for _, callers := range []int{1, 10} {
		t.Run(fmt.Sprintf("%d callers", callers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const storm = 40 * time.Second
				cloud := newVirtualCloud()
				cloud.latency = 100 * time.Millisecond
				began := time.Now()
				cloud.refuses = func(Service, string) bool { return time.Since(began) < storm }
				clients := cloud.clients(t, Tuning{})
				workers(callers, func(int) {
					for i, pause := 0, 5*time.Second; i < 5; {
						if err := errors.Join(describeGroups(t.Context(), clients), createClassic(t.Context(), clients)); err == nil {
							i++
							continue
						}
						time.Sleep(pause)
						pause *= 2
					}
				})
				if took := time.Since(began) - storm; took > 10*time.Second {
					t.Errorf("the calls were done %s after the storm, want at most 10s", took)
				}
				if _, throttled := cloud.counts(ServiceELBV2); throttled > 3*int(storm/time.Second) {
					t.Errorf("%d requests were throttled, want at most 3 a second", throttled)
				}
			})
		})
	}
}

// What one class waits for is no concern of another service, or of another class.
func TestThrottlingSlowsItsOwnClassOnly(t *testing.T) {
	virtualKeys(t)
	synctest.Test(t, func(t *testing.T) {
		cloud := newVirtualCloud()
		cloud.refuses = func(s Service, action string) bool { return s == ServiceELBV2 && action == "DescribeTargetGroups" }
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
// the calls down and starves none of them.
func TestForeignLoadStarvesNoCall(t *testing.T) {
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
				ctx, cancel := context.WithTimeout(t.Context(), period)
				defer cancel()
				if tc.foreign > 0 {
					go cloud.load(ctx, tc.foreign)
				}
				var failed atomic.Int64
				workers(5, func(int) {
					for ctx.Err() == nil {
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

// However long AWS throttles, a call ends within half of its caller's time, or
// half a minute, and says why.
func TestWaitingIsBounded(t *testing.T) {
	virtualKeys(t)
	cases := map[string]struct {
		reason  string
		timeout time.Duration
		least   time.Duration
		most    time.Duration
	}{
		"no deadline":   {"the bound of its own", 0, 25 * time.Second, 32 * time.Second},
		"far deadline":  {"the bound of its own", 10 * time.Minute, 25 * time.Second, 32 * time.Second},
		"20 s":          {"half of the time", 20 * time.Second, 7 * time.Second, 10 * time.Second},
		"near deadline": {"three attempts and their pauses", time.Second, 0, time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cloud := newVirtualCloud()
				cloud.refuses = func(Service, string) bool { return true }
				clients := cloud.clients(t, Tuning{})
				ctx := t.Context()
				if tc.timeout > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tc.timeout)
					defer cancel()
				}
				began := time.Now()
				err := createClassic(ctx, clients)
				if !errors.Is(err, apierr.ErrThrottled) || Code(err) != "Throttling" {
					t.Errorf("%s: code %q: %v", tc.reason, Code(err), err)
				}
				if took := time.Since(began); took < tc.least || took > tc.most {
					t.Errorf("%s: took %s, want between %s and %s", tc.reason, took, tc.least, tc.most)
				}
				if _, throttled := cloud.counts(ServiceELB); throttled < 3 || throttled > mostAttempts {
					t.Errorf("%s: %d attempts", tc.reason, throttled)
				}
			})
		})
	}
}

// Callers for whom the bucket has no token in time fail without a request: those
// that are sent are not throttled.
func TestCallersWithoutATokenSendNothing(t *testing.T) {
	virtualKeys(t)
	synctest.Test(t, func(t *testing.T) {
		cloud := newVirtualCloud()
		clients := cloud.clients(t, Tuning{})
		began := time.Now()
		var failed atomic.Int64
		workers(500, func(int) {
			if err := describeGroups(t.Context(), clients); err != nil {
				failed.Add(1)
				if !errors.Is(err, apierr.ErrThrottled) || Code(err) != "" {
					t.Errorf("code %q: %v", Code(err), err)
				}
			}
		})
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("took %s, want at most 30s", took)
		}
		accepted, throttled := cloud.counts(ServiceELBV2)
		if accepted+int(failed.Load()) != 500 || accepted < 300 || throttled != 0 {
			t.Errorf("%d requests were accepted, %d throttled, and %d calls failed", accepted, throttled, failed.Load())
		}
	})
}

// Tests of other packages make thousands of calls and have no time to wait.
func TestPacingIsOffBelowASecond(t *testing.T) {
	virtualKeys(t)
	synctest.Test(t, func(t *testing.T) {
		cloud := newVirtualCloud()
		clients := cloud.clients(t, Tuning{MaxBackoff: time.Nanosecond, ThrottleDelay: time.Millisecond})
		began, throttled := time.Now(), 0
		for range 100 {
			if err := describeGroups(t.Context(), clients); errors.Is(err, apierr.ErrThrottled) {
				throttled++
			}
		}
		if _, attempts := cloud.counts(ServiceELBV2); throttled != 60 || attempts != 3*60 || time.Since(began) != 0 {
			t.Errorf("%d of 100 calls were throttled, in %d attempts, in %s, want 60 with 3 each and no time", throttled, attempts, time.Since(began))
		}
	})
}

// Scale tests run faster than real time.
func TestSpeedScalesTheBuckets(t *testing.T) {
	virtualKeys(t)
	synctest.Test(t, func(t *testing.T) {
		cloud := newVirtualCloud()
		cloud.buckets[string(ServiceELBV2)] = rate.NewLimiter(1000, 40)
		clients := cloud.clients(t, Tuning{Speed: 100})
		began := time.Now()
		for range 480 {
			if err := describeGroups(t.Context(), clients); err != nil {
				t.Fatal(err)
			}
		}
		if _, throttled := cloud.counts(ServiceELBV2); throttled != 0 || time.Since(began) > 600*time.Millisecond {
			t.Errorf("%d requests were throttled in %s, want 0 in at most 600ms", throttled, time.Since(began))
		}
	})
}
