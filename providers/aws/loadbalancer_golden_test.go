package aws

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/securitygroup"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
)

// planCases lists the golden cases: directories named after the kind of load
// balancer and the row of the annotation table of §8, or another subject.
func planCases(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(plansDir, "*", "service.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	dirs := make([]string, 0, len(paths))
	for _, path := range paths {
		dirs = append(dirs, filepath.Dir(path))
	}
	return dirs
}

// readService reads a manifest.
func readService(t *testing.T, dir string) *v1.Service {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "service.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	svc := &v1.Service{}
	if err := yaml.UnmarshalStrict(text, svc); err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	return svc
}

// TestPlans compares plans with golden files. A case is service.yaml, and
// observed.yaml as [scene] describes; plan.golden has the reason, the warnings and
// the steps in their order. The whole of it may be an error.
func TestPlans(t *testing.T) {
	t.Parallel()
	for _, dir := range planCases(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			s := readScene(t, filepath.Join(dir, "observed.yaml"))
			svc := readService(t, dir)
			got := s.play(t, svc)
			if again := s.play(t, svc); again != got {
				t.Errorf("plans differ from time to time: %s", cmp.Diff(got, again))
			}
			path := filepath.Join(dir, "plan.golden")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(filepath.Clean(path))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", s.Reason, diff)
			}
		})
	}
}

// play returns all that comes of a Service in a scene, as text.
func (s *scene) play(t *testing.T, svc *v1.Service) string {
	t.Helper()
	s.Config.BadNetworkSetting = nil
	if s.BadNetworkSetting != "" {
		s.Config.BadNetworkSetting = errors.New(s.BadNetworkSetting)
	}
	all, members, err := s.groups()
	if err != nil {
		t.Fatal(err)
	}
	out := &strings.Builder{}
	out.WriteString("# " + s.Reason + "\n")
	if s.Delete {
		s.remove(out, svc, all)
		return out.String()
	}
	if err := s.ensure(out, svc, all, members); err != nil {
		out.WriteString("error: " + err.Error() + "\n")
	}
	return out.String()
}

// ensure does what a sync does, without a cloud.
func (s *scene) ensure(out *strings.Builder, svc *v1.Service, all, members securitygroup.Groups) error {
	r, warnings, err := request.New(svc, s.nodes(), s.Config)
	if err != nil {
		return err
	}
	if r.Kind == request.Elsewhere {
		out.WriteString("left to another controller\n")
		return nil
	}
	t := task{config: s.Config, service: svc, request: r, create: true}
	o := s.observed(r)
	if err := o.conflict(r); err != nil {
		return err
	}
	o.Groups, o.Facts = all, request.Facts{Config: s.Config, Targets: s.targets(r)}
	if o.Facts.Subnets, err = s.subnets(r, o); err != nil {
		return err
	}
	if o.hasNetwork() {
		for _, id := range o.Network.Subnets() {
			o.Placed = append(o.Placed, vpc.Subnet{ID: id, CIDR: s.Subnets[id].CIDR})
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
func (s *scene) remove(out *strings.Builder, svc *v1.Service, all securitygroup.Groups) {
	lb := newLoadBalancer(loadBalancerConfig{Settings: s.Config})
	t := lb.identify(s.Config.ClusterName, svc)
	o := s.observed(t.request)
	o.Groups = all
	out.WriteString(diffDeletion(t, o, buildDeletion(t, o), nil, nil).String())
}

// row is a row of the annotation table, as the source of package request has it.
type row struct {
	annotation string
	applies    map[request.Kind]bool
}

// rows reads the constants with their comments.
func rows(t *testing.T) []row {
	t.Helper()
	const prefix = "service.beta.kubernetes.io/aws-load-balancer-"
	var list []row
	collect := func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		text := ""
		switch value := spec.Values[0].(type) {
		case *ast.BasicLit:
			text, _ = strconv.Unquote(value.Value)
		case *ast.BinaryExpr:
			text, _ = strconv.Unquote(value.Y.(*ast.BasicLit).Value)
			text = prefix + text
		}
		if strings.HasPrefix(spec.Names[0].Name, "Annotation") {
			_, kinds, _ := strings.Cut(spec.Doc.Text(), "Applies to: ")
			list = append(list, row{annotation: text, applies: map[request.Kind]bool{
				request.Classic: strings.Contains(kinds, "CLB"),
				request.Network: strings.Contains(kinds, "NLB"),
			}})
		}
		return true
	}
	for _, name := range []string{"annotations.go", "annotations_traffic.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("internal", "request", name), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, collect)
	}
	return list
}

// short is the annotation as directories are named after it.
func (r row) short() string {
	_, name, _ := strings.Cut(r.annotation, "/")
	return strings.TrimPrefix(name, "aws-load-balancer-")
}

// TestEveryRowHasPlans demands for every annotation and each kind a case with a
// new load balancer, and one with a load balancer that is there; where it has no
// meaning, a case in which that is an error or a warning.
func TestEveryRowHasPlans(t *testing.T) {
	t.Parallel()
	all := rows(t)
	if len(all) < 30 {
		t.Fatalf("§8: there are only %d annotations", len(all))
	}
	cases := performed(t)
	for _, r := range all {
		for kind, applies := range r.applies {
			var created, changed, refused bool
			for _, c := range cases {
				if _, set := c.annotations[r.annotation]; !set || c.kind != kind || !strings.HasPrefix(c.name, string(kind)+"-"+r.short()) {
					continue
				}
				created, changed = created || !c.there, changed || c.there
				refused = refused || strings.Contains(c.golden, "nnotation "+r.annotation)
			}
			if applies && (!created || !changed) {
				t.Errorf("§8: %s for a %s load balancer: a case that creates: %t, one that changes: %t", r.annotation, kind, created, changed)
			}
			if !applies && !refused {
				t.Errorf("§8: no case shows what becomes of %s for a %s load balancer", r.annotation, kind)
			}
		}
	}
}

// performance is what a golden case says to those who look for one.
type performance struct {
	name        string
	kind        request.Kind
	annotations map[string]string
	// there is that a load balancer is there before.
	there  bool
	golden string
}

func performed(t *testing.T) []performance {
	t.Helper()
	var list []performance
	for _, dir := range planCases(t) {
		svc, s := readService(t, dir), readScene(t, filepath.Join(dir, "observed.yaml"))
		golden, err := os.ReadFile(filepath.Join(dir, "plan.golden"))
		if err != nil && !*update { // another test may be about to write it
			t.Fatal(err)
		}
		list = append(list, performance{
			name: filepath.Base(dir), kind: request.KindOf(svc), annotations: svc.Annotations,
			there: s.Classic != nil || s.Network != nil && s.Network.LoadBalancer != nil, golden: string(golden),
		})
	}
	return list
}
