package alerts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// exposedFiles have the metrics of the binary, which test/e2e writes and verifies.
const exposedFiles = "../e2e/testdata/metrics-*.txt"

// targetLabels are those that Prometheus adds to the metrics of a target, where there are
// any.
var targetLabels = []string{"cluster", "namespace", "job", "instance", "pod"}

// bothRoles are exposed by the leader and by a standby.
var bothRoles = []string{"multicloud_ccm_config_file_invalid", "leader_election_master_status"}

// unsupported are metrics of what a provider does not support.
var unsupported = map[string]*regexp.Regexp{
	// There are neither load balancers nor routes.
	"vsphere": regexp.MustCompile(`^(multicloud_ccm_(services_failing|plan_steps)|route_controller_|service_controller_)`),
	// There are no logins: each request is signed.
	"aws": regexp.MustCompile(`^multicloud_ccm_(connected|credentials_refused|logins_total|sessions)$`),
}

// exposure is the labels of each metric.
type exposure map[string][]string

// readExposed returns what leader and standby expose, by provider and role, as in
// "aws-leader".
func readExposed(t *testing.T) map[string]exposure {
	t.Helper()
	files, err := filepath.Glob(exposedFiles)
	if err != nil || len(files) != 6 {
		t.Fatalf("there are not two files for each provider: %v, %v", files, err)
	}
	all := map[string]exposure{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		metrics := exposure{}
		for line := range strings.Lines(string(text)) {
			name, names, _ := strings.Cut(strings.TrimSpace(line), "{")
			metrics[name] = strings.Split(strings.TrimSuffix(names, "}"), ",")
		}
		all[strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "metrics-"), ".txt")] = metrics
	}

	return all
}

// expressions are those of the alerts and of the dashboard, by where they are.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name, rule := range readRules(t) {
		all[name] = rule.Expr
	}
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	variables := strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h")
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			all["panel "+panel.Title+": "+target.Expr] = variables.Replace(target.Expr)
		}
	}

	return all
}

// Every metric and every label of an expression is exposed, with each provider that
// supports what it is about.
func TestExpressionsUseWhatIsExposed(t *testing.T) {
	t.Parallel()
	all := readExposed(t)
	for where, text := range expressions(t) {
		expr, err := newParser().ParseExpr(text)
		if err != nil {
			t.Errorf("%s: %v", where, err)

			continue
		}
		for process, metrics := range all {
			provider, role, _ := strings.Cut(process, "-")
			for _, missing := range missingIn(expr, metrics, provider, role) {
				t.Errorf("%s: %s does not expose %s", where, process, missing)
			}
		}
	}
}

// missingIn returns the metrics and labels of an expression that a process lacks.
func missingIn(expr parser.Expr, metrics exposure, provider, role string) []string {
	var missing []string
	known, partly := slices.Clone(targetLabels), role == "standby"
	for _, selector := range parser.ExtractSelectors(expr) {
		name := nameOf(selector)
		if role == "standby" && !slices.Contains(bothRoles, name) {
			continue // an expression has no result then
		}
		exposed, ok := metrics[name]
		if skip := unsupported[provider]; !ok && skip != nil && skip.MatchString(name) {
			partly = true

			continue
		}
		if !ok {
			missing = append(missing, name)
		}
		known = append(known, exposed...)
		for _, matcher := range selector {
			if matcher.Name != model.MetricNameLabel && !slices.Contains(append(slices.Clone(targetLabels), exposed...), matcher.Name) {
				missing = append(missing, name+" with label "+matcher.Name)
			}
		}
	}
	if partly {
		return missing
	}
	for _, label := range grouping(expr) {
		if !slices.Contains(known, label) {
			missing = append(missing, "label "+label)
		}
	}

	return missing
}

func nameOf(selector []*labels.Matcher) string {
	for _, matcher := range selector {
		if matcher.Name == model.MetricNameLabel {
			return matcher.Value
		}
	}

	return ""
}

// grouping returns the labels that aggregations and operators of an expression name.
func grouping(expr parser.Expr) []string {
	var all []string
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.AggregateExpr:
			all = append(all, n.Grouping...)
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				all = append(all, n.VectorMatching.MatchingLabels...)
				all = append(all, n.VectorMatching.Include...)
			}
		}

		return nil
	})

	return all
}

// A metric and a label that do not exist are found.
func TestMissingMetricsAreFound(t *testing.T) {
	t.Parallel()
	metrics := exposure{"a_total": {"code"}}
	for text, want := range map[string][]string{
		`sum by (job, code) (a_total{code="b", namespace="c"})`: nil,
		`b_total`:                    {"b_total"},
		`a_total{codes="b"}`:         {"a_total with label codes"},
		`sum by (codes) (a_total)`:   {"label codes"},
		`a_total and on (x) a_total`: {"label x"},
	} {
		expr, err := newParser().ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := missingIn(expr, metrics, "x", "leader"); !slices.Equal(got, want) {
			t.Errorf("%s: missing %q, want %q", text, got, want)
		}
	}
}
