package rules_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/docs/explanation/rules"
)

const page = "docs/explanation/behavior-cloud.md"

// The IDs of the fixtures are put together, so that no file of the repository names them.
const (
	first  = "CLOUD" + "-NODE-1"
	second = "CLOUD" + "-NODE-2"
)

// state returns the text of a rule.
func state(id, text string) string {
	return `<a id="` + strings.ToLower(id) + `"></a>` + "\n**" + id + "** " + text + "\n\n"
}

// repository returns files by path.
func repository(files map[string]string) fstest.MapFS {
	all := fstest.MapFS{}
	for path, text := range files {
		all[path] = &fstest.MapFile{Data: []byte(text)}
	}

	return all
}

func TestRead(t *testing.T) {
	t.Parallel()
	got, err := rules.Read(repository(map[string]string{
		page: "# Cloud\n\n" + state(first, "A Node is\n[kept](other.md#kept). Always.") + state(second, "These are errors:\n\n* all"),
		"a/a_test.go": "package a\n\n// TestComment shows " + first + ".\nfunc TestComment() {}\n\n" +
			"func TestBody() {\n\t_ = `" + first + " " + first + "`\n}\n\nfunc helper() { _ = `" + first + "` }\n\n" +
			"func Testing() { _ = `" + second + "` }\n",
		"a/a.go":               "package a // " + second,
		"a/testdata/case.yaml": "reason: " + second,
		"test/e2e/cases.go":    "package e2e // " + second,
		"test/e2e/tag_test.go": "//go:build services && !windows\n\npackage e2e // " + second,
		"test/e2e/os_test.go":  "// A comment.\n\n//go:build !windows\n\npackage e2e // " + second,
		"bin/copy_test.go":     "no code, " + first,
		".git/copy.md":         "CLOUD" + "-OLD-1",
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := []rules.Rule{
		{ID: first, Page: "behavior-cloud.md", Title: "A Node is kept", Tests: []rules.Test{
			{File: "a/a_test.go", Function: "TestComment"}, {File: "a/a_test.go", Function: "TestBody"}, {File: "a/a_test.go"},
		}},
		{ID: second, Page: "behavior-cloud.md", Title: "These are errors", Tests: []rules.Test{
			{File: "a/a_test.go"},
			{File: "a/testdata/case.yaml"},
			{File: "test/e2e/cases.go"},
			{File: "test/e2e/os_test.go"},
			{File: "test/e2e/tag_test.go", Tagged: true},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

func TestReadMistakes(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		files  map[string]string
		want   string
	}{
		"twice": {
			reason: "an ID is the name of one rule", want: page + ": " + first + " is there twice",
			files: map[string]string{page: state(first, "One.") + state(first, "Two.")},
		},
		"no anchor": {
			reason: "other pages link to rules", want: "the anchor of " + first + ` is ""`,
			files: map[string]string{page: "**" + first + "** One.\n"},
		},
		"no rule": {
			reason: "the rule was removed, or the ID is misspelled", want: "a/a.go names " + second + ", which no page states",
			files: map[string]string{page: state(first, "One."), "a/a.go": "package a // " + second},
		},
		"no page": {
			reason: "the pages were moved", want: "no page docs/explanation/behavior-*.md has a rule",
			files: map[string]string{"README.md": ""},
		},
		"no code": {
			reason: "a test cannot be parsed", want: "a/a_test.go:1:1: expected 'package'",
			files: map[string]string{page: state(first, "One."), "a/a_test.go": first},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := rules.Read(repository(tc.files))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: error %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}
