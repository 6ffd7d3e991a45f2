package request_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

var comparePrefixes = cmpopts.EquateComparable(netip.Prefix{})

func prefixes(texts ...string) []netip.Prefix {
	var list []netip.Prefix
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}

	return list
}

func TestSourceRanges(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason     string
		spec       []string
		annotation string
		want       []netip.Prefix
	}{
		"Default":     {reason: "AWS-LB-9: everything in IPv4", want: prefixes("0.0.0.0/0")},
		"Spec":        {reason: "the spec wins", spec: []string{"10.1.0.0/16"}, annotation: "10.2.0.0/16", want: prefixes("10.1.0.0/16")},
		"Annotation":  {reason: "comma list with blanks", annotation: " 10.2.0.0/16, 10.1.0.0/16 ", want: prefixes("10.1.0.0/16", "10.2.0.0/16")},
		"Blank":       {reason: "blanks are no annotation", annotation: "  ", want: prefixes("0.0.0.0/0")},
		"Masked":      {reason: "the same range once", spec: []string{"10.1.2.3/16", "10.1.0.0/16"}, want: prefixes("10.1.0.0/16")},
		"BothKinds":   {reason: "AWS-SG-5: IPv6 is kept apart, behind IPv4", spec: []string{"2001:db8::/32", "10.0.0.0/8"}, want: prefixes("10.0.0.0/8", "2001:db8::/32")},
		"MappedRange": {reason: "AWS-SG-5: IPv4 written as IPv6 is IPv4", spec: []string{"::ffff:10.0.0.0/104"}, want: prefixes("10.0.0.0/8")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			svc := web(change(func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = tc.spec }))
			if tc.annotation != "" {
				svc.Annotations[string(request.AnnotationSourceRanges)] = tc.annotation
			}
			got, _ := must(t, svc, request.Config{})
			if diff := cmp.Diff(tc.want, got.SourceRanges, comparePrefixes); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestInstances(t *testing.T) {
	t.Parallel()

	id := cluster.ID{Name: "demo"}
	instance := func(state types.InstanceStateName, tags map[string]string) *inventory.Instance {
		return &inventory.Instance{State: state, Tags: tags}
	}
	var nodes []*v1.Node
	facts := request.Facts{Config: request.Config{Cluster: id}, Targets: map[string]*inventory.Instance{
		"i-1": instance("running", id.Tags()),
		"i-2": instance("stopped", id.Tags()),
		"i-3": instance("running", map[string]string{"kubernetes.io/cluster/other": "owned"}),
		"i-5": instance("running", map[string]string{"kubernetes.io/cluster/demo": "shared"}),
		"i-6": instance("terminated", nil),
		"i-7": instance("running", nil),
	}, Unknown: []string{"i-4"}}
	for _, i := range []string{"1", "2", "3", "4", "5", "6", "7"} {
		nodes = append(nodes, kubetest.Node("n"+i, kubetest.ProviderID("aws:///z/i-"+i)))
	}
	r, _ := must(t, web(), request.Config{}, nodes...)
	got, warnings := r.Instances(facts)
	if diff := cmp.Diff(request.Instances{Registered: []string{"i-1", "i-5", "i-7"}, Kept: []string{"i-2", "i-3", "i-4"}}, got); diff != "" {
		t.Errorf("targets: -want +got:\n%s", diff)
	}
	want := []service.Warning{
		{Reason: service.NodeSkipped, Message: "Nodes get nothing from the load balancer, because EC2 has no instance in the VPC for them: n4"},
		{Reason: service.NodeSkipped, Message: "Nodes get nothing from the load balancer, because the state of their instances does not allow it: n2, n6"},
		{Reason: service.NodeSkipped, Message: "Nodes get nothing from the load balancer, because their instances have the tag of another cluster: n3"},
		{Reason: request.Untagged, Message: "Instances of Nodes lack the tag kubernetes.io/cluster/demo, and are targets nevertheless; tag them: n7"},
	}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Errorf("AWS-LB-12, AWS-LB-17: -want +got:\n%s", diff)
	}
}

func TestWarningsAreBounded(t *testing.T) {
	t.Parallel()

	var nodes []*v1.Node
	for name := range strings.SplitSeq("h,g,f,e,d,c,b,a", ",") {
		nodes = append(nodes, kubetest.Node(name, kubetest.ProviderID("aws:///us-west-2a/vol-1")))
	}
	_, warnings := must(t, web(), request.Config{}, nodes...)
	if len(warnings) != 1 || !strings.HasSuffix(warnings[0].Message, ": a, b, c, d, e and 3 more") {
		t.Errorf("AWS-LB-17: an Event names a few nodes, got %v", warnings)
	}
}

var (
	documented = regexp.MustCompile(`(?s)^Annotation\w+ .+\n\nType: .+\nDefault: .+\nApplies to: (CLB, NLB|CLB|NLB)\n$`)
	ignored    = regexp.MustCompile(`is ignored: (there is none|it has no meaning)`)
)

// TestAnnotationsAreDocumented reads the comments that the reference page is made
// of, and compares them with what happens.
func TestAnnotationsAreDocumented(t *testing.T) {
	t.Parallel()

	var declarations []ast.Decl
	for _, name := range []string{"annotations.go", "annotations_traffic.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		declarations = append(declarations, file.Decls...)
	}
	count := 0
	for _, decl := range declarations {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			value := spec.(*ast.ValueSpec)
			sum, ok := value.Values[0].(*ast.BinaryExpr)
			if !ok {
				continue // the prefix, and the one without it
			}
			count++
			doc := documented.FindStringSubmatch(value.Doc.Text())
			if doc == nil {
				t.Errorf("%s is not documented: %q", value.Names[0], value.Doc.Text())

				continue
			}
			suffix := strings.Trim(sum.Y.(*ast.BasicLit).Value, `"`)
			checkScope(t, suffix, doc[1])
		}
	}
	if count < 30 {
		t.Errorf("the table has at least 30 annotations, found %d", count)
	}
}

// checkScope reports whether the annotation is ignored exactly where it is
// documented to be.
func checkScope(t *testing.T, suffix, applies string) {
	t.Helper()
	if suffix == "type" || suffix == "extra-security-groups" || suffix == "target-group-attributes" {
		return // an error on the other kind
	}
	for kind, name := range map[string]string{"clb": "CLB", "nlb": "NLB"} {
		svc := web(with(request.AnnotationType, kind))
		svc.Annotations["service.beta.kubernetes.io/aws-load-balancer-"+suffix] = ""
		_, warnings, err := request.New(svc, nil, request.Config{ManagedNetworkGroups: true})
		if err != nil {
			continue // an empty number is read, and wrong
		}
		got := len(warnings) > 0 && ignored.MatchString(warnings[0].Message)
		if want := !strings.Contains(applies, name); got != want {
			t.Errorf("%s applies to %s; ignored for %s: %t", suffix, applies, name, got)
		}
	}
}
