package aws

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/classic"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/network"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/securitygroup"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// knownFacts are a subnet and an instance.
func knownFacts() request.Facts {
	return request.Facts{
		Config:  planConfig(),
		Subnets: []vpc.Subnet{{ID: "subnet-a", AvailabilityZone: "us-west-2a", CIDR: netip.MustParsePrefix("10.0.0.0/22")}},
		Targets: map[string]*inventory.Instance{"i-1": {ID: "i-1", State: types.InstanceStateNameRunning, Tags: ownTags()}},
	}
}

func ownTags() map[string]string { return map[string]string{sim.ClusterTag(demo): "owned"} }

func planConfig() request.Config {
	return request.Config{
		Cluster: cluster.ID{Name: demo}, ClusterName: flagged, VPC: "vpc-1", SharedProbePort: 10256, SharedProbePath: "/healthz",
	}
}

// planFor returns the plan of a Service.
func planFor(svc *v1.Service, o *observed) (change.Plan, error) {
	t := input{config: planConfig(), service: svc, create: true}
	var err error
	if t.request, _, err = request.New(svc, nodesOf("i-1"), t.config); err != nil {
		return nil, err
	}
	if err := o.conflict(t.request); err != nil {
		return nil, err
	}
	o.Facts = knownFacts()
	o.Selection = selectGroups(t, o, o.Groups)
	d, err := build(t, o)
	if err != nil {
		return nil, err
	}
	steps, _, err := diff(t, o, d, nil)

	return steps, err
}

func existingClassic(tags map[string]string) *classic.LoadBalancer {
	return &classic.LoadBalancer{Name: webName, Cluster: cluster.ID{Name: demo}, Tags: tags}
}

func existingNetwork(tags map[string]string) *network.Observed {
	return &network.Observed{
		Name: webName, Cluster: cluster.ID{Name: demo},
		LoadBalancer: &network.LoadBalancer{ARN: "arn:1", Type: elbv2types.LoadBalancerTypeEnumNetwork, Tags: tags},
	}
}

// What must not be touched ends planning before the first step.
func TestPlanLoadBalancerRefuses(t *testing.T) {
	t.Parallel()
	foreign := map[string]string{sim.ClusterTag("prod"): "owned"}
	none := &network.Observed{Name: webName, Cluster: cluster.ID{Name: demo}}
	shared := securitygroup.Groups{"sg-1": {ID: "sg-1", Name: "k8s-elb-" + webName, Tags: map[string]string{sim.ClusterTag(demo): "shared"}}}
	for name, test := range map[string]struct {
		reason  string
		options []kubetest.ServiceOption
		seen    *observed
		want    string
	}{
		"other kind":         {reason: "a classic load balancer cannot become a network one", options: []kubetest.ServiceOption{nlb()}, seen: &observed{Classic: existingClassic(ownTags()), Network: none}, want: "has the classic load balancer"},
		"other kind too":     {reason: "a network load balancer cannot become a classic one", seen: &observed{Network: existingNetwork(ownTags())}, want: "has the network load balancer"},
		"foreign classic":    {reason: "load balancers of other clusters are left alone", seen: &observed{Classic: existingClassic(foreign)}, want: "belongs to another cluster"},
		"foreign network":    {reason: "load balancers of other clusters are left alone", options: []kubetest.ServiceOption{nlb()}, seen: &observed{Network: existingNetwork(foreign)}, want: "belongs to another cluster"},
		"group is not owned": {reason: "groups of other clusters are left alone", seen: &observed{Groups: shared}, want: "belongs to another cluster by its tag"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps, err := planFor(web(test.options...), test.seen)
			if !errors.Is(err, apierr.ErrConflict) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: got %q, %v", test.reason, steps, err)
			}
		})
	}
	if _, err := planFor(web(nlb()), &observed{Classic: existingClassic(foreign), Network: none}); err != nil {
		t.Errorf("a load balancer of another cluster is not one of the other kind: %v", err)
	}
}

func TestKindOfHost(t *testing.T) {
	t.Parallel()
	for host, test := range map[string]struct {
		region string
		want   request.Kind
	}{
		"web-1.us-west-2.elb.amazonaws.com":          {"us-west-2", request.Classic},
		"web-1.cn-north-1.elb.amazonaws.com.cn":      {"cn-north-1", request.Classic},
		"web-1.us-iso-east-1.elb.c2s.ic.gov":         {"us-iso-east-1", request.Classic},
		"internal-web-1.us-isob-east-1.elb.sc2s.gov": {"us-isob-east-1", request.Classic},
		"web-1.eusc-de-east-1.elb.amazonaws.eu":      {"eusc-de-east-1", request.Classic},
		"web-1.elb.us-west-2.amazonaws.com":          {"us-west-2", request.Network},
		"web-1.elb.cn-north-1.amazonaws.com.cn":      {"cn-north-1", request.Network},
		"web-1.elb.us-iso-east-1.c2s.ic.gov":         {"us-iso-east-1", request.Network},
		"web-1.elb.eusc-de-east-1.amazonaws.eu":      {"eusc-de-east-1", request.Network},
		"web-1.eu-central-1.elb.amazonaws.com":       {"us-west-2", ""},
		"web.example.com":                            {"us-west-2", ""},
	} {
		if got := kindOfHost(host, test.region); got != test.want {
			t.Errorf("%s is %q, want %q", host, got, test.want)
		}
	}
}
