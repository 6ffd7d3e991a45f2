package config

import "fmt"

// Scope is what of a cloud-config is checked.
type Scope int

const (
	// TextOnly opens no file that the cloud-config names: they are those of the Pod.
	TextOnly Scope = iota
	// WithFiles opens them, as at the start.
	WithFiles
)

// Resolver converts a decoded cloud-config to settings. A provider decodes
// a file with it, checks what the file sets, and fills in what it does not set.
//
// It is not for settings that are the same for every provider: those are in
// [Settings].
type Resolver struct {
	File     *File
	Schema   Schema
	Settings *Settings
	// Origins are those of the values that are not in the file under their own name.
	Origins Origins
	// Problems are all that were found, in any order until Finish.
	Problems Problems
}

// NewResolver returns the Resolver of a file. Without a cloud-config the file is
// nil, and nothing is set.
func NewResolver(file *File, schema Schema) *Resolver {
	if file == nil {
		file = new(File)
	}

	return &Resolver{File: file, Schema: schema, Settings: NewSettings(), Origins: Origins{}}
}

// Decode reads the file into the target of the provider of this name and into
// Settings.
func (r *Resolver) Decode(provider string, target any) {
	r.Problems = append(r.Problems, r.File.Decode(r.Schema, r.Settings, target)...)
	r.Problems = append(r.Problems, r.Settings.Validate(r.File)...)
	if name := r.Settings.Global.Provider; name != "" && name != provider {
		r.Errorf(Name{Section: "Global", Key: "provider"}, "this file is for provider %q, not for %s", name, provider)
	}
}

// At returns where a key is in the file.
func (r *Resolver) At(name Name) Position { return r.File.At(r.Schema, name) }

// Spell writes the name of a key the way the file would.
func (r *Resolver) Spell(name Name) string { return r.File.Spell(r.Schema, name) }

// Origin returns where the value of a key comes from.
func (r *Resolver) Origin(name Name) string {
	if origin, ok := r.Origins[name]; ok {
		return origin
	}

	return r.At(name).String()
}

// Errorf reports a value that cannot be used.
func (r *Resolver) Errorf(name Name, format string, args ...any) {
	r.Problems.Errorf(r.At(name), "%s: %s", r.Spell(name), fmt.Sprintf(format, args...))
}

// Warnf reports a value that is doubtful.
func (r *Resolver) Warnf(name Name, format string, args ...any) {
	r.Problems.Warnf(r.At(name), "%s: %s", r.Spell(name), fmt.Sprintf(format, args...))
}

// Default sets a key that is zero to its default. One that the
// file sets to zero counts as not set.
func Default[T comparable](r *Resolver, name Name, value *T, fallback T) {
	var zero T
	if *value == zero {
		*value = fallback
		r.Origins[name] = byDefault
	}
}

// DefaultList is Default for a list: an empty one counts as not set.
func DefaultList[L ~[]T, T any](r *Resolver, name Name, value *L, fallback ...T) {
	if len(*value) == 0 {
		*value = fallback
		r.Origins[name] = byDefault
	}
}

// mostProblems is how many problems of a file are listed.
const mostProblems = 100

// Finish returns all problems in the order of the file, each once. In a strict file an
// unknown name is an error.
func (r *Resolver) Finish() Problems {
	r.Problems.Sort()
	r.Problems = r.Problems.limit(mostProblems)
	if r.Settings.Multicloud.Strict {
		r.Problems = r.Problems.Strict()
	}

	return r.Problems
}

// Explain lists Settings and the keys of the target, with their values and where
// those came from.
func (r *Resolver) Explain(target any) []Setting {
	return r.File.Explain(r.Schema, r.Origins, r.Settings, target)
}
