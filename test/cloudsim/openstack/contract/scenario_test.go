package contract

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reason, text string
		// want is part of the error, empty for none.
		want string
	}{
		"request":        {reason: "the least that is needed", text: "steps: [{step: a, request: GET network /v2.0}]"},
		"fixture":        {reason: "the least that is needed", text: "steps: [{step: a, fixture: hold, with: {'on': 'true'}}]"},
		"boolean key":    {reason: "on without quotes is true in YAML 1.1", text: "steps: [{step: a, fixture: hold, with: {on: 'true'}}]", want: "quote"},
		"unknown key":    {reason: "a typo must not be ignored", text: "steps: [{step: a, requst: GET network /}]", want: "requst"},
		"no name":        {reason: "golden files are by name", text: "steps: [{request: GET network /}]", want: "not unique"},
		"name twice":     {reason: "golden files are by name", text: "steps: [{step: a, request: GET network /}, {step: a, request: GET network /}]", want: "not unique"},
		"service":        {reason: "four services", text: "steps: [{step: a, request: GET volume /}]", want: "is not"},
		"path":           {reason: "paths start at the root", text: "steps: [{step: a, request: GET network v2.0}]", want: "is not"},
		"both":           {reason: "a step does one thing", text: "steps: [{step: a, fixture: hold, request: GET network /}]", want: "exclude"},
		"with":           {reason: "with is for fixtures", text: "steps: [{step: a, request: GET network /, with: {a: b}}]", want: "belongs to a fixture"},
		"body and raw":   {reason: "one body", text: "steps: [{step: a, request: PUT network /, body: {}, raw: x}]", want: "exclude"},
		"until":          {reason: "a condition", text: "steps: [{step: a, request: GET network /, until: ACTIVE}]", want: "field=value"},
		"kind":           {reason: "kinds are counted", text: "steps: [{step: a, request: GET network /, kinds: [lists]}]", want: "unknown kind"},
		"not a scenario": {reason: "no YAML", text: "steps: {", want: "parse scenario x"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("x", []byte(tc.text))
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("%s: %v", tc.reason, err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("%s: error %v does not contain %q", tc.reason, err, tc.want)
			}
		})
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	vars := map[string]string{"lb": "1", "lb_name": "2"}
	tests := map[string]struct {
		in, want string
		err      bool
	}{
		"plain":    {in: "/a?b=c", want: "/a?b=c"},
		"longest":  {in: "$lb/$lb_name", want: "1/2"},
		"braces":   {in: "${lb}_name", want: "1_name"},
		"dollar":   {in: "^a$", want: "^a$"},
		"not set":  {in: "$other", err: true},
		"all gaps": {in: "$lb$lb", want: "11"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := expand(tc.in, vars)
			if (err != nil) != tc.err || got != tc.want && !tc.err {
				t.Errorf("got %q, %v, want %q, error: %t", got, err, tc.want, tc.err)
			}
		})
	}
}
