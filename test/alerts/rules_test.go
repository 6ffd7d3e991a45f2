package alerts

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
)

const (
	alertsFile    = "../../charts/multicloud-controller-manager/files/alerts.yaml"
	dashboardFile = "../../charts/multicloud-controller-manager/files/dashboard.json"
	runbooks      = "../../docs/runbooks"
)

func newParser() parser.Parser { return parser.NewParser(parser.Options{}) }

// readRules returns the rules of the chart by name.
func readRules(t *testing.T) map[string]rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.ParseFile(alertsFile, false, model.UTF8Validation, newParser(), slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	all := map[string]rulefmt.Rule{}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			if _, ok := all[rule.Alert]; ok || rule.Alert == "" {
				t.Fatalf("two rules are alert %q", rule.Alert)
			}
			all[rule.Alert] = rule
		}
	}

	return all
}

// alertOf makes the rule that Prometheus evaluates.
func alertOf(t *testing.T, rule rulefmt.Rule) *rules.AlertingRule {
	t.Helper()
	expr, err := newParser().ParseExpr(rule.Expr)
	if err != nil {
		t.Fatalf("%s: %v", rule.Alert, err)
	}

	return rules.NewAlertingRule(rule.Alert, expr, time.Duration(rule.For), time.Duration(rule.KeepFiringFor),
		labels.FromMap(rule.Labels), labels.FromMap(rule.Annotations), labels.EmptyLabels(), "", true, slog.New(slog.DiscardHandler))
}

// Every alert has what a person needs who is called by it.
func TestEveryAlertIsComplete(t *testing.T) {
	t.Parallel()
	for name, rule := range readRules(t) {
		if !regexp.MustCompile(`^MulticloudCCM[A-Z][A-Za-z]+$`).MatchString(name) {
			t.Errorf("%s: the name does not begin with MulticloudCCM", name)
		}
		if !slices.Contains([]string{"warning", "critical"}, rule.Labels["severity"]) || len(rule.Labels) != 1 {
			t.Errorf("%s: labels %v", name, rule.Labels)
		}
		if rule.For == 0 {
			t.Errorf("%s: it fires at once", name)
		}
		for _, annotation := range []string{"summary", "description"} {
			if text := rule.Annotations[annotation]; !strings.HasSuffix(text, ".") {
				t.Errorf("%s: its %s is %q", name, annotation, text)
			}
		}
	}
}

// runbookSections are the headings of a page, in this order.
var runbookSections = []string{"## Meaning", "## Impact", "## Diagnosis", "## Mitigation"}

// Each alert has its page, which is linked, and each page its alert.
func TestEveryAlertHasARunbook(t *testing.T) {
	t.Parallel()
	alerts := readRules(t)
	index, err := os.ReadFile(filepath.Join(runbooks, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(runbooks, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		name := strings.TrimSuffix(filepath.Base(page), ".md")
		if _, ok := alerts[name]; !ok && name != "README" {
			t.Errorf("%s is about no alert", page)
		}
	}
	for name := range alerts {
		text, err := os.ReadFile(filepath.Join(runbooks, name+".md"))
		if err != nil {
			t.Errorf("%s: %v", name, err)

			continue
		}
		rest := string(text)
		if !strings.HasPrefix(rest, "# "+name+"\n") {
			t.Errorf("%s: the title is not the name", name)
		}
		for _, section := range runbookSections {
			_, after, ok := strings.Cut(rest, "\n"+section+"\n")
			if !ok {
				t.Errorf("%s: there is no %q, or not in this order", name, section)

				break
			}
			rest = after
		}
		if !strings.Contains(string(text), "kubectl ") {
			t.Errorf("%s: there is no command", name)
		}
		if link := fmt.Sprintf("(%s.md)", name); !strings.Contains(string(index), link) {
			t.Errorf("%s is not linked in %s/README.md", name, runbooks)
		}
	}
}
