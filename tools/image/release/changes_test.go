package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sections is a changelog.
const sections = `# Changelog

All notable changes. Entries marked **Action required** need manual steps.

## Unreleased

### Added

* Something.

## v1.1.0 (2026-12-24)

Notes that are not an entry.

* An entry before any heading

### Added

* A flag,
  ` + "`--flag`" + `. It has [a page](docs/flag.md). More of it.
* See [the page](docs/page.md) of v1.0. Done.

### Fixed

* Version 1.5 of a format, e.g. of a list
### Security

* A hole.

### For users of another controller

* **Action required:** do it.

## v1.0.0

## v0.9.0-rc.1

* It is [marked](a.md).
`

func TestChangesOf(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, version string
		want            []change
		err             string
	}{
		"Version": {
			reason: "the first sentence of each entry, by the kind of its heading", version: "v1.1.0",
			want: []change{
				{"changed", "An entry before any heading"},
				{"added", "A flag, `--flag`."},
				{"added", "See the page of v1.0."},
				{"fixed", "Version 1.5 of a format, e.g. of a list"},
				{"security", "A hole."},
				{"changed", "Action required: do it."},
			},
		},
		"Prerelease": {reason: "it can have a section", version: "v0.9.0-rc.1", want: []change{{"changed", "It is marked."}}},
		"Candidate":  {reason: "the section is renamed for the final version", version: "v1.2.0-rc.1", want: []change{{"added", "Something."}}},
		"Missing":    {reason: "the changelog was not prepared", version: "v1.2.0", err: `there is no section "## v1.2.0"`},
		"Part":       {reason: "v1.1 is not v1.1.0", version: "v1.1", err: "there is no section"},
		"Empty":      {reason: "a release has changes", version: "v1.0.0", err: "the section of v1.0.0 has no entries"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := changesOf(sections, tc.version)
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("%s: want error %q, got %v", tc.reason, tc.err, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestPrerelease(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{"v1.0.0": false, "v1.0.0-rc.1": true, "v0.1.0": true, "v10.0.0": false} {
		if got := isPrerelease(version); got != want {
			t.Errorf("%s: want %t, got %t", version, want, got)
		}
	}
}

// TestChangelog: the changelog of this project can be read, and its entries are of all its
// headings.
func TestChangelog(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	var entries int
	for version := range strings.SplitSeq(string(text), "\n## ") {
		version, _, _ = strings.Cut(strings.Fields(version)[0], " ")
		if version == "#" {
			continue
		}
		changes, err := changesOf(string(text), version)
		if err != nil {
			t.Error(err)
		}
		entries += len(changes)
		for _, c := range changes {
			if strings.ContainsAny(c.Description, "\n") || strings.Contains(c.Description, "](") || len(c.Description) > 400 {
				t.Errorf("%s: want one short sentence, got %q", version, c.Description)
			}
		}
	}
	if want := strings.Count(string(text), "\n* "); entries != want {
		t.Errorf("want all %d entries, got %d", want, entries)
	}
}
