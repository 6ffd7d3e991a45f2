package config

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/gcfg.v1"
	"gopkg.in/warnings.v0"
)

// Schema describes names in cloud-configs beyond the keys that are decoded.
// Names are compared without regard to case.
type Schema struct {
	// Aliases are other spellings of sections, by their lower-case name:
	// "vcenter" for VirtualCenter in YAML files.
	Aliases map[string]string
	// Foreign are sections and keys that other programs read in the same files,
	// without subsections. They get a note that names their owner.
	Foreign map[Name]string
}

// canonical returns a name with its section as the decoded structs call it.
func (s Schema) canonical(name Name) Name {
	if section, ok := s.Aliases[strings.ToLower(name.Section)]; ok {
		name.Section = section
	}

	return name
}

// foreign returns the owner of a section or key that no target has.
func (s Schema) foreign(name Name) (owner string, ok bool) {
	for known, owner := range s.Foreign {
		if known.fold() == name.fold() {
			return owner, true
		}
	}

	return "", false
}

// Decode reads the file into the targets: pointers to structs of sections, as
// gcfg takes them, each of which takes the keys it has. It reports every bad
// value and every name that no target has.
func (f *File) Decode(schema Schema, targets ...any) Problems {
	d := decoder{
		format:   f.Format,
		schema:   schema,
		targets:  targets,
		sections: sectionKinds(targets),
		fields:   fields(targets, true),
		reported: map[Name]bool{},
		lines:    map[Name]int{},
	}
	for _, e := range f.entries {
		e.name = schema.canonical(e.name)
		d.entry(e)
	}
	d.problems.Sort()

	return d.problems
}

// Set sets one key of a target to a value that comes from elsewhere than a file,
// such as the environment. It reads the text as if it were in a file, in
// quotes; the error names no place and no key.
func Set(target any, name Name, value string) error {
	literal, err := quote(value)
	if err != nil {
		return err
	}
	e := entry{name: name, literal: literal}
	d := decoder{fields: fields([]any{target}, true)}
	err = gcfg.ReadStringInto(target, e.source())
	switch {
	case isUnknown(err):
		return fmt.Errorf("no such key: %s", name)
	case err != nil:
		return errors.New(d.valueError(e, err))
	}

	return nil
}

type decoder struct {
	format  Format
	schema  Schema
	targets []any
	// sections reports for each known section whether it takes subsections.
	sections map[string]bool
	fields   []field
	problems Problems
	reported map[Name]bool
	// lines is where keys and sections are that were read.
	lines map[Name]int
}

func (d *decoder) entry(e entry) {
	takesNames, known := lookupSection(d.sections, e.name.Section)
	if done := d.mapping(e, takesNames); done {
		return
	}
	switch {
	case !known:
		d.unknownSection(e)
	case e.name.Sub != "" && !takesNames:
		d.unexpectedSub(e)
	case d.format == YAML && !d.plain(e, takesNames):
	default:
		d.set(e)
	}
}

// mapping sets a key to a mapping, and reports whether an entry is done with: a mapping that
// is no value, or a key of one that is.
func (d *decoder) mapping(e entry, takesNames bool) bool {
	key := Name{Section: e.name.Section, Key: e.name.Key}
	if e.name.Sub != "" {
		key.Key = kebab(e.name.Sub)
	}
	field, known := d.field(key)
	isValue := d.format == YAML && !takesNames && known && field.takesMapping()
	switch {
	case !e.mapping:
		return isValue && e.name.Sub != ""
	case !isValue:
	case e.fault != "":
		d.problems.Errorf(e.at, "%s %s", e.written, e.fault)
	default:
		d.set(e)
	}

	return true
}

// plain reports whether an entry of a YAML file is something that gcfg can
// express too: a header, or a key with a value of its own. It reports what is
// not.
func (d *decoder) plain(e entry, takesNames bool) bool {
	field, known := d.field(e.name)
	switch {
	case e.name.Key == "" && takesNames && e.name.Sub == "" && e.fault == "":
		return false // the mapping of subsections: each is an entry itself
	case e.name.Key != "" && takesNames && e.name.Sub == "" && e.null:
		d.problems.Errorf(e.at, "%s is empty (null)", e.written)
	case e.name.Key != "" && takesNames && e.name.Sub == "":
		d.problems.Errorf(e.at, "%s must be a mapping of keys to values", e.written)
	case e.name.Key != "" && !known:
		d.unknownKey(e)
	case e.fault != "":
		d.problems.Errorf(e.at, "%s %s", e.written, e.fault)
	case e.list && !field.takesList():
		d.problems.Errorf(e.at, "%s must be a plain value, not a list", e.written)
	default:
		return !e.null // a null leaves the key unset
	}

	return false
}

// set sets the entry in every target that has its key.
func (d *decoder) set(e entry) {
	known := false
	for _, target := range d.targets {
		err := gcfg.ReadStringInto(target, e.source())
		if isUnknown(err) {
			continue
		}
		known = true
		if err != nil {
			d.problems.Errorf(e.at, "%s: %s", e.written, joinTexts(d.valueError(e, err), e.doubt))

			return
		}
	}
	if !known {
		d.unknownKey(e)

		return
	}
	if e.doubt != "" {
		d.problems.strictf(e.at, "%s: %s", e.written, e.doubt)
	}
	d.checkTwice(e)
}

// checkTwice warns of a key that is set again, and of a section that begins again.
func (d *decoder) checkTwice(e entry) {
	name := e.name.fold()
	before, again := d.lines[name]
	d.lines[name] = e.at.Line
	field, isKey := d.field(e.name)
	switch {
	case !again || isKey && field.repeats():
	case isKey:
		d.problems.strictf(e.at, "%s is set in line %d, too, and this value takes effect: remove one of them", e.written, before)
	default:
		d.problems.strictf(e.at, "section %s begins in line %d already: write all of its keys there", e.written, before)
	}
}

// source is the entry as a gcfg text of its own.
func (e entry) source() string {
	header := "[" + e.name.Section + "]"
	if e.name.Sub != "" {
		header = fmt.Sprintf("[%s %s]", e.name.Section, quoteSub(e.name.Sub))
	}
	switch {
	case e.name.Key == "":
		return header
	case e.blank:
		return header + "\n" + e.name.Key
	}

	return header + "\n" + e.name.Key + " = " + e.literal
}

// isUnknown distinguishes gcfg's "no such name" from a value it could not take.
func isUnknown(err error) bool {
	var list warnings.List

	return errors.As(err, &list) && list.Fatal == nil
}

// valueError says what is wrong with a value, without the position that the message has already.
func (d *decoder) valueError(e entry, err error) string {
	field, _ := d.field(e.name)

	return field.valueError(e, err)
}

// valueError says what is wrong with a value of this key: in the words of its type, if that reads
// the text itself.
func (f field) valueError(e entry, err error) string {
	if e.blank || e.literal == "" || e.literal == `""` {
		return "needs a value"
	}
	text := unquoteValue(e.literal)
	switch f.kind() {
	case reflect.Bool:
		return fmt.Sprintf("%q must be true or false", text)
	case reflect.Int:
		return fmt.Sprintf("%q must be a whole number such as 10", text)
	case reflect.Int32:
		return fmt.Sprintf("%q must be a whole number up to %d", text, math.MaxInt32)
	case reflect.Uint:
		return fmt.Sprintf("%q must be a whole number, and not negative", text)
	case reflect.Float32:
		return fmt.Sprintf("%q must be a number such as 20 or 0.5", text)
	default:
		cause, _, _ := strings.Cut(err.Error(), " at section ")

		return cause
	}
}

func joinTexts(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "; ")
}

// field finds a key of the targets.
func (d *decoder) field(name Name) (field, bool) {
	for _, f := range d.fields {
		if strings.EqualFold(f.name.Section, name.Section) && strings.EqualFold(f.name.Key, name.Key) {
			return f, true
		}
	}

	return field{}, false
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
