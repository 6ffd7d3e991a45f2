package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Bounds of what aliases can blow a small YAML file up to.
const (
	maxYAMLEntries = 10000
	maxYAMLSteps   = 100 * maxYAMLEntries
)

// quoted matches what the YAML parser repeats from the file in its messages,
// which may be a piece of a password: from the first quote to the last.
var quoted = regexp.MustCompile("(?s)['\"`].*['\"`]")

// yamlLine is how the YAML parser formats a position.
var yamlLine = regexp.MustCompile(`^line (\d+): `)

// yamlMistakes are lines that YAML cannot mean, which its parser reports in other lines or words.
var yamlMistakes = []struct {
	line *regexp.Regexp
	text string
}{
	{regexp.MustCompile(`^ *\t`), "a line cannot begin with a tab: indent it with spaces"},
	{regexp.MustCompile(`^\s*[A-Za-z][A-Za-z0-9-]*:[^\s:/]`), "there must be a space after the colon, as in provider: vsphere"},
}

// yamlErrors says how to write what the YAML parser cannot read, by the beginning of its error.
var yamlErrors = []struct{ parser, text string }{
	{"mapping values are not allowed", "a line has one key: put a value that has a colon in it in quotes, and indent keys of one mapping alike"},
	{"could not find expected ':'", "there must be a colon and a space after a key, as in provider: vsphere"},
	{"did not find expected", "the line does not continue the one before: check its indentation, quotes and brackets"},
	{"found unexpected end of stream", "the quotes of a value are not closed"},
	{"found character that cannot start", "put a value that begins with this character in quotes"},
}

// parseYAML reads the one document of a YAML text, a mapping of sections. Empty documents after it, as
// a last line of --- makes them, do no harm.
func parseYAML(path string, text []byte) ([]entry, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var root *yaml.Node
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		switch {
		case errors.Is(err, io.EOF):
			return yamlEntries(path, root)
		case err != nil:
			return nil, yamlError(path, text, err)
		case root == nil:
			root = document.Content[0]
		case !isNull(document.Content[0]):
			return nil, fmt.Errorf("%s:%d: more than one YAML document", path, document.Content[0].Line)
		}
	}
}

// yamlError adds a position to an error of the YAML parser as all others have it,
// and takes the text of the file out.
func yamlError(path string, text []byte, err error) error {
	for number, line := range bytes.Split(text, []byte("\n")) {
		for _, mistake := range yamlMistakes {
			if mistake.line.Match(line) {
				return fmt.Errorf("%s:%d: %s", path, number+1, mistake.text)
			}
		}
	}
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if line := yamlLine.FindStringSubmatch(message); line != nil {
		path += ":" + line[1]
		message = message[len(line[0]):]
	}
	for _, known := range yamlErrors {
		if strings.HasPrefix(message, known.parser) {
			message = known.text
		}
	}

	return fmt.Errorf("%s: %s", path, quoted.ReplaceAllString(message, "(text)"))
}

// yamlEntries writes a YAML mapping as the gcfg lines that mean the same:
//
//	global:                     [global]
//	  caFile: /ca.pem           ca-file = "/ca.pem"
//	vcenter:
//	  east:                     [vcenter "east"]
//	    datacenters: [a, b]     datacenters = "a,b"
//
// One decoder, one set of names and one way to report problems then serve both
// formats. What gcfg cannot express is noted in the entry. The decoder reports it if
// the name is one of its targets; under a name of another program it is no problem.
func yamlEntries(path string, root *yaml.Node) ([]entry, error) {
	if root == nil || root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s:1: a cloud-config has sections such as [Global], or is a YAML mapping of sections such as global", path)
	}
	w := yamlWalker{path: path, set: map[Name]bool{}}
	for key, body := range w.pairs(root) {
		w.section(Name{Section: key.Value}, key, body)
	}

	return w.entries, w.problems.Err()
}

type yamlWalker struct {
	path     string
	entries  []entry
	set      map[Name]bool
	steps    int
	size     int
	problems Problems
}

func (w *yamlWalker) position(node *yaml.Node) Position {
	return Position{Path: w.path, Line: node.Line, Column: node.Column}
}

// section writes the header of a section and what is in it. A mapping inside a
// section is a subsection, and written as the value of a key as well: a JSON object.
func (w *yamlWalker) section(name Name, key, body *yaml.Node) {
	header := entry{name: name, at: w.position(key), written: dotted(name.Section, name.Sub, "")}
	if body.Kind != yaml.MappingNode && !isNull(body) {
		header.fault = "must be a mapping of keys to values"
	}
	w.add(header)
	if body.Kind != yaml.MappingNode {
		return
	}
	whole := entry{name: Name{Section: name.Section, Key: kebab(name.Sub)}, at: header.at, written: header.written, mapping: true}
	texts := map[string]string{}
	for key, value := range w.pairs(body) {
		if name.Sub == "" && value.Kind == yaml.MappingNode {
			w.section(Name{Section: name.Section, Sub: key.Value}, key, value)

			continue
		}
		w.key(name, key, value)
		if value.Kind != yaml.ScalarNode || isNull(value) {
			whole.fault = "must be a mapping of names to texts"
		}
		texts[key.Value] = value.Value
	}
	if name.Sub == "" {
		return
	}
	value, err := json.Marshal(texts)
	if err == nil {
		whole.literal, err = quote(string(value))
	}
	if err != nil {
		whole.fault = err.Error()
	}
	w.add(whole)
}

func (w *yamlWalker) key(section Name, key, value *yaml.Node) {
	e := entry{
		name:    Name{Section: section.Section, Sub: section.Sub, Key: kebab(key.Value)},
		at:      w.position(key),
		written: dotted(section.Section, section.Sub, key.Value),
		null:    isNull(value),
		list:    value.Kind == yaml.SequenceNode,
	}
	text, err := scalarText(value)
	if err == nil {
		e.literal, err = quote(text)
	}
	if value.Style == 0 && strings.Trim(text, otherQuotes) != text { // the plain style, without quotes
		e.doubt = doubtfulQuotes(text)
	}
	if err != nil {
		e.fault = err.Error()
	}
	if !e.null && w.set[e.name.fold()] {
		w.problems.Errorf(e.at, "%s is set twice", e.written)
	}
	w.set[e.name.fold()] = true
	w.add(e)
}

// add takes an entry in, within bounds: aliases can make a file of a few lines
// mean gigabytes.
func (w *yamlWalker) add(e entry) {
	w.size += len(e.literal)
	switch {
	case w.overfull():
	case len(w.entries) == maxYAMLEntries || w.size > 4*maxSize:
		w.steps = maxYAMLSteps
		w.problems.Errorf(e.at, "more settings than a cloud-config can have")
	default:
		w.entries = append(w.entries, e)
	}
}

func (w *yamlWalker) overfull() bool {
	return w.steps >= maxYAMLSteps
}

// pairs lists the keys and values of a mapping, aliases resolved and merge keys
// (<<) taken in where the mapping does not have the key itself.
func (w *yamlWalker) pairs(mapping *yaml.Node) func(func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		w.eachPair(mapping, map[string]bool{}, 0, yield)
	}
}

func (w *yamlWalker) eachPair(mapping *yaml.Node, seen map[string]bool, depth int, yield func(key, value *yaml.Node) bool) bool {
	var merged []*yaml.Node
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := resolve(mapping.Content[i]), resolve(mapping.Content[i+1])
		if w.steps++; w.steps == maxYAMLSteps {
			w.problems.Errorf(w.position(key), "more aliases than a cloud-config can have")
		}
		switch {
		case w.overfull():
			return false
		case key.Kind != yaml.ScalarNode || key.Value == "":
			w.problems.Errorf(w.position(key), "key must be text, and not empty")

			continue
		case key.Tag == "!!merge":
			merged = append(merged, mergeSources(value)...)

			continue
		case seen[key.Value]:
			if depth == 0 {
				w.problems.Errorf(w.position(key), "%s is set twice", key.Value)
			}

			continue
		}
		seen[key.Value] = true
		if !yield(key, value) {
			return false
		}
	}
	for _, source := range merged {
		if depth > 10 || source.Kind != yaml.MappingNode {
			w.problems.Errorf(w.position(source), "merge key (<<) must name a mapping")

			return false
		}
		if !w.eachPair(source, seen, depth+1, yield) {
			return false
		}
	}

	return true
}

// mergeSources lists what a merge key names: one mapping or a list of them.
func mergeSources(value *yaml.Node) []*yaml.Node {
	if value.Kind != yaml.SequenceNode {
		return []*yaml.Node{value}
	}
	sources := make([]*yaml.Node, 0, len(value.Content))
	for _, item := range value.Content {
		sources = append(sources, resolve(item))
	}

	return sources
}

// scalarText is a scalar as written, or a list of scalars as [List] reads it.
func scalarText(value *yaml.Node) (string, error) {
	switch {
	case value.Tag == "!!binary":
		return "", errors.New("must be text, not !!binary")
	case value.Kind == yaml.ScalarNode:
		return value.Value, nil
	case value.Kind != yaml.SequenceNode:
		return "", errors.New("must be a plain value or a list of them")
	}
	items := make(List, 0, len(value.Content))
	for _, item := range value.Content {
		item = resolve(item)
		if item.Kind != yaml.ScalarNode || isNull(item) {
			return "", fmt.Errorf("must be a list of plain values, the item in line %d is none", item.Line)
		}
		items = append(items, item.Value)
	}

	return items.String(), nil
}

func resolve(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}

	return node
}

func isNull(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.Tag == "!!null"
}
