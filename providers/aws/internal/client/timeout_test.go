package client

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// hangingCloud is an HTTP transport whose first requests get no response.
type hangingCloud struct {
	*virtualCloud

	mu sync.Mutex
	// hangs is how many requests hang, and took how long each waited.
	hangs int
	took  []time.Duration
}

// RoundTrip implements http.RoundTripper.
func (h *hangingCloud) RoundTrip(r *http.Request) (*http.Response, error) {
	begun := time.Now()
	h.mu.Lock()
	hangs := len(h.took) < h.hangs
	h.mu.Unlock()
	if !hangs {
		return h.virtualCloud.RoundTrip(r)
	}
	<-r.Context().Done()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.took = append(h.took, time.Since(begun))

	return nil, r.Context().Err()
}

// TestAttemptTimeouts (FW-ERROR-2): an attempt to read from EC2 that hangs is
// given up soon and made again, since EC2 may respond by now. One that changes
// something keeps its time: it may have been carried out. The error of three is a
// timeout.
func TestAttemptTimeouts(t *testing.T) {
	virtualKeys(t)
	cases := map[string]struct {
		call func(ctx context.Context, c *Clients) error
		want time.Duration
	}{
		"read EC2": {func(ctx context.Context, c *Clients) error {
			_, err := c.EC2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{})

			return err
		}, 6 * time.Second},
		"change EC2": {func(ctx context.Context, c *Clients) error {
			_, err := c.EC2.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: aws.String("sg-1")})

			return err
		}, 30 * time.Second},
		"read ELB": {func(ctx context.Context, c *Clients) error {
			_, err := c.ELB.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{})

			return err
		}, 30 * time.Second},
		"change ELBv2": {func(ctx context.Context, c *Clients) error {
			_, err := c.ELBV2.DeleteLoadBalancer(ctx, &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: aws.String("arn")})

			return err
		}, 30 * time.Second},
	}
	for name, tc := range cases {
		for hangs, wantErr := range map[int]bool{2: false, 3: true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h := &hangingCloud{virtualCloud: newVirtualCloud(), hangs: hangs}
					err := tc.call(t.Context(), h.clients(t, Tuning{}, h))
					if (err != nil) != wantErr || wantErr && (apierr.Code(err) != apierr.CodeTimeout || !errors.Is(err, context.DeadlineExceeded)) {
						t.Errorf("after %d attempts that hung: %q, %v", hangs, apierr.Code(err), err)
					}
					if len(h.took) != hangs {
						t.Errorf("%d attempts", len(h.took))
					}
					for _, took := range h.took {
						if took != tc.want {
							t.Errorf("an attempt took %s, want %s", took, tc.want)
						}
					}
				})
			})
		}
	}
}

// TestCallerEndsAttempt: the end of the caller's own context is no reason to try
// again.
func TestCallerEndsAttempt(t *testing.T) {
	virtualKeys(t)
	synctest.Test(t, func(t *testing.T) {
		h := &hangingCloud{virtualCloud: newVirtualCloud(), hangs: 3}
		clients := h.clients(t, Tuning{}, h)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := clients.EC2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{}); !errors.Is(err, context.DeadlineExceeded) || len(h.took) != 1 {
			t.Errorf("%d attempts, %v", len(h.took), err)
		}
	})
}
