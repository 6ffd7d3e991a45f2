package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// The annotations of charts that depend on the release
// (https://artifacthub.io/docs/topics/annotations/helm/). There is none for images, because the
// name of the registry is not part of a release.
const (
	changesAnnotation    = "artifacthub.io/changes"
	securityAnnotation   = "artifacthub.io/containsSecurityUpdates"
	prereleaseAnnotation = "artifacthub.io/prerelease"
)

// kinds are the kinds of changes by the headings of the changelog. Other headings are for users
// of a part, for whom something has changed.
var kinds = map[string]string{
	"Added": "added", "Changed": "changed", "Deprecated": "deprecated", "Removed": "removed", "Fixed": "fixed", "Security": "security",
}

// change is an entry of the annotation with the changes.
type change struct {
	Kind        string `json:"kind"`
	Description string `json:"description"`
}

var (
	link = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	// separator puts each entry and each heading into a paragraph of its own.
	separator = strings.NewReplacer("\n* ", "\n\n* ", "\n### ", "\n\n### ")
	sentence  = regexp.MustCompile(`^(.*?[.!?]) +[A-Z].*$`)
)

// annotationsOf returns the annotations of the chart of a version.
func annotationsOf(changelog, version string) (map[string]string, error) {
	text, err := os.ReadFile(changelog)
	if err != nil {
		return nil, fmt.Errorf("read changelog: %w", err)
	}
	changes, err := changesOf(string(text), version)
	if err != nil {
		return nil, fmt.Errorf("read changelog %s: %w", changelog, err)
	}
	list, err := yaml.Marshal(changes)
	if err != nil {
		return nil, fmt.Errorf("write changes: %w", err)
	}
	security := false
	for _, c := range changes {
		security = security || c.Kind == kinds["Security"]
	}

	return map[string]string{
		changesAnnotation: string(list), securityAnnotation: fmt.Sprint(security), prereleaseAnnotation: fmt.Sprint(isPrerelease(version)),
	}, nil
}

// isPrerelease reports whether a version is one by its suffix, or is one of the initial
// development (https://semver.org/#spec-item-4).
func isPrerelease(version string) bool {
	return strings.Contains(version, "-") || strings.HasPrefix(version, "v0.")
}

// changesOf returns the first sentence of each entry of a version, without links: those of the
// changelog are relative to it.
func changesOf(changelog, version string) ([]change, error) {
	section, ok := sectionOf(changelog, version)
	if !ok {
		return nil, fmt.Errorf("there is no section %q", "## "+version)
	}
	var changes []change
	kind := kinds["Changed"]
	for block := range strings.SplitSeq(separator.Replace(section), "\n\n") {
		words := strings.Join(strings.Fields(block), " ")
		if heading, ok := strings.CutPrefix(words, "### "); ok {
			if kind, ok = kinds[heading]; !ok {
				kind = kinds["Changed"]
			}
		}
		if entry, ok := strings.CutPrefix(words, "* "); ok {
			entry = strings.ReplaceAll(link.ReplaceAllString(entry, "$1"), "**", "")
			changes = append(changes, change{kind, sentence.ReplaceAllString(entry, "$1")})
		}
	}
	if len(changes) == 0 {
		return nil, fmt.Errorf("the section of %s has no entries", version)
	}

	return changes, nil
}

// sectionOf returns what is below the heading of a version, which may have a date after the
// version. A pre-release without a section of its own has the first one, which is that of what
// is not released.
func sectionOf(changelog, version string) (string, bool) {
	const heading = "\n## "
	sections := strings.Split("\n"+changelog, heading)[1:]
	for _, section := range sections {
		title, rest, _ := strings.Cut(section, "\n")
		if name, _, _ := strings.Cut(title, " "); name == version {
			return "\n" + rest, true
		}
	}
	if !strings.Contains(version, "-") || len(sections) == 0 {
		return "", false
	}
	_, rest, _ := strings.Cut(sections[0], "\n")

	return "\n" + rest, true
}
