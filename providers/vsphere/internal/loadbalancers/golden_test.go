package loadbalancers

import (
	"cmp"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/test/golden"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestPlans compares the plan of each case in testdata/plans with the wanted one: the objects that are read by their paths,
// the warnings, the steps in their order and the error, if any. With -update it rewrites the plan sections.
func TestPlans(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("testdata", "plans")
	files, templates, err := golden.ReadDir(dir, "service", "observed")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			f.Run(t, dir, *update, func(t *testing.T, c golden.Case) string {
				t.Helper()
				svc, fixture := &v1.Service{}, &planFixture{}
				if err := templates.Decode(svc, "service", f.Service, c.Parts["service"]); err != nil {
					t.Fatalf("service: %v", err)
				}
				if err := templates.Decode(fixture, "observed", c.Parts["observed"]); err != nil {
					t.Fatalf("observed: %v", err)
				}

				return fixture.run(t, svc)
			})
		})
	}
}

// run returns the plan of a Service as text.
func (f *planFixture) run(t *testing.T, svc *v1.Service) string {
	t.Helper()
	svc.Status.LoadBalancer.Ingress = lists.Map(f.Status, func(ip string) v1.LoadBalancerIngress { return v1.LoadBalancerIngress{IP: ip} })
	m := &manager{fixture: f}
	l := New(Config{Settings: f.settings()}, m)
	plan := m.planSync
	if f.Delete {
		plan = m.planDeletion
	}
	warnings, planned, err := plan(t, l, svc)
	out := &strings.Builder{}
	for _, path := range m.reads {
		fmt.Fprintln(out, "read", path)
	}
	for _, warning := range warnings {
		fmt.Fprintf(out, "warning %s: %s\n", warning.Reason, warning.Message)
	}
	out.WriteString(planned.String())
	if err != nil {
		fmt.Fprintln(out, "error:", err)
	}

	return out.String()
}

// planSync does what a sync does before its first write.
func (m *manager) planSync(t *testing.T, l *LoadBalancers, svc *v1.Service) ([]service.Warning, steps, error) {
	t.Helper()
	r, warnings := l.config.Settings.New(m.fixture.Cluster, svc, m.fixture.nodes())
	o, err := l.observe(t.Context(), m.fixture.Cluster, svc)
	if err != nil {
		return nil, nil, err
	}
	if !o.isPublished() {
		if err := l.read(t.Context(), o, pathsOf(o.objects)); err != nil {
			return nil, nil, err
		}
	}
	d, planned, err := l.plan(t.Context(), l.resolve(t.Context(), o, r), o)
	if err == nil && len(planned) > 0 {
		reads := m.reads
		err = l.checkLBService(t.Context(), o, d)
		m.reads = reads // once for all Services
	}
	if err != nil {
		planned = nil
	}

	return slices.Concat(warnings, d.warnings), planned, err
}

// planDeletion does what deletion does before its first write.
func (m *manager) planDeletion(t *testing.T, l *LoadBalancers, svc *v1.Service) ([]service.Warning, steps, error) {
	t.Helper()
	o, err := l.observe(t.Context(), m.fixture.Cluster, svc)
	if err != nil {
		return nil, nil, err
	}
	if err := cmp.Or(l.probe(t.Context(), o, svc), o.checkPlace()); err != nil {
		return nil, nil, err
	}
	d, planned, err := l.plan(t.Context(), input{settings: &l.config.Settings}, o)

	return d.warnings, planned, err
}
