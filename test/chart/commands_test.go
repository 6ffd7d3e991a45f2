package chart

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
	"github.com/multicloud-ccm/multicloud-ccm/test/helm"
)

var (
	// makeCommand is a call of make in a text or in a block of commands.
	makeCommand = regexp.MustCompile("(?m)(?:`|^ *|\\(|&& )make(?: +-C +\\S+| +[A-Z_]+=\\S+)* +([a-z0-9][a-z0-9-]*)")
	// target is a target of the Makefile.
	target = regexp.MustCompile(`(?m)^((?:[a-z0-9-]+ ?)+):`)
	// ourObject is the name of an object of the release ccm, in commands and in texts.
	ourObject = regexp.MustCompile(`\bccm-multicloud-controller-manager[a-z:-]*`)
	// subcommand is a call of the binary with a subcommand.
	subcommand = regexp.MustCompile(`\bmulticloud-controller-manager (config [a-z]+|providers)\b`)
)

// pages returns the pages of this repository by their paths.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	add := func(path string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found[strings.TrimPrefix(path, top+"/")] = string(text)
	}
	for _, name := range []string{"README.md", "SECURITY.md", "CONTRIBUTING.md", filepath.Join(helm.Chart, "README.md")} {
		add(filepath.Join(top, name))
	}
	err := filepath.WalkDir(filepath.Join(top, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			add(path)
		}

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return found
}

// TestCommandsOfPages: each target of make, each subcommand and each object of the release ccm that a
// page names is there.
func TestCommandsOfPages(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(top, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	var targets []string
	for _, names := range target.FindAllSubmatch(text, -1) {
		targets = append(targets, strings.Fields(string(names[1]))...)
	}
	var objectNames []string
	manifest := template(t, helm.Release{Name: "ccm", Values: "provider: aws\nrbac: {metricsReader: {subjects: [{kind: User, name: reader}]}}\n"})
	for _, object := range objects(t, manifest) {
		objectNames = append(objectNames, object.GetName())
	}
	subcommands := []string{"config validate", "config explain", "providers"}
	if len(targets) < 10 || len(objectNames) < 5 {
		t.Fatalf("found the targets %q and the objects %q", targets, objectNames)
	}
	checks := map[string]struct {
		pattern *regexp.Regexp
		known   []string
		found   int
	}{
		"target of make": {makeCommand, targets, 0}, "object": {ourObject, objectNames, 0}, ccm.Name: {subcommand, subcommands, 0},
	}
	for path, page := range pages(t) {
		for what, check := range checks {
			for _, found := range check.pattern.FindAllStringSubmatch(page, -1) {
				name := strings.TrimRight(found[len(found)-1], ":-")
				check.found++
				if !slices.Contains(check.known, name) {
					t.Errorf("%s names the %s %q, which does not exist", path, what, name)
				}
			}
			checks[what] = check
		}
	}
	for what, check := range checks {
		if check.found < 5 {
			t.Errorf("the pages name %s %d times: the test does not recognize them", what, check.found)
		}
	}
}
