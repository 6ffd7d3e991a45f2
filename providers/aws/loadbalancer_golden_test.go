package aws

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/securitygroup"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/test/golden"
	"github.com/multicloud-ccm/multicloud-ccm/test/profile"
)

// TestPlans compares the plan of each case in testdata/plans with the wanted one:
// the warnings, the steps in their order and the error, if any. With -update it
// rewrites the plan sections.
func TestPlans(t *testing.T) {
	t.Parallel()
	if profile.Race {
		return // one goroutine makes a plan
	}
	files, err := planFiles()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			f.Run(t, plansDir, *update, func(t *testing.T, c golden.Case) string {
				t.Helper()

				return f.cases[c.Name].fixture.run(t, f.cases[c.Name].service)
			})
		})
	}
}

// run returns the plan of a Service as text.
func (f *planFixture) run(t *testing.T, svc *v1.Service) string {
	t.Helper()
	all, members, err := f.groups()
	if err != nil {
		t.Fatal(err)
	}
	if f.Delete {
		return f.remove(svc, all)
	}
	out := &strings.Builder{}
	if err := f.ensure(out, svc, all, members); err != nil {
		out.WriteString("error: " + err.Error() + "\n")
	}

	return out.String()
}

// ensure does what a sync does, without a cloud.
func (f *planFixture) ensure(out *strings.Builder, svc *v1.Service, all, members securitygroup.Groups) error {
	r, warnings, err := request.New(svc, f.nodes(), f.Config)
	if err != nil {
		return err
	}
	if r.Kind == request.Unmanaged {
		out.WriteString("left to another controller\n")

		return nil
	}
	t := input{config: f.Config, service: svc, request: r, create: true}
	o := f.observed(r)
	if err := o.conflict(r); err != nil {
		return err
	}
	o.Groups, o.Facts = all, request.Facts{Config: f.Config, Targets: f.targets(r)}
	if o.Facts.Subnets, err = f.subnets(r, o); err != nil {
		return err
	}
	if o.hasNetwork() {
		for _, id := range o.Network.Subnets() {
			o.NetworkSubnets = append(o.NetworkSubnets, vpc.Subnet{ID: id, CIDR: f.Subnets[id].CIDR})
		}
	}
	o.Selection = selectGroups(t, o, members)
	d, err := build(t, o)
	if err != nil {
		return err
	}
	steps, _, err := diff(t, o, d, nil)
	if err != nil {
		return err
	}
	if d.Incomplete != nil {
		steps = steps.Additions()
	}
	for _, warning := range slices.Concat(warnings, d.Warnings) {
		fmt.Fprintf(out, "warning %s: %s\n", warning.Reason, warning.Message)
	}
	out.WriteString(steps.String())

	return d.Incomplete
}

// remove does what deletion does, without a cloud.
func (f *planFixture) remove(svc *v1.Service, all securitygroup.Groups) string {
	lb := newLoadBalancer(loadBalancerConfig{Settings: f.Config})
	t := lb.identify(f.Config.ClusterName, svc, new(state))
	o := f.observed(t.request)
	o.Groups = all

	return diffDeletion(t, o, buildDeletion(t, o), nil, nil).String()
}
