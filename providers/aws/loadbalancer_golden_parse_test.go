package aws

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sampleTemplates are the templates of the tests below.
func sampleTemplates() planTemplates {
	return planTemplates{
		"service":  []byte(`{"metadata": {"name": "web", "annotations": {"a": "1", "b": "2"}}}`),
		"observed": []byte(`{"config": {"vpc": "vpc-1"}, "nodes": {"node-1": {"instance": "i-1"}}}`),
		"shared":   []byte(`{"config": {"sharedProbePort": 10256}, "nodes": {"node-2": {"instance": "i-2"}}}`),
	}
}

const samplePlanFile = `What the cases are about.

-- service --
metadata: {annotations: {a: "3"}}

-- create --
A first reason.
-- create/service --
metadata: {annotations: {b: null}}
-- create/observed --
from: [shared]
config: {vpc: vpc-2}
nodes: {node-1: null}
-- create/plan --
first step
  and its part

-- unchanged --
A second reason.
-- unchanged/plan --
`

func TestParsePlanFile(t *testing.T) {
	t.Parallel()
	f, err := parsePlanFile("classic-sample", []byte(samplePlanFile), sampleTemplates())
	if err != nil {
		t.Fatal(err)
	}
	if len(f.cases) != 2 {
		t.Fatalf("%d cases", len(f.cases))
	}
	create, unchanged := f.cases[0], f.cases[1]
	if diff := cmp.Diff(map[string]string{"a": "3"}, create.service.Annotations); diff != "" {
		t.Errorf("create: annotations -want +got:\n%s", diff)
	}
	if c := create.fixture.Config; c.VPC != "vpc-2" || c.SharedProbePort != 10256 {
		t.Errorf("create: config %+v", c)
	}
	if diff := cmp.Diff(map[string]nodeFixture{"node-2": {Instance: "i-2"}}, create.fixture.Nodes); diff != "" {
		t.Errorf("create: nodes -want +got:\n%s", diff)
	}
	if create.Reason != "A first reason." || create.Plan != "first step\n  and its part\n" {
		t.Errorf("create: %q, %q", create.Reason, create.Plan)
	}
	if diff := cmp.Diff(map[string]string{"a": "3", "b": "2"}, unchanged.service.Annotations); diff != "" {
		t.Errorf("unchanged: annotations -want +got:\n%s", diff)
	}
	if unchanged.Plan != "" || len(unchanged.fixture.Nodes) != 1 {
		t.Errorf("unchanged: %q, %+v", unchanged.Plan, unchanged.fixture)
	}
}

// What -update writes differs in the plans alone.
func TestFormatPlanFile(t *testing.T) {
	t.Parallel()
	f, err := parsePlanFile("classic-sample", []byte(samplePlanFile), sampleTemplates())
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		reason, want string
		plans        map[string]string
	}{
		"same": {
			reason: "plans that are up to date change nothing",
			plans:  map[string]string{"create": "first step\n  and its part\n", "unchanged": ""},
			want:   samplePlanFile,
		},
		"partial": {reason: "a case without a result keeps its plan", plans: map[string]string{"unchanged": ""}, want: samplePlanFile},
		"swapped": {
			reason: "an empty plan and one at the end",
			plans:  map[string]string{"create": "", "unchanged": "one step\n"},
			want:   strings.Replace(samplePlanFile, "first step\n  and its part\n", "", 1) + "one step\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, string(f.Format(test.plans))); diff != "" {
				t.Errorf("%s: -want +got:\n%s", test.reason, diff)
			}
		})
	}
}

func TestParsePlanFileRejects(t *testing.T) {
	t.Parallel()
	const plan = "-- a/plan --\n"
	for name, test := range map[string]struct{ reason, file, text, want string }{
		"kind":             {reason: "file names begin with a kind", file: "sample", text: "-- a --\nReason.\n" + plan, want: "kind of load balancer"},
		"other kind":       {reason: "a case of another kind is in the wrong file", file: "network-sample", text: "-- a --\nReason.\n" + plan, want: "of kind classic"},
		"empty":            {reason: "a file without cases is a mistake", text: "No cases.\n", want: "no cases"},
		"no plan":          {reason: "each case needs a plan", text: "-- a --\nReason.\n-- b --\nReason.\n-- b/plan --\n", want: "section a: no plan"},
		"no reason":        {reason: "each case needs a reason", text: "-- a --\n" + plan, want: "no reason"},
		"unknown section":  {reason: "a misspelled section is not skipped", text: "-- a --\nReason.\n-- a/services --\n" + plan, want: "unknown section a/services"},
		"section twice":    {reason: "the second section would replace the first", text: "-- a --\nReason.\n" + plan + plan, want: "two sections a/plan"},
		"misplaced":        {reason: "sections follow their case", text: "-- a --\nReason.\n" + plan + "-- b/plan --\n", want: "does not follow its case"},
		"case twice":       {reason: "names identify cases", text: "-- a --\nReason.\n" + plan + "-- a --\nReason.\n" + plan, want: "another case"},
		"unknown field":    {reason: "a misspelled field is not ignored", text: "-- a --\nReason.\n-- a/service --\nspecs: {}\n" + plan, want: "unknown field"},
		"unknown fixture":  {reason: "a misspelled field is not ignored", text: "-- a --\nReason.\n-- a/observed --\nnode: {}\n" + plan, want: "unknown field"},
		"unknown template": {reason: "the file must exist", text: "-- a --\nReason.\n-- a/observed --\nfrom: [other]\n" + plan, want: "no other.yaml"},
		"line endings":     {reason: "-update would change more than plans", text: "--  a --\nReason.\n" + plan, want: "blanks or line endings"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := test.file
			if file == "" {
				file = "classic-sample"
			}
			if _, err := parsePlanFile(file, []byte(test.text), sampleTemplates()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: got %v, want %q", test.reason, err, test.want)
			}
		})
	}
}

// A file that is no golden file would otherwise hide its cases.
func TestReadPlanFilesRejects(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "classic-sample.txt"), []byte(samplePlanFile), 0o600); err != nil {
		t.Fatal(err)
	}
	if files, err := readPlanFiles(dir); err == nil {
		t.Errorf("got %d files", len(files))
	}
}
