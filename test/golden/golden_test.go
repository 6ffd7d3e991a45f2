package golden

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sample are the templates of the tests below.
var sample = Templates{
	"observed": []byte(`{"config": {"vpc": "vpc-1"}, "nodes": {"node-1": "i-1"}}`),
	"shared":   []byte(`{"config": {"port": 10256}, "nodes": {"node-2": "i-2"}}`),
}

const sampleFile = `What the cases are about.

-- service --
metadata: {annotations: {a: "3"}}

-- create --
A first reason.
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

// observed is what the cases decode.
type observed struct {
	From   []string
	Config struct {
		VPC  string
		Port int
	}
	Nodes map[string]string
}

func parse(t *testing.T) *File {
	t.Helper()
	f, err := Parse("sample", []byte(sampleFile), "observed")
	if err != nil {
		t.Fatal(err)
	}

	return f
}

func TestDecode(t *testing.T) {
	t.Parallel()
	f := parse(t)
	if len(f.Cases) != 2 || string(f.Service) != "metadata: {annotations: {a: \"3\"}}\n\n" {
		t.Fatalf("%d cases, Service %q", len(f.Cases), f.Service)
	}
	create, unchanged := f.Cases[0], f.Cases[1]
	if create.Reason != "A first reason." || create.Plan != "first step\n  and its part\n" || unchanged.Plan != "" {
		t.Errorf("%q, %q, %q", create.Reason, create.Plan, unchanged.Plan)
	}
	want := observed{From: []string{"shared"}, Nodes: map[string]string{"node-2": "i-2"}}
	want.Config.VPC, want.Config.Port = "vpc-2", 10256
	var got observed
	if err := sample.Decode(&got, "observed", create.Parts["observed"]); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for text, want := range map[string]string{"node: {}": "unknown field", "from: [other]": "no other.yaml"} {
		if err := sample.Decode(&got, "observed", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// What -update writes differs in the plans alone.
func TestFormat(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reason, want string
		plans        map[string]string
	}{
		"same": {
			reason: "plans that are up to date change nothing",
			plans:  map[string]string{"create": "first step\n  and its part\n", "unchanged": ""},
			want:   sampleFile,
		},
		"partial": {reason: "a case without a result keeps its plan", plans: map[string]string{"unchanged": ""}, want: sampleFile},
		"swapped": {
			reason: "an empty plan and one at the end",
			plans:  map[string]string{"create": "", "unchanged": "one step\n"},
			want:   strings.Replace(sampleFile, "first step\n  and its part\n", "", 1) + "one step\n",
		},
	} {
		if diff := cmp.Diff(test.want, string(parse(t).Format(test.plans))); diff != "" {
			t.Errorf("%s: %s: -want +got:\n%s", name, test.reason, diff)
		}
	}
}

func TestParseRejects(t *testing.T) {
	t.Parallel()
	const plan = "-- a/plan --\n"
	for name, test := range map[string]struct{ reason, text, want string }{
		"empty":           {reason: "a file without cases is a mistake", text: "No cases.\n", want: "no cases"},
		"no plan":         {reason: "each case needs a plan", text: "-- a --\nReason.\n-- b --\nReason.\n-- b/plan --\n", want: "section a: no plan"},
		"no reason":       {reason: "each case needs a reason", text: "-- a --\n" + plan, want: "no reason"},
		"unknown section": {reason: "a misspelled section is not skipped", text: "-- a --\nReason.\n-- a/services --\n" + plan, want: "unknown section a/services"},
		"section twice":   {reason: "the second section would replace the first", text: "-- a --\nReason.\n" + plan + plan, want: "two sections a/plan"},
		"misplaced":       {reason: "sections follow their case", text: "-- a --\nReason.\n" + plan + "-- b/plan --\n", want: "does not follow its case"},
		"case twice":      {reason: "names identify cases", text: "-- a --\nReason.\n" + plan + "-- a --\nReason.\n" + plan, want: "another case"},
		"line endings":    {reason: "-update would change more than plans", text: "--  a --\nReason.\n" + plan, want: "blanks or line endings"},
	} {
		if _, err := Parse("sample", []byte(test.text), "observed"); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %s: got %v, want %q", name, test.reason, err, test.want)
		}
	}
}

// A file that is no golden file would otherwise hide its cases.
func TestReadDirRejects(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "sample.txt"), []byte(sampleFile), 0o600); err != nil {
		t.Fatal(err)
	}
	if files, _, err := ReadDir(dir); err == nil {
		t.Errorf("got %d files", len(files))
	}
}
