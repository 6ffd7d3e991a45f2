package request

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
)

var update = flag.Bool("update", false, "write the golden files in testdata")

// TestGolden compares what each change of the Service of newCase changes in its request.
// The name of a section is the change, its content are the lines that are then
// different, missing or new. Warnings and errors are lines. The file ranges.txtar shows
// OS-LB-24.
func TestGolden(t *testing.T) {
	t.Parallel()
	for _, path := range goldenFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for i, section := range archive.Files {
				got := changesOf(t, section.Name)
				if diff := cmp.Diff(string(section.Data), got); diff != "" && !*update {
					t.Errorf("%s (-want +got):\n%s", section.Name, diff)
				}
				archive.Files[i].Data = []byte(got)
			}
			if !*update {
				return
			}
			if err := os.WriteFile(path, txtar.Format(archive), 0o600); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func goldenFiles(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("golden files: %v, %v", paths, err)
	}

	return paths
}

// changesOf describes what changes make of the request.
func changesOf(t *testing.T, changes string) string {
	t.Helper()
	words := map[string]string{}
	before, after := newCase(), newCase()
	base := before.describe(t)
	if changes == "default" {
		base = nil
	} else {
		after.apply(withIDs(changes, words))
	}
	var text strings.Builder
	for _, line := range after.describe(t) {
		if !slices.Contains(base, line) {
			text.WriteString(line + "\n")
		}
	}
	for _, place := range []string{"config", "class"} {
		for _, kind := range []string{"fnet", "net", "sub", "members"} {
			withIDs("ID-"+place+"-"+kind, words)
		}
	}
	result := text.String()
	for id, word := range words {
		result = strings.ReplaceAll(result, id, word)
	}

	return result
}

// TestEveryAnnotation proves that the golden files have each annotation empty and with
// two other values, one of which is not valid unless every text is.
func TestEveryAnnotation(t *testing.T) {
	t.Parallel()
	values := map[annotation.Name]map[string]bool{}
	problems := map[annotation.Name]bool{}
	for _, path := range goldenFiles(t) {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, section := range archive.Files {
			for change := range strings.SplitSeq(section.Name, "; ") {
				key, value, _ := strings.Cut(change, "=")
				name := annotation.Name(key)
				if !strings.Contains(key, "/") {
					name = annotationPrefix + name
				}
				if values[name] == nil {
					values[name] = map[string]bool{}
				}
				values[name][value] = true
				problems[name] = problems[name] || strings.Contains(string(section.Data), string(name))
			}
		}
	}
	free := []annotation.Name{AnnotationLBMethod, AnnotationFlavorID, AnnotationAvailabilityZone, AnnotationNodeSelector, AnnotationLoadBalancerAddress, AnnotationFloatingSubnet, AnnotationFloatingSubnetTags}
	all := append(slices.Collect(maps.Keys(known)), AnnotationInternal, AnnotationSourceRanges)
	for _, name := range slices.Sorted(slices.Values(all)) {
		if seen := values[name]; !seen[""] || len(seen) < 3 {
			t.Errorf("%s: the values are %v", name, slices.Sorted(maps.Keys(seen)))
		}
		if !problems[name] && !slices.Contains(free, name) {
			t.Errorf("%s: no invalid value", name)
		}
	}
}
