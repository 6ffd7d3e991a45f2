package classic

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// planCase is what a plan is made from, beside the Service and the load balancer
// that is there.
type planCase struct {
	// Reason is what the case shows.
	Reason string
	// States are those of the instances that do not run.
	States map[string]types.InstanceStateName
	// Groups are IDs of security groups; without them there is one to be made.
	Groups []string
	// Subnets are zones by ID.
	Subnets map[string]string
	Config  request.Config
}

// TestPlans reads testdata/<case>/{case,service,observed}.yaml, of which only the
// second must be there, and compares with plan.golden.
func TestPlans(t *testing.T) {
	t.Parallel()

	paths, err := filepath.Glob(filepath.Join("testdata", "*", "service.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range paths {
		dir := filepath.Dir(path)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			awstest.Golden(t, filepath.Join(dir, "plan.golden"), planOf(t, dir), *update)
		})
	}
}

// planOf is the result of a case, as text.
func planOf(t *testing.T, dir string) string {
	t.Helper()
	var c planCase
	read(t, filepath.Join(dir, "case.yaml"), &c)
	svc := &v1.Service{}
	read(t, filepath.Join(dir, "service.yaml"), svc)
	c.Config.Cluster = cluster.ID{Name: clusterID}
	var lb *LoadBalancer
	read(t, filepath.Join(dir, "observed.yaml"), &lb)
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

	return "# " + c.Reason + "\n" + list(warnings) + Diff(model, lb).String()
}

func list(warnings []service.Warning) string {
	var text strings.Builder
	for _, warning := range warnings {
		fmt.Fprintf(&text, "warning %s: %s\n", warning.Reason, warning.Message)
	}

	return text.String()
}

// read reads a file into a value, which stays as it is without the file.
func read(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Clean(path))
	if os.IsNotExist(err) {
		return
	}
	if err == nil {
		err = yaml.UnmarshalStrict(text, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
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
