package client

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
)

func createNetwork(ctx context.Context, c *Clients) error {
	_, err := c.ELBV2.CreateLoadBalancer(ctx, &elbv2.CreateLoadBalancerInput{Name: new("a"), Subnets: []string{"subnet-1"}})

	return err
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
