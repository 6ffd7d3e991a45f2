package config

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// field is one key of a decoded section.
type field struct {
	name  Name
	value reflect.Value
}

// takesList reports whether a list can be the value of the key.
func (f field) takesList() bool {
	return f.value.Kind() == reflect.Slice
}

// takesMapping reports whether a mapping can be the value of the key.
func (f field) takesMapping() bool {
	return f.value.Kind() == reflect.Map
}

// repeats reports whether each line of the key adds a value.
func (f field) repeats() bool {
	return f.value.Kind() == reflect.Slice && f.value.Type().Name() == ""
}

// kind returns the kind of values that gcfg reads. It is invalid for a type that reads its text itself.
func (f field) kind() reflect.Kind {
	if !f.value.IsValid() {
		return reflect.Invalid
	}
	t := f.value.Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return reflect.Invalid
	}

	return t.Kind()
}

// fields lists the keys of all sections of the targets in the order they are
// declared, subsections sorted. With no values in a map of subsections, schema
// lists the keys such a subsection can have.
func fields(targets []any, schema bool) []field {
	var list []field
	for _, target := range targets {
		sections := reflect.ValueOf(target).Elem()
		for i := range sections.NumField() {
			section, declared := sections.Field(i), sections.Type().Field(i)
			name := Name{Section: gcfgName(declared)}
			switch {
			case !declared.IsExported():
			case section.Kind() == reflect.Map && schema:
				list = append(list, sectionFields(name, reflect.New(section.Type().Elem().Elem()).Elem())...)
			case section.Kind() == reflect.Map:
				for _, sub := range sortedKeys(section) {
					name.Sub = sub
					list = append(list, sectionFields(name, section.MapIndex(reflect.ValueOf(sub)).Elem())...)
				}
			case section.Kind() == reflect.Struct:
				list = append(list, sectionFields(name, section)...)
			}
		}
	}

	return list
}

// sectionFields lists the keys of one section; embedded structs lend theirs.
func sectionFields(section Name, value reflect.Value) []field {
	var list []field
	for i := range value.NumField() {
		declared := value.Type().Field(i)
		switch {
		case declared.Anonymous && declared.Type.Kind() == reflect.Struct:
			list = append(list, sectionFields(section, value.Field(i))...)
		case declared.IsExported():
			section.Key = gcfgName(declared)
			list = append(list, field{name: section, value: value.Field(i)})
		}
	}

	return list
}

// gcfgName is what a struct field is called in a file.
func gcfgName(f reflect.StructField) string {
	if name, _, _ := strings.Cut(f.Tag.Get("gcfg"), ","); name != "" {
		return name
	}

	return strings.ReplaceAll(f.Name, "_", "-")
}

// Section is what cloud-configs can have in sections of one name.
type Section struct {
	// Names are those that mean the section, the usual one first.
	Names []string
	// Keys are those that are decoded and those of other programs. Nil means any.
	Keys []string
	// Subsections reports whether sections have another name in quotes.
	Subsections bool
}

// Sections lists the sections of the targets, and those of other programs, by their names.
func Sections(schema Schema, targets ...any) []Section {
	var list []Section
	for name, subsections := range sectionKinds(targets) {
		s := Section{Names: []string{name}, Subsections: subsections}
		for alias, known := range schema.Aliases {
			if known == name && !strings.EqualFold(alias, name) {
				s.Names = append(s.Names, alias)
			}
		}
		for _, f := range fields(targets, true) {
			if f.name.Section == name {
				s.Keys = append(s.Keys, f.name.Key)
			}
		}
		for foreign := range schema.Foreign {
			if foreign.Section == name {
				s.Keys = append(s.Keys, foreign.Key)
			}
		}
		slices.Sort(s.Keys)
		list = append(list, s)
	}
	for foreign := range schema.Foreign {
		if foreign.Key == "" {
			list = append(list, Section{Names: []string{foreign.Section}})
		}
	}
	slices.SortFunc(list, func(a, b Section) int { return strings.Compare(a.Names[0], b.Names[0]) })

	return list
}

func sortedKeys(m reflect.Value) []string {
	keys := make([]string, 0, m.Len())
	for _, key := range m.MapKeys() {
		keys = append(keys, key.String())
	}
	slices.Sort(keys)

	return keys
}

// sectionKinds reports, by its name, whether each section of the targets takes
// subsections.
func sectionKinds(targets []any) map[string]bool {
	kinds := map[string]bool{}
	for _, target := range targets {
		t := reflect.TypeOf(target).Elem()
		for f := range t.Fields() {
			if f.IsExported() {
				kinds[gcfgName(f)] = f.Type.Kind() == reflect.Map
			}
		}
	}

	return kinds
}

// Setting is one effective key of a configuration, for people to read.
type Setting struct {
	Name  Name
	Value string
	// Source is where the value came from: a place in the file, an environment
	// variable, "default".
	Source string
}

// byDefault is the origin of what nothing sets.
const byDefault = "default"

// Origins has where values came from that are not in the file under their own name:
// inherited, or from the environment.
type Origins map[Name]string

// Explain lists every key that the decoded targets hold, with its value and
// where that came from. The keys of a section are listed together, although
// several targets may have some. Secrets stay hidden, also those in URLs. A target's zero pointer
// is a key that was not set.
func (f *File) Explain(schema Schema, origins Origins, targets ...any) []Setting {
	places := map[Name]string{}
	for _, e := range f.entries {
		if !e.null {
			places[schema.canonical(e.name).fold()] = e.at.String()
		}
	}
	settings := make([]Setting, 0, len(places))
	for _, field := range fields(targets, false) {
		setting := Setting{Name: field.name, Value: text(field.value), Source: byDefault}
		if place, ok := places[field.name.fold()]; ok {
			setting.Source = place
		}
		if origin, ok := origins[field.name]; ok {
			setting.Source = origin
		}
		settings = append(settings, setting)
	}

	return bySection(settings)
}

// bySection brings the settings of each section together, in the order in which
// sections come first.
func bySection(settings []Setting) []Setting {
	order := map[string]int{}
	for i, s := range settings {
		if _, seen := order[s.Name.Section]; !seen {
			order[s.Name.Section] = i
		}
	}
	slices.SortStableFunc(settings, func(a, b Setting) int { return order[a.Name.Section] - order[b.Name.Section] })

	return settings
}

// At returns where a key is in the file: its last line, which is the one
// that counts, else its section, else the file.
func (f *File) At(schema Schema, name Name) Position {
	at := Position{Path: f.Path}
	wanted, header := name.fold(), Name{Section: name.Section, Sub: name.Sub}.fold()
	found := false
	for _, e := range f.entries {
		switch schema.canonical(e.name).fold() {
		case wanted:
			at, found = e.at, true
		case header:
			if !found {
				at = e.at
			}
		}
	}

	return at
}

// Lines returns where the values of a key are of which each line adds one.
func (f *File) Lines(schema Schema, name Name) []Position {
	var lines []Position
	for _, e := range f.entries {
		switch {
		case schema.canonical(e.name).fold() != name.fold():
		case e.blank:
			lines = nil // it removes the values before it
		default:
			lines = append(lines, e.at)
		}
	}

	return lines
}

// text formats a value for people, without credentials in URLs. An empty secret shows that it is
// empty.
func text(value reflect.Value) string {
	for value.Kind() == reflect.Pointer {
		if value.IsNil() {
			return ""
		}
		value = value.Elem()
	}
	if value.Kind() == reflect.String && value.Len() == 0 {
		return ""
	}

	if lines, ok := reflect.TypeAssert[[]string](value); ok {
		return List(lines).String()
	}

	return RedactURLs(fmt.Sprint(value.Interface()))
}
