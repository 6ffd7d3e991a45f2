// Package golden compares plans with those of golden files: txtar files of cases, whose input is what
// they change in YAML templates.
package golden

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"
)

// File is a txtar file with the golden cases of one subject:
//
//	-- service --      the Service of all cases, if there is such a section
//	-- NAME --         begins a case, and has its reason
//	-- NAME/PART --    a part of its input
//	-- NAME/plan --    the wanted plan, empty if there is nothing to do
//
// Other sections, and cases without a reason or a plan, are errors.
type File struct {
	// Name is that of the file, without its extension.
	Name    string
	Service []byte
	Cases   []Case

	archive *txtar.Archive
}

// Case is one case of a [File].
type Case struct {
	Name, Reason string
	// Parts are the parts of the input by their names.
	Parts map[string][]byte
	Plan  string
}

// Parse parses a file whose cases can have these parts.
func Parse(name string, data []byte, parts ...string) (*File, error) {
	f := &File{Name: name, archive: txtar.Parse(data)}
	if !bytes.Equal(txtar.Format(f.archive), data) {
		return nil, errors.New("blanks or line endings differ from those that -update writes")
	}
	sections := f.archive.Files
	if len(sections) > 0 && sections[0].Name == "service" {
		f.Service, sections = sections[0].Data, sections[1:]
	}
	for len(sections) > 0 {
		own := 1
		for own < len(sections) && strings.HasPrefix(sections[own].Name, sections[0].Name+"/") {
			own++
		}
		c, err := parseCase(sections[:own], parts)
		if err != nil {
			return nil, fmt.Errorf("section %s: %w", sections[0].Name, err)
		}
		if slices.ContainsFunc(f.Cases, func(other Case) bool { return other.Name == c.Name }) {
			return nil, fmt.Errorf("case %s: there is another case of this name", c.Name)
		}
		f.Cases = append(f.Cases, c)
		sections = sections[own:]
	}
	if len(f.Cases) == 0 {
		return nil, errors.New("no cases")
	}

	return f, nil
}

// parseCase parses the sections of a case, the first of which is its reason.
func parseCase(sections []txtar.File, parts []string) (Case, error) {
	c := Case{Name: sections[0].Name, Reason: strings.TrimSpace(string(sections[0].Data)), Parts: map[string][]byte{}}
	if strings.Contains(c.Name, "/") {
		return c, errors.New("does not follow its case")
	}
	if c.Reason == "" {
		return c, errors.New("no reason")
	}
	for _, section := range sections[1:] {
		part := strings.TrimPrefix(section.Name, c.Name+"/")
		if part != "plan" && !slices.Contains(parts, part) {
			return c, fmt.Errorf("unknown section %s", section.Name)
		}
		if _, repeated := c.Parts[part]; repeated {
			return c, fmt.Errorf("two sections %s", section.Name)
		}
		c.Parts[part] = section.Data
	}
	plan, found := c.Parts["plan"]
	if !found {
		return c, errors.New("no plan")
	}
	if c.Plan = strings.TrimRight(string(plan), "\n"); c.Plan != "" {
		c.Plan += "\n"
	}

	return c, nil
}

// Format returns the text of the file with new plans, by the names of their cases,
// and without any other change.
func (f *File) Format(plans map[string]string) []byte {
	sections := slices.Clone(f.archive.Files)
	for i, section := range sections {
		name, isPlan := strings.CutSuffix(section.Name, "/plan")
		if plan, known := plans[name]; isPlan && known {
			sections[i].Data = []byte(plan + "\n")
		}
	}
	text := txtar.Format(&txtar.Archive{Comment: f.archive.Comment, Files: sections})

	return append(bytes.TrimRight(text, "\n"), '\n')
}

// Run compares the plan of each case with the wanted one, or writes the plans to the
// file in a directory if update is set.
func (f *File) Run(t *testing.T, dir string, update bool, plan func(t *testing.T, c Case) string) {
	t.Helper()
	plans := map[string]string{}
	for _, c := range f.Cases {
		t.Run(c.Name, func(t *testing.T) {
			got := plan(t, c)
			if again := plan(t, c); again != got {
				t.Errorf("the plan differs when it is made again: %s", cmp.Diff(got, again))
			}
			if diff := cmp.Diff(c.Plan, got); diff != "" && !update {
				t.Errorf("%s: -want +got (-update rewrites it):\n%s", c.Reason, diff)
			}
			plans[c.Name] = got
		})
	}
	if update {
		if err := os.WriteFile(filepath.Join(dir, f.Name+".txtar"), f.Format(plans), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Decode decodes a part of a case, in YAML, into a value. Without the part, the value
// stays as it is.
func Decode(t testing.TB, part []byte, into any) {
	t.Helper()
	if part == nil {
		return
	}
	if err := yaml.UnmarshalStrict(part, into); err != nil {
		t.Fatal(err)
	}
}

// RunPlans runs all golden files of testdata/plans, with the Service, or nothing where
// there is none, and the parts of each case. There are no templates.
func RunPlans(t *testing.T, update bool, parts []string, plan func(t *testing.T, spec []byte, c Case) string) {
	t.Helper()
	dir := filepath.Join("testdata", "plans")
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	for _, path := range paths {
		name, isText := strings.CutSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(filepath.Clean(path))
			if err != nil || !isText {
				t.Fatalf("%s is not a txtar file that can be read: %v", path, err)
			}
			f, err := Parse(name, data, append(parts, "service")...)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			f.Run(t, dir, update, func(t *testing.T, c Case) string {
				t.Helper()
				spec, own := c.Parts["service"]
				if !own {
					spec = f.Service
				}

				return plan(t, spec, c)
			})
		})
	}
}
