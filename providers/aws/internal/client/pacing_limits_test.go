package client

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
)

func createNetwork(ctx context.Context, c *Clients) error {
	_, err := c.ELBV2.CreateLoadBalancer(ctx, &elbv2.CreateLoadBalancerInput{Name: new("a"), Subnets: []string{"subnet-1"}})

	return err
}

func deleteGroup(ctx context.Context, c *Clients) error {
	_, err := c.ELBV2.DeleteTargetGroup(ctx, &elbv2.DeleteTargetGroupInput{TargetGroupArn: new("a")})

	return err
}

// The buckets of an account may be smaller than the default: its throttled
// responses slow down the class that they are about until its calls succeed, and
// no other class.
func TestStricterLimitsOfAnAccountFailNoCall(t *testing.T) {
	virtualKeys(t)
	cases := map[string]struct {
		reason string
		call   func(context.Context, *Clients) error
		calls  int
		burst  int
		most   time.Duration
	}{
		"creations": {"two creations wait for 0.1 tokens a second", createNetwork, 7, 5, 25 * time.Second},
		"writes":    {"15 writes wait for 1.5 tokens a second", deleteGroup, 25, 10, 15 * time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cloud := newVirtualCloud()
				cloud.share, cloud.latency = 0.5, 50*time.Millisecond
				clients := cloud.clients(t, Tuning{})
				began, done := time.Now(), make(chan struct{})
				go func() {
					defer close(done)
					workers(tc.calls, func(int) {
						ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
						defer cancel()
						if err := tc.call(ctx, clients); err != nil {
							t.Errorf("%s: %v", tc.reason, err)
						}
					})
				}()
				time.Sleep(2 * time.Second)
				others(t, clients)
				<-done
				if took := time.Since(began); took > tc.most {
					t.Errorf("%s: took %s, want at most %s", tc.reason, took, tc.most)
				}
				_, throttled := cloud.counts(ServiceELBV2)
				if attempts := tc.calls * mostAttempts / 2; throttled < tc.calls-tc.burst || throttled > attempts {
					t.Errorf("%s: %d attempts were throttled, want %d to %d", tc.reason, throttled, tc.calls-tc.burst, attempts)
				}
			})
		})
	}
}

// The limits of an account may be higher than the default, which shows only by
// calls that are not throttled. An account without higher ones gets a few throttled
// responses for it. It covers AWS-API-10.
func TestHigherLimitsOfAnAccountAreUsed(t *testing.T) {
	virtualKeys(t)
	cases := map[string]struct {
		reason      string
		share       float64
		least, most time.Duration
		throttled   int
	}{
		"default": {"two minutes of 0.2 tokens a second", 1, 80 * time.Second, 110 * time.Second, 3},
		"raised":  {"more from the second minute on", 10, 60 * time.Second, 90 * time.Second, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cloud := newVirtualCloud()
				cloud.share, cloud.latency = tc.share, 50*time.Millisecond
				clients := cloud.clients(t, Tuning{})
				began := time.Now()
				workers(5, func(int) {
					for range 6 {
						if err := createNetwork(t.Context(), clients); err != nil {
							t.Errorf("%s: %v", tc.reason, err)
						}
					}
				})
				took := time.Since(began)
				_, throttled := cloud.counts(ServiceELBV2)
				if throttled > tc.throttled || took < tc.least || took > tc.most {
					t.Errorf("%s: took %s, want %s to %s; %d were throttled, want at most %d", tc.reason, took, tc.least, tc.most, throttled, tc.throttled)
				}
			})
		})
	}
}

// others fails the test if reads, or calls of another API, wait longer than they
// are under way.
func others(t *testing.T, clients *Clients) {
	t.Helper()
	began := time.Now()
	_, nodes := clients.EC2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{"i-1"}})
	err := errors.Join(nodes, describeGroups(t.Context(), clients), createClassic(t.Context(), clients))
	if took := time.Since(began); err != nil || took > 150*time.Millisecond {
		t.Errorf("the calls of other classes took %s: %v", took, err)
	}
}

// Topologies are described once a second, and the callers, who wait ten seconds,
// all succeed.
func TestTopologyIsDescribedOnceASecond(t *testing.T) {
	virtualKeys(t)
	synctest.Test(t, func(t *testing.T) {
		cloud := newVirtualCloud()
		cloud.latency = 50 * time.Millisecond
		clients := cloud.clients(t, Tuning{})
		began := time.Now()
		for range 10 {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			if _, err := clients.EC2.DescribeInstanceTopology(ctx, &ec2.DescribeInstanceTopologyInput{InstanceIds: []string{"i-1"}}); err != nil {
				t.Error(err)
			}
			cancel()
		}
		if accepted, throttled := cloud.counts(ServiceEC2); accepted != 10 || throttled != 0 {
			t.Errorf("%d requests were accepted and %d throttled, want 10 and 0", accepted, throttled)
		}
		if took := time.Since(began); took < 9*time.Second || took > 10*time.Second {
			t.Errorf("10 calls took %s, want 9s to 10s", took)
		}
	})
}
