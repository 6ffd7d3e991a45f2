package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The files of the chart are what make generate writes.
func TestFilesAreUpToDate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "multicloud-controller-manager")
	text, err := os.ReadFile(filepath.Join(dir, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := generate(text)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is out of date: run make generate", name)
		}
	}
}

const example = `
# How many.
# Two lines.
# @schema {minimum: 1}
count: 2
# One of | two.
# @schema {enum: ["", a, b]}
mode: ""
# Group.
group:
  # Free.
  # @schema {additionalProperties: {type: string}}
  free: {}
  # List.
  # @schema {items: {type: string}}
  list: &list [a]
# Reference.
# @schema {$ref: "#/definitions/objects"}
more: *list
`

func TestSchema(t *testing.T) {
	t.Parallel()
	files, err := generate([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(files["values.schema.json"], &got); err != nil {
		t.Fatal(err)
	}
	if got["$schema"] != "http://json-schema.org/draft-07/schema#" || got["definitions"] == nil {
		t.Error("it is no schema of draft 7 with definitions")
	}
	for _, key := range []string{"$schema", "definitions", "title"} {
		delete(got, key)
	}
	want := map[string]any{
		"type": "object", "additionalProperties": false, "required": []any{"count", "mode", "group", "more"},
		"properties": map[string]any{
			"count": map[string]any{"type": "integer", "default": 2.0, "minimum": 1.0, "description": "How many. Two lines."},
			"mode":  map[string]any{"type": "string", "default": "", "enum": []any{"", "a", "b"}, "description": "One of | two."},
			"group": map[string]any{
				"type": "object", "additionalProperties": false, "description": "Group.", "required": []any{"list"},
				"properties": map[string]any{
					"free": map[string]any{
						"type": "object", "default": map[string]any{}, "description": "Free.",
						"additionalProperties": map[string]any{"type": "string"},
					},
					"list": map[string]any{
						"type": "array", "default": []any{"a"}, "description": "List.", "items": map[string]any{"type": "string"},
					},
				},
			},
			"more": map[string]any{"$ref": "#/definitions/objects", "default": []any{"a"}, "description": "Reference."},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	values, err := parse([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	got, err := tableOf(values)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"| Value | Type | Default | Meaning |",
		"|---|---|---|---|",
		"| `count` | integer | `2` | How many. Two lines. |",
		"| `mode` | string | `\"\"` | One of \\| two. One of `a`, `b`. |",
		"| `group` | object |  | Group. |",
		"| `group.free` | object | `{}` | Free. |",
		"| `group.list` | array | `[\"a\"]` | List. |",
		"| `more` | array | `[\"a\"]` | Reference. |",
		"",
	}, "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		values string
		want   []string
		reason string
	}{
		"no mapping":        {"- a", []string{"not a mapping"}, "values are a mapping"},
		"no description":    {"a: 1\nb: 2", []string{"line 1: a has no comment", "line 2: b has no comment"}, "every value is described, and all problems are reported"},
		"no description of": {"# A.\na:\n  # B.\n  b: 1\n  c: 2", []string{"line 5: a.c has no comment"}, "with one described key, all keys are fixed"},
		"no default":        {"# A.\na:", []string{"line 2: a has no default"}, "the type follows from the default"},
		"no type":           {"# A.\na: {}\n# B.\nb: [1]", []string{"line 2: a needs a comment @schema", "line 4: b needs a comment @schema"}, "keys and items that are free are declared so"},
		"bad schema":        {"# A.\n# @schema {\na: 1", []string{"line 3: a: read the comment @schema {"}, "a comment that cannot be read is an error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := generate([]byte(test.values))
			if err == nil {
				t.Fatalf("no error: %s", test.reason)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error is %q, want %q in it: %s", err, want, test.reason)
				}
			}
		})
	}
}
