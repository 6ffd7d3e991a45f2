package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// unknownSection reports a section by its first entry, which is its header.
func (d *decoder) unknownSection(e entry) {
	section := Name{Section: e.name.Section}
	if d.foreign(e, section) || !d.first(section) {
		return
	}
	known := slices.Sorted(maps.Keys(d.sections))
	if d.format == YAML {
		for i := range known {
			known[i] = spell(YAML, d.schema, Name{Section: known[i]})
		}
	}
	suggestion := nearest(e.name.Section, known)
	if suggestion != "" && d.format == INI {
		suggestion = "[" + suggestion + "]"
	}
	d.unknownName(e.at, "unknown section "+e.written, suggestion)
}

// unexpectedSub reports a name in quotes, or a mapping in YAML, where the
// section takes none. What is inside is not looked at: it may be the value of a
// password that needed quotes.
func (d *decoder) unexpectedSub(e entry) {
	if !d.first(Name{Section: e.name.Section, Sub: e.name.Sub}) {
		return
	}
	if d.format == INI {
		d.unknownName(e.at, fmt.Sprintf("section [%s] takes no name in quotes: %s is ignored", e.name.Section, e.written), "")

		return
	}
	e.name = Name{Section: e.name.Section, Key: kebab(e.name.Sub)}
	if _, known := d.field(e.name); known {
		d.problems.Errorf(e.at, "%s must be a plain value, not a mapping", e.written)

		return
	}
	d.unknownKey(e)
}

func (d *decoder) unknownKey(e entry) {
	if d.foreign(e, Name{Section: e.name.Section, Key: e.name.Key}) {
		return
	}
	var keys []string
	suggestion := ""
	for _, f := range d.fields {
		switch {
		case strings.EqualFold(f.name.Section, e.name.Section):
			keys = append(keys, f.name.Key)
		case strings.EqualFold(f.name.Key, e.name.Key) && suggestion == "":
			suggestion = d.spellKey(f.name)
		}
	}
	if near := nearest(e.name.Key, keys); suggestion == "" && d.format == YAML {
		suggestion = camel(near)
	} else if suggestion == "" {
		suggestion = near
	}
	d.unknownName(e.at, "unknown key "+e.written, suggestion)
}

// spellKey writes a key of another section the way the file would.
func (d *decoder) spellKey(name Name) string {
	if d.sections[name.Section] {
		name.Sub = "…"
	}

	return spell(d.format, d.schema, name)
}

// foreign notes a name that another program owns, once.
func (d *decoder) foreign(e entry, name Name) bool {
	owner, ok := d.schema.foreign(name)
	if ok && d.first(name) {
		d.problems = append(d.problems, Problem{Position: e.at, Severity: Note, Message: fmt.Sprintf("%s is ignored: %s", e.written, owner)})
	}

	return ok
}

func (d *decoder) unknownName(at Position, message, suggestion string) {
	if suggestion != "" {
		message += ", did you mean " + suggestion + "?"
	}
	d.problems.strictf(at, "%s", message)
}

// first reports whether this is the first report about a name.
func (d *decoder) first(name Name) bool {
	name = name.fold()
	seen := d.reported[name]
	d.reported[name] = true

	return !seen
}

// Nearest returns the known name that a mistyped one was probably meant to be, or nothing where none
// is near.
func Nearest(name string, known ...string) string { return nearest(name, known) }

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
