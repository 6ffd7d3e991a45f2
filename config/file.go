package config

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// maxSize bounds what is read of a file: a Kubernetes Secret or ConfigMap
// cannot be larger.
const maxSize = 1 << 20

// Format is the language a cloud-config is written in.
type Format int

// The formats of cloud-configs. YAML is read for vSphere only.
const (
	INI Format = iota
	YAML
)

// String names the format.
func (f Format) String() string {
	return [...]string{"gcfg", "YAML"}[f]
}

// File is a cloud-config that parsed. It does not change.
type File struct {
	Path   string
	Format Format

	data    []byte
	entries []entry
	once    bool
}

// Name is the full name of a setting. Sub is empty in a section without
// subsections, Key is empty where the section itself is meant.
type Name struct {
	Section, Sub, Key string
}

// String writes the name as it is in a file: [Section "sub"] key.
func (n Name) String() string {
	section := "[" + n.Section + "]"
	if n.Sub != "" {
		section = fmt.Sprintf("[%s %q]", n.Section, n.Sub)
	}
	if n.Key == "" {
		return section
	}

	return section + " " + n.Key
}

// fold makes names comparable the way gcfg compares them: section and key
// without regard to case, the subsection exactly.
func (n Name) fold() Name {
	return Name{Section: strings.ToLower(n.Section), Sub: n.Sub, Key: strings.ToLower(n.Key)}
}

// entry is one line of a file: a key with its value, or a section header, which
// comes before its keys.
type entry struct {
	name Name
	at   Position
	// written is the name the way the file spells it, for messages.
	written string
	// literal is the value as gcfg source text; blank marks a key without one.
	literal string
	blank   bool
	// doubt is why the value may not be the one that is meant.
	doubt string

	// What only YAML can express: a null, a list, a mapping, whose keys are also
	// those of a subsection, and what is wrong with a value that is none of these.
	null    bool
	list    bool
	mapping bool
	fault   string
}

// Read reads and parses the cloud-config at path. Errors name the path.
func Read(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read cloud-config: %w", err)
	}
	defer f.Close() //nolint:errcheck // nothing was written

	return ReadFrom(f)
}

// ReadFrom parses a cloud-config from an open reader. A reader with a name, such as *os.File, sets
// it in messages. What [File.Reader] returns is the file itself.
func ReadFrom(r io.Reader) (*File, error) {
	if handed, ok := r.(*fileReader); ok {
		return handed.file, nil
	}
	path, once := "cloud-config", false
	if named, ok := r.(interface{ Name() string }); ok {
		path = named.Name()
	}
	if opened, ok := r.(*os.File); ok {
		info, err := opened.Stat()
		once = err == nil && !info.Mode().IsRegular()
	}
	data, err := readAll(r)
	if err != nil {
		return nil, fmt.Errorf("read cloud-config %s: %w", path, err)
	}
	file, err := Parse(path, data)
	if err == nil {
		file.once = once
	}

	return file, err
}

// fileReader reads the content of a file that was parsed.
type fileReader struct {
	*bytes.Reader

	file *File
}

// Reader returns the content of the file, for the factory of a provider.
func (f *File) Reader() io.Reader { return &fileReader{Reader: bytes.NewReader(f.data), file: f} }

// ReadOnce reports whether the content cannot be read again: it is from a pipe such as /dev/fd/3.
func (f *File) ReadOnce() bool { return f.once }

// ReadFile is [os.ReadFile] for a file that a setting names, such as one with a
// certificate: a larger one than a Secret can be is an error.
func ReadFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	data, err := readAll(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}

	return data, nil
}

func readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if err == nil && len(data) > maxSize {
		err = fmt.Errorf("larger than %d bytes", maxSize)
	}

	return data, err
}

// Parse parses a cloud-config.
func Parse(path string, data []byte) (*File, error) {
	text := withoutBOM(data)
	file := &File{Path: path, Format: detect(text), data: bytes.Clone(data)}
	var err error
	if file.Format == YAML {
		file.entries, err = parseYAML(path, text)
	} else if err = checkINI(path, text); err == nil {
		file.entries = iniEntries(path, text)
	}
	if err != nil {
		return nil, err // every line of it names the file
	}

	return file, nil
}

// Same reports whether data is, to the byte, what the file was parsed from.
func (f *File) Same(data []byte) bool {
	return bytes.Equal(f.data, data)
}

// Spell writes the name of a key the way this file would: [Global] ca-file, or
// global.caFile in YAML.
func (f *File) Spell(schema Schema, name Name) string {
	return spell(f.Format, schema, name)
}

func spell(format Format, schema Schema, name Name) string {
	if format == INI {
		return name.String()
	}
	section := lowerFirst(name.Section)
	for _, alias := range slices.Sorted(maps.Keys(schema.Aliases)) {
		if strings.EqualFold(schema.Aliases[alias], name.Section) {
			section = alias
		}
	}

	return dotted(section, name.Sub, camel(name.Key))
}

// Blank reports whether the file holds nothing at all, not even a comment.
func (f *File) Blank() bool {
	return len(bytes.TrimSpace(withoutBOM(f.data))) == 0
}

// Empty reports whether the file sets nothing: no section and no key.
func (f *File) Empty() bool {
	return len(f.entries) == 0
}

// assignment matches a key and its value in an INI file.
var assignment = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*\s*=`)

// detect returns the format of a text by its first line that is no comment.
func detect(text []byte) Format {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0 || line[0] == '#' || line[0] == ';':
		case line[0] == '[' || assignment.Match(line):
			return INI
		default:
			return YAML
		}
	}

	return INI
}

func withoutBOM(data []byte) []byte {
	return bytes.TrimPrefix(data, []byte("\ufeff"))
}
