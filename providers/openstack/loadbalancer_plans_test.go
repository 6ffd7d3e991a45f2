package openstack

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/floatingip"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/octavia"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/securitygroup"
	"github.com/multicloud-ccm/multicloud-ccm/test/golden"
	"github.com/multicloud-ccm/multicloud-ccm/test/profile"
)

// plansDir has the golden cases and their templates. Its README.md describes both.
var plansDir = filepath.Join("testdata", "plans")

// TestPlans (OS-LB-7, OS-LB-8, OS-LB-9, OS-LB-10, OS-LB-11, OS-LB-14, OS-LB-15, OS-LB-18, OS-LB-19, OS-LB-22, OS-LB-24, OS-LB-28,
// OS-LB-30) compares the plan of each case in testdata/plans with the wanted one: the warnings, the gaps, the steps in their order and
// the error, if any. With -update it writes the plans.
func TestPlans(t *testing.T) {
	t.Parallel()
	if profile.Race {
		return // one goroutine makes a plan
	}
	files, templates, err := golden.ReadDir(plansDir, "service", "observed")
	must(t, err)
	for _, file := range files {
		t.Run(file.Name, func(t *testing.T) {
			t.Parallel()
			file.Run(t, plansDir, *update, func(t *testing.T, c golden.Case) string {
				t.Helper()
				svc, f := new(v1.Service), new(planFixture)
				must(t, templates.Decode(svc, "service", file.Service, c.Parts["service"]))
				must(t, templates.Decode(f, "observed", c.Parts["observed"]))
				f.complete(svc)

				return f.plan(t, svc)
			})
		})
	}
}

// plan returns the plan of a Service as text.
func (f *planFixture) plan(t *testing.T, svc *v1.Service) string {
	t.Helper()
	var out strings.Builder
	in, warnings, err := f.input(t, svc)
	if err == nil {
		err = f.plans(&out, in, warnings)
	}
	if err != nil {
		fmt.Fprintf(&out, "error: %v\n", err)
	}

	return out.String()
}

// plans writes the plan.
func (f *planFixture) plans(out *strings.Builder, in input, warnings []service.Warning) error {
	o, err := f.observed(in)
	if err != nil {
		return err
	}
	if f.Delete {
		out.WriteString(f.deletion(in, o).String())

		return nil
	}
	warn := func(warnings []service.Warning) {
		for _, w := range warnings {
			fmt.Fprintf(out, "warning %s: %s\n", w.Reason, w.Message)
		}
	}
	d, err := in.build(o)
	warn(slices.Concat(warnings, d.warnings))
	if err != nil {
		return err
	}
	planned := &changes{steps: change.Plan{octavia.Create(d.balancer, d.balancer.Serial || in.state.empty)}}
	if o.info != nil {
		if err := in.checkShared(o, d); err != nil {
			return err
		}
		if planned, err = in.diff(o, d); err != nil {
			return err
		}
	}
	warn(planned.warnings)
	for _, gap := range d.gaps(planned, nil) {
		fmt.Fprintf(out, "incomplete: %s\n", gap.Text)
	}
	steps := slices.Concat(planned.opens, planned.steps, planned.closes).String()
	out.WriteString(strings.ReplaceAll(steps, "; ", "\n  "))

	return nil
}

// deletion plans to delete the load balancer of a Service, or its parts of a shared one.
func (f *planFixture) deletion(in input, o *observed) change.Plan {
	steps := octavia.DiffDelete(o.parts, in.names, o.owner)
	if o.owner && o.facts.IsDeletable(in.names, tagsOf(o.parts.Listeners)) {
		steps = slices.Concat(octavia.Delete(o.parts, in.config.CascadeDelete), floatingip.DiffDelete(o.floating, in.existing))
	}

	return append(steps, securitygroup.DiffDelete(o.group)...)
}
