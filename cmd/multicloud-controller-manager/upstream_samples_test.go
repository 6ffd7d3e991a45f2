package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
)

// rightlyReported are parts of messages about what the upstream controllers cannot read either, or refuse.
var rightlyReported = []string{
	`"<`,                                       // a placeholder
	"soap-roundtrip-count: needs a value",      // an empty number
	"there must be = between a key",            // a line of Go
	"username: it needs a domain",              // a user name without its domain
	"tenant-id: it is not set and tenant-name", // no project in the same sample
}

// TestUpstreamSamples: no cloud-config that an upstream controller documents has a problem but those that are really
// in it. The samples are read from the modules in the versions of tools/upstream.
func TestUpstreamSamples(t *testing.T) {
	total := 0
	for provider, folders := range map[string][]string{
		"aws":       {"docs", "examples"},
		"openstack": {"docs/openstack-cloud-controller-manager", "manifests/controller-manager", "examples"},
		"vsphere":   {"docs", "manifests", "releases", "example"},
	} {
		top := moduleOf(t, "k8s.io/cloud-provider-"+provider)
		count := 0
		for _, folder := range folders {
			for path, text := range samplesIn(t, filepath.Join(top, folder)) {
				count++
				for _, r := range validateText(t, text, "--cloud-provider="+provider) {
					known := slices.ContainsFunc(rightlyReported, func(text string) bool { return strings.Contains(r.message, text) })
					if r.severity != "note" && !known {
						t.Errorf("%s: %+v in\n%s", strings.TrimPrefix(path, top), r, text)
					}
				}
			}
		}
		t.Logf("%s: %d samples of the upstream controller", provider, count)
		total += count
	}
	if total < 20 {
		t.Errorf("found %d samples: the test does not recognize them", total)
	}
}

// moduleOf returns the folder of an upstream controller.
func moduleOf(t *testing.T, module string) string {
	t.Helper()
	top, err := ccm.Top()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module)
	command.Dir = filepath.Join(top, "tools", "upstream")
	output, err := command.Output()
	if err != nil {
		t.Fatalf("download %s: %v:\n%s", module, err, output)
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(output, &found); err != nil {
		t.Fatal(err)
	}

	return found.Dir
}

var (
	// sampleBegins matches the first line of a cloud-config in a page or a manifest.
	sampleBegins = regexp.MustCompile(`^(\s*)(\[Global\]|global:)\s*$`)
	// isTemplate matches what is filled in before a file is read.
	isTemplate = regexp.MustCompile(`\{\{|\$\{?[A-Z]`)
)

// samplesIn returns the cloud-configs in the files of a folder, by the path and the line.
func samplesIn(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil //nolint:nilerr // not each module has each folder
		}
		lines := strings.Split(read(t, path), "\n")
		for i, line := range lines {
			begin := sampleBegins.FindStringSubmatch(line)
			if begin == nil {
				continue
			}
			var text []string
			for _, next := range lines[i:] {
				rest, inside := strings.CutPrefix(next, begin[1])
				if strings.TrimSpace(next) == "" {
					rest, inside = "", true
				}
				if !inside || strings.HasPrefix(rest, "```") || rest == "EOF" || rest == "---" {
					break
				}
				text = append(text, rest)
			}
			sample := strings.Join(text, "\n")
			isConfig := begin[2] == "[Global]" || strings.Contains(sample, "vcenter:")
			if isConfig && !isTemplate.MatchString(sample) {
				found[fmt.Sprintf("%s:%d", path, i+1)] = sample
			}
		}

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	return found
}
