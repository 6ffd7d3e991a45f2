package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"gopkg.in/gcfg.v1"
	"gopkg.in/warnings.v0"
)

// Schema is what a reader of cloud-configs knows beyond the keys it decodes.
type Schema struct {
	// Aliases are other spellings of sections, by their lower-case name:
	// "vcenter" for VirtualCenter in YAML files.
	Aliases map[string]string
	// Foreign are sections and keys that other programs read in the same
	// files. They get a note that says whose they are.
	Foreign map[Name]string
	// Unsupported are sections that are known but do nothing yet. Each gets one
	// warning with the text given.
	Unsupported map[string]string
}

// Decode reads the file into the targets: pointers to structs of sections, as
// gcfg takes them, each of which takes the keys it knows. It reports every bad
// value and every name that no target knows.
func (f *File) Decode(schema Schema, targets ...any) Problems {
	d := decoder{schema: schema, targets: targets, reported: map[Name]bool{}}
	for _, e := range f.entries {
		if section, ok := schema.Aliases[strings.ToLower(e.name.Section)]; ok {
			e.name.Section = section
		}
		d.entry(e)
	}
	d.problems.sort()
	return d.problems
}

type decoder struct {
	schema   Schema
	targets  []any
	problems Problems
	reported map[Name]bool
}

func (d *decoder) entry(e entry) {
	if text, ok := lookupSection(d.schema.Unsupported, e.name.Section); ok {
		if d.first(Name{Section: e.name.Section}) {
			d.problems.Warnf(e.at, "%s", text)
		}
		return
	}
	known := false
	for _, target := range d.targets {
		err := gcfg.ReadStringInto(target, e.source())
		if isUnknown(err) {
			continue
		}
		known = true
		if err != nil {
			d.problems.Errorf(e.at, "%s: %s", e.name, valueError(err, e))
			return
		}
	}
	if !known {
		d.unknown(e)
	}
}

// source is the entry as a gcfg text of its own.
func (e entry) source() string {
	header := "[" + e.name.Section + "]"
	if e.name.Sub != "" {
		sub, _ := quote(e.name.Sub) // it was read from a file
		header = fmt.Sprintf("[%s %s]", e.name.Section, sub)
	}
	switch {
	case e.name.Key == "":
		return header
	case e.blank:
		return header + "\n" + e.name.Key
	}
	return header + "\n" + e.name.Key + " = " + e.literal
}

// isUnknown tells gcfg's "no such name" from a value it could not take.
func isUnknown(err error) bool {
	var list warnings.List
	return errors.As(err, &list) && list.Fatal == nil
}

// valueError is the cause that gcfg gives for a bad value, without the place
// that the message has already.
func valueError(err error, e entry) string {
	text := err.Error()
	if i := strings.LastIndex(text, " at section "); i > 0 {
		text = text[:i]
	}
	if e.blank {
		return "needs a value"
	}
	return text
}

func (d *decoder) unknown(e entry) {
	section := Name{Section: e.name.Section}
	for _, name := range []Name{section, {Section: e.name.Section, Key: e.name.Key}} {
		owner, ok := d.schema.Foreign[name.fold()]
		if !ok {
			continue
		}
		if d.first(name) {
			d.problems = append(d.problems, Problem{Position: e.at, Severity: Note, Message: fmt.Sprintf("%s is ignored: %s", name, owner)})
		}
		return
	}
	kinds := sectionKinds(d.targets)
	takesNames, known := lookupSection(kinds, e.name.Section)
	switch {
	case !known:
		if d.first(section) {
			d.unknownName(e.at, "unknown section "+section.String(), nearest(e.name.Section, slices.Sorted(maps.Keys(kinds))), "[%s]")
		}
	case e.name.Sub != "" && !takesNames:
		if section.Sub = e.name.Sub; d.first(section) {
			d.unknownName(e.at, fmt.Sprintf("section [%s] takes no name in quotes: %s is ignored", e.name.Section, section), "", "")
		}
	default:
		d.unknownName(e.at, "unknown key "+e.name.String(), nearest(e.name.Key, keysOf(d.targets, e.name.Section)), "%s")
	}
}

func (d *decoder) unknownName(at Position, message, suggestion, format string) {
	if suggestion != "" {
		message += ", did you mean " + fmt.Sprintf(format, suggestion) + "?"
	}
	d.problems = append(d.problems, Problem{Position: at, Severity: Warning, Message: message, unknown: true})
}

// first tells whether this is the first report about a name.
func (d *decoder) first(name Name) bool {
	name = name.fold()
	seen := d.reported[name]
	d.reported[name] = true
	return !seen
}

// lookupSection finds a section by its name as gcfg compares names.
func lookupSection[V any](sections map[string]V, section string) (V, bool) {
	for name, value := range sections {
		if strings.EqualFold(name, section) {
			return value, true
		}
	}
	var none V
	return none, false
}

// nearest returns the known name that a mistyped one was probably meant to be,
// or nothing where none is near.
func nearest(name string, known []string) string {
	best, distance := "", len(name)/3+1
	for _, candidate := range known {
		d := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(candidate))
		if d < distance || d == distance && best == "" {
			best, distance = candidate, d
		}
	}
	return best
}
