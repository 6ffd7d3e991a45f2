package main

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/config"
)

// anyName stands for the name of a section that the user chooses.
const anyName = "name"

// section is a part of a cloud-config.
type section struct {
	name config.Name
	text string
	keys []key
}

// key is a setting in a section.
type key struct {
	name config.Name
	// kind is the form of its value.
	kind string
	// fallback is the default.
	fallback string
	text     string
}

// owner is a struct as its comments are found: by package and path.
type owner struct{ pkg, path string }

func (o owner) field(name string) owner { return owner{o.pkg, o.path + "." + name} }

func ownerOf(t reflect.Type) owner { return owner{t.PkgPath(), t.Name()} }

// sections lists what a cloud-config can hold that is decoded into target, in
// the order it is declared.
func (l *library) sections(target any) ([]section, error) {
	var list []section
	top := reflect.TypeOf(target).Elem()
	for field := range top.Fields() {
		if !field.IsExported() {
			continue
		}
		s := section{name: config.Name{Section: fileName(field)}}
		body := field.Type
		if body.Kind() == reflect.Map {
			s.name.Sub = anyName
			body = body.Elem().Elem()
		}
		holder := ownerOf(top).field(field.Name)
		var err error
		if s.text, err = l.sectionText(field, holder, body); err != nil {
			return nil, err
		}
		if body.Name() != "" {
			holder = ownerOf(body)
		}
		if s.keys, err = l.keys(s.name, body, holder); err != nil {
			return nil, err
		}
		list = append(list, s)
	}

	return list, nil
}

// sectionText is the comment of the section, and the sentences that the comment
// of its type adds after the first one.
func (l *library) sectionText(field reflect.StructField, holder owner, body reflect.Type) (string, error) {
	text, err := l.comment(holder)
	if err != nil {
		return "", err
	}
	text = description(text, field.Name)
	if body.Name() == "" {
		return text, nil
	}
	more, err := l.comment(ownerOf(body))
	if err != nil {
		return "", err
	}
	if text == "" {
		return description(more, body.Name()), nil
	}
	_, more, _ = strings.Cut(more, ". ")

	return strings.TrimSpace(text + " " + more), nil
}

// keys lists the keys of a section, those of embedded structs included.
func (l *library) keys(name config.Name, body reflect.Type, holder owner) ([]key, error) {
	var list []key
	for field := range body.Fields() {
		if field.Anonymous {
			lent, err := l.keys(name, field.Type, ownerOf(field.Type))
			if err != nil {
				return nil, err
			}
			list = append(list, lent...)

			continue
		}
		if !field.IsExported() {
			continue
		}
		name.Key = fileName(field)
		text, err := l.comment(holder.field(field.Name))
		if err != nil {
			return nil, err
		}
		if text == "" {
			return nil, fmt.Errorf("%s: %s.%s has no comment", name, holder.path, field.Name)
		}
		text, fallback, _ := strings.Cut(text, "Default: ")
		if field.Type.Kind() == reflect.Bool {
			fallback = cmp.Or(fallback, "false")
		}
		list = append(list, key{
			name: name, kind: kind(field.Type), fallback: fallback,
			text: description(strings.TrimSpace(text), field.Name),
		})
	}

	return list, nil
}

// comment returns a comment as one line.
func (l *library) comment(of owner) (string, error) {
	all, err := l.of(of.pkg)
	if err != nil {
		return "", err
	}

	return strings.Join(strings.Fields(all[of.path]), " "), nil
}

// description returns a comment without the name in the code that it begins with:
// "Port is the HTTPS port." is "HTTPS port."
func description(text, name string) string {
	rest, ok := strings.CutPrefix(text, name+" ")
	if !ok {
		return text
	}
	for _, verb := range []string{"is the ", "are the ", "is ", "are "} {
		if short, ok := strings.CutPrefix(rest, verb); ok {
			rest = short

			break
		}
	}
	if rest == "" {
		return ""
	}

	return strings.ToUpper(rest[:1]) + rest[1:]
}

// fileName is what a struct field is called in a file.
func fileName(field reflect.StructField) string {
	if name, _, _ := strings.Cut(field.Tag.Get("gcfg"), ","); name != "" {
		return name
	}

	return strings.ReplaceAll(field.Name, "_", "-")
}

// kind describes the form of a value.
func kind(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[config.Secret]():
		return "secret text"
	case reflect.TypeFor[config.Duration]():
		return "duration such as 30s"
	case reflect.TypeFor[config.CIDRs]():
		return "list of address blocks"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	case reflect.Slice:
		return "list"
	case reflect.Map:
		return "mapping"
	default:
		return "number"
	}
}
