package client_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// TestPageOfProxy covers FW-NODE-6 and FW-ERROR-1: a page of a proxy is no response of
// AWS, whatever its status is, also to an operation whose result is empty.
func TestPageOfProxy(t *testing.T) {
	cloud, _ := start(t, sim.Options{})
	keys(t, cloud)
	_, clients := connect(t, client.Options{Overrides: overrides(cloud), Tuning: quick()})
	calls := map[string]func() error{
		"DescribeInstances": func() error {
			_, err := clients.EC2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{})

			return err
		},
		"DeleteRoute": func() error {
			_, err := clients.EC2.DeleteRoute(t.Context(), &ec2.DeleteRouteInput{
				RouteTableId: aws.String("rtb-0a"), DestinationCidrBlock: aws.String("10.244.0.0/24"),
			})

			return err
		},
		"DeleteLoadBalancer": func() error {
			_, err := clients.ELBV2.DeleteLoadBalancer(t.Context(), &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: aws.String("arn")})

			return err
		},
	}
	for _, status := range []int{http.StatusOK, http.StatusNotFound, http.StatusBadGateway} {
		cloud.Interceptor().Clear()
		cloud.Interceptor().Inject(simserver.Any, simserver.Always(), simserver.Page(status))
		for name, call := range calls {
			if err := call(); !errors.Is(err, apierr.ErrUnavailable) || errors.Is(err, apierr.ErrNotFound) {
				t.Errorf("%s with a page of status %d: %v, want unavailable", name, status, err)
			}
		}
	}
}
