package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/google/go-cmp/cmp"

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

// TestAttemptTimeouts (AWS-API-8, FW-ERROR-2): an attempt to read from EC2 that hangs is left
// soon, and the next ones have more time. One that changes something keeps its
// time: it may have been carried out. The error of three is a timeout.
func TestAttemptTimeouts(t *testing.T) {
	virtualKeys(t)
	growing, constant := []time.Duration{6 * time.Second, 15 * time.Second, 30 * time.Second}, slices.Repeat([]time.Duration{30 * time.Second}, 3)
	cases := map[string]struct {
		call func(ctx context.Context, c *Clients) error
		want []time.Duration
	}{
		"read EC2": {func(ctx context.Context, c *Clients) error {
			_, err := c.EC2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{})

			return err
		}, growing},
		"change EC2": {func(ctx context.Context, c *Clients) error {
			_, err := c.EC2.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: aws.String("sg-1")})

			return err
		}, constant},
		"read ELB": {func(ctx context.Context, c *Clients) error {
			_, err := c.ELB.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{})

			return err
		}, constant},
		"change ELBv2": {func(ctx context.Context, c *Clients) error {
			_, err := c.ELBV2.DeleteLoadBalancer(ctx, &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: aws.String("arn")})

			return err
		}, constant},
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
					if diff := cmp.Diff(tc.want[:hangs], h.took); diff != "" {
						t.Errorf("the attempts took (-want +got):\n%s", diff)
					}
				})
			})
		}
	}
}

// slowCloud is an HTTP transport whose responses begin after one time, and are
// complete after another.
type slowCloud struct {
	*virtualCloud

	header, body time.Duration
	requests     atomic.Int32
}

// RoundTrip implements http.RoundTripper.
func (s *slowCloud) RoundTrip(r *http.Request) (*http.Response, error) {
	s.requests.Add(1)
	if err := waitFor(r.Context(), s.header); err != nil {
		return nil, err
	}
	response, err := s.virtualCloud.RoundTrip(r)
	if err == nil {
		response.Body = &slowBody{ctx: r.Context(), delay: s.body}
	}

	return response, err
}

func waitFor(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// slowBody is an empty body whose end comes after the delay.
type slowBody struct {
	ctx   context.Context //nolint:containedctx // that of the request, as a transport has it
	delay time.Duration
}

// Read implements io.Reader.
func (b *slowBody) Read([]byte) (int, error) {
	if err := waitFor(b.ctx, b.delay); err != nil {
		return 0, err
	}

	return 0, io.EOF
}

// Close implements io.Closer.
func (*slowBody) Close() error { return nil }

// TestSlowResponses (AWS-API-8): a response that takes up to 30 seconds is
// received, as large accounts need, however it is slow.
func TestSlowResponses(t *testing.T) {
	virtualKeys(t)
	for name, tc := range map[string]struct {
		header, body time.Duration
		requests     int32
	}{
		"5 s":                   {5 * time.Second, 0, 1},
		"8 s":                   {8 * time.Second, 0, 2},
		"20 s":                  {20 * time.Second, 0, 3},
		"a page that takes 9 s": {0, 9 * time.Second, 2},
		"a late and large page": {14 * time.Second, 14 * time.Second, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &slowCloud{virtualCloud: newVirtualCloud(), header: tc.header, body: tc.body}
				_, err := s.clients(t, Tuning{}, s).EC2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{})
				if err != nil || s.requests.Load() != tc.requests {
					t.Errorf("%d requests, want %d: %v", s.requests.Load(), tc.requests, err)
				}
			})
		})
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
