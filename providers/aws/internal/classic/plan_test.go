package classic

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/test/golden"
)

// planCase is what a plan is made from, beside the Service and the load balancer
// that is there.
type planCase struct {
	// States are those of the instances that do not run.
	States map[string]types.InstanceStateName
	// Groups are IDs of security groups; without them there is one to be made.
	Groups []string
	// Subnets are zones by ID.
	Subnets map[string]string
	Config  request.Config
}

// TestPlans compares the plan of each case in testdata/plans with the wanted one: the
// warnings and the steps, or the error. The part case is a planCase, and observed the
// load balancer, if there is one. With -update it rewrites the plans.
func TestPlans(t *testing.T) {
	t.Parallel()
	golden.RunPlans(t, *update, []string{"case", "observed"}, planOf)
}

// planOf is the result of a case, as text.
func planOf(t *testing.T, spec []byte, parts golden.Case) string {
	t.Helper()
	var c planCase
	golden.Decode(t, parts.Parts["case"], &c)
	svc := &v1.Service{}
	golden.Decode(t, spec, svc)
	c.Config.Cluster = cluster.ID{Name: clusterID}
	var lb *LoadBalancer
	golden.Decode(t, parts.Parts["observed"], &lb)
	if lb != nil {
		lb.Cluster = c.Config.Cluster
		lb.Attributes = lb.Attributes.normal()
	}
	r, warnings, err := request.New(svc, nodes(), c.Config)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	model, more, err := Build(r, c.facts())
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	warnings = append(append(warnings, more...), Fixed(model, lb)...)

	return list(warnings) + Diff(model, lb).String()
}

func list(warnings []service.Warning) string {
	var text strings.Builder
	for _, warning := range warnings {
		fmt.Fprintf(&text, "warning %s: %s\n", warning.Reason, warning.Message)
	}

	return text.String()
}

func nodes() []*v1.Node {
	var list []*v1.Node
	for _, n := range []string{"1", "2", "3"} {
		list = append(list, kubetest.Node("n"+n, kubetest.ProviderID("aws:///us-west-2a/i-"+n)))
	}

	return list
}

func (c planCase) facts() request.Facts {
	f := request.Facts{Config: c.Config, Targets: map[string]*inventory.Instance{}}
	for _, id := range []string{"i-1", "i-2", "i-3"} {
		state := types.InstanceStateNameRunning
		if c.States[id] != "" {
			state = c.States[id]
		}
		f.Targets[id] = &inventory.Instance{ID: id, State: state, Tags: c.Config.Cluster.Tags()}
	}
	if c.Subnets == nil {
		c.Subnets = map[string]string{"subnet-a": "us-west-2a", "subnet-b": "us-west-2b"}
	}
	for _, id := range plan.Sorted(keys(c.Subnets)) {
		f.Subnets = append(f.Subnets, vpc.Subnet{ID: id, AvailabilityZone: c.Subnets[id]})
	}
	for _, id := range c.Groups {
		f.SecurityGroups = append(f.SecurityGroups, plan.Ref{ID: id})
	}
	if c.Groups == nil {
		f.SecurityGroups = []plan.Ref{{Key: change.SecurityGroupKey(request.ClassicGroupName(lbName))}}
	}

	return f
}

func keys(m map[string]string) []string {
	var list []string
	for key := range m {
		list = append(list, key)
	}

	return list
}
