package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/all"
)

// mutation is a sample with one mistake in it.
type mutation struct {
	provider, rule string
	text           string
	line           int    // of the mistake
	want           string // the suggestion
}

// linesPerRule is how many lines of a sample get the mistake of a rule.
const linesPerRule = 3

// TestMutations: a mistake in a cloud-config is reported at its line, with what to write (FW-CONFIG-9). The
// commands share the flags of the process, so that these tests are not parallel.
func TestMutations(t *testing.T) {
	type count struct{ all, located, suggested, repeated int }
	counts := map[string]*count{}
	for _, m := range mutations(t) {
		c := counts[m.provider]
		if c == nil {
			c = new(count)
			counts[m.provider] = c
		}
		c.all++
		reports := validateText(t, m.text)
		located, suggested := false, false
		for i, r := range reports {
			if r.line == m.line && r.severity != "note" {
				located = true
				suggested = suggested || strings.Contains(r.message, m.want)
			}
			if slices.Contains(reports[:i], r) {
				c.repeated++
				t.Errorf("%s: %s: reported twice: %+v\n%s", m.provider, m.rule, r, m.text)
			}
		}
		if located {
			c.located++
		} else {
			t.Errorf("%s: %s: nothing is reported in line %d but %+v in\n%s", m.provider, m.rule, m.line, reports, m.text)
		}
		if suggested {
			c.suggested++
		} else {
			t.Logf("%s: %s: line %d has no %q in %+v", m.provider, m.rule, m.line, m.want, reports)
		}
	}
	for _, name := range providerNames(all.Descriptors()) {
		c := counts[name]
		t.Logf("%s: %d mutated cloud-configs, %d (%d %%) reported at the right line, %d (%d %%) with the right suggestion",
			name, c.all, c.located, 100*c.located/c.all, c.suggested, 100*c.suggested/c.all)
		if c.all < 60 || 10*c.suggested < 9*c.all {
			t.Errorf("%s: %d mutated cloud-configs, %d with the right suggestion: want at least 60, and 90 %% of them", name, c.all, c.suggested)
		}
	}
}

// TestSamples: the samples that are mutated have no problem, although files that they name do not exist (FW-CONFIG-10).
func TestSamples(t *testing.T) {
	for _, path := range samples(t) {
		if reports := validateText(t, read(t, path)); len(reports) > 0 {
			t.Errorf("%s: %+v", path, reports)
		}
	}
}

func samples(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "samples", "*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no samples: %v", err)
	}

	return paths
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	return string(data)
}

// report is one problem that config validate prints.
type report struct {
	severity string
	line     int
	message  string
}

var printedReport = regexp.MustCompile(`(?m)^(?:(note|warning|error): )?(?:.*?)cloud\.conf:(\d+)(?::\d+)?: (.*)$|^(error|warning): (.*)$`)

// validateText returns what config validate prints about a file: problems, and those with which it ends.
func validateText(t *testing.T, text string, flags ...string) []report {
	t.Helper()
	cmd := newConfigCommand(all.Descriptors())
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	var printed bytes.Buffer
	cmd.SetOut(&bytes.Buffer{})
	cmd.SetErr(&printed)
	cmd.SetArgs(append([]string{"validate", "--cloud-config=" + configFile(t, text)}, flags...))
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		fmt.Fprintln(&printed, err)
	}
	var reports []report
	for _, found := range printedReport.FindAllStringSubmatch(printed.String(), -1) {
		line, _ := strconv.Atoi(found[2])
		reports = append(reports, report{severity: found[1] + found[4], line: line, message: found[3] + found[5]})
	}

	return reports
}

// mutations applies each rule to lines all over each sample.
func mutations(t *testing.T) []mutation {
	t.Helper()
	var list []mutation
	for _, path := range samples(t) {
		sample := newSample(read(t, path))
		rules := append(slices.Clone(iniRules), valueRules(sample.provider)...)
		if filepath.Ext(path) == ".yaml" {
			rules = yamlRules
		}
		for _, r := range rules {
			var changed []mutation
			for i, line := range sample.lines {
				if lines, want, ok := r.mutate(line); ok {
					text := slices.Concat(sample.texts[:i], lines, sample.texts[i+1:])
					changed = append(changed, mutation{
						provider: sample.provider, rule: r.name, text: strings.Join(text, "\n") + "\n", line: i + 1 + r.after, want: want,
					})
				}
			}
			step := max(1, len(changed)/linesPerRule)
			for i := 0; i < len(changed) && i < step*linesPerRule; i += step {
				list = append(list, changed[i])
			}
		}
	}

	return list
}

// sample is a cloud-config by its lines.
type sample struct {
	provider string
	texts    []string
	lines    []line
}

// line is one line of a sample. The line of a section has no key.
type line struct {
	text, indent         string
	header, section, sub string
	key, value           string
	number               int
	// selects marks the line of the provider.
	selects bool
}

var (
	iniHeader = regexp.MustCompile(`^\[(\S+?)(?: "(.*)")?\]$`)
	iniKey    = regexp.MustCompile(`^(\S+) = (.*)$`)
	yamlKey   = regexp.MustCompile(`^( *)([A-Za-z0-9]+):(?: (.*))?$`)
)

func newSample(text string) sample {
	s := sample{texts: strings.Split(strings.TrimSuffix(text, "\n"), "\n")}
	header := line{}
	for i, text := range s.texts {
		l := line{text: text, header: header.header, section: header.section, sub: header.sub, number: i + 1}
		if found := iniHeader.FindStringSubmatch(text); found != nil {
			header = line{header: text, section: found[1], sub: found[2]}
			l.header, l.section, l.sub = header.header, header.section, header.sub
		} else if found := iniKey.FindStringSubmatch(text); found != nil {
			l.key, l.value = found[1], found[2]
		} else if found := yamlKey.FindStringSubmatch(text); found != nil {
			l.indent, l.key, l.value = found[1], found[2], found[3]
		}
		if l.key == "provider" {
			s.provider, l.selects = l.value, true
		}
		s.lines = append(s.lines, l)
	}

	return s
}
