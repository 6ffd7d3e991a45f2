package config

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// maxYAMLEntries bounds what aliases can blow a small file up to.
const maxYAMLEntries = 10000

// yamlKey is what a gcfg section or key can be called.
var yamlKey = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]*$`)

// quoted matches what the YAML parser repeats from the file in its messages: it
// may be a piece of a password.
var quoted = regexp.MustCompile(`'[^']*'|"[^"]*"` + "|`[^`]*`")

// yamlRoot is the top of a YAML document.
type yamlRoot struct {
	node *yaml.Node
}

func (r yamlRoot) isMapping() bool {
	return r.node != nil && r.node.Kind == yaml.MappingNode
}

func parseYAML(path string, text []byte) (yamlRoot, error) {
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	var document yaml.Node
	if err := decoder.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			return yamlRoot{}, nil
		}
		return yamlRoot{}, fmt.Errorf("%s: %s", path, quoted.ReplaceAllString(strings.TrimPrefix(err.Error(), "yaml: "), "(text)"))
	}
	root := yamlRoot{node: document.Content[0]}
	if root.isMapping() && decoder.Decode(new(yaml.Node)) == nil {
		return yamlRoot{}, fmt.Errorf("%s: more than one YAML document", path)
	}
	return root, nil
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
// formats. A null value leaves a key unset; a null section is refused where it
// would be an entry of its own.
func yamlEntries(path string, root yamlRoot) ([]entry, error) {
	w := yamlWalker{path: path}
	for section, value := range w.pairs(root.node) {
		w.section(Name{Section: section.Value}, section, value)
	}
	return w.entries, w.problems.Err()
}

type yamlWalker struct {
	path     string
	entries  []entry
	problems Problems
}

func (w *yamlWalker) position(node *yaml.Node) Position {
	return Position{Path: w.path, Line: node.Line, Column: node.Column}
}

func (w *yamlWalker) section(name Name, header, body *yaml.Node) {
	switch {
	case !yamlKey.MatchString(name.Section):
		w.problems.Errorf(w.position(header), "section name must be letters, digits and dashes")
		return
	case isNull(body) && name.Sub == "":
		w.add(entry{name: name, at: w.position(header)})
		return
	case isNull(body):
		w.problems.Errorf(w.position(header), "%s is empty (null)", name)
		return
	case body.Kind != yaml.MappingNode:
		w.problems.Errorf(w.position(header), "%s must be a mapping of keys to values", name)
		return
	}
	subsections := name.Sub == "" && holdsMappings(body)
	if !subsections {
		w.add(entry{name: name, at: w.position(header)})
	}
	for key, value := range w.pairs(body) {
		if subsections {
			w.section(Name{Section: name.Section, Sub: key.Value}, key, value)
			continue
		}
		w.key(Name{Section: name.Section, Sub: name.Sub, Key: kebab(key.Value)}, key, value)
	}
}

// holdsMappings tells a section of subsections from a section of keys.
func holdsMappings(section *yaml.Node) bool {
	for i := 1; i < len(section.Content); i += 2 {
		if value := resolve(section.Content[i]); value.Kind == yaml.MappingNode || isNull(value) {
			return true
		}
	}
	return false
}

func (w *yamlWalker) key(name Name, key, value *yaml.Node) {
	if !yamlKey.MatchString(name.Key) {
		w.problems.Errorf(w.position(key), "key in %s must be letters, digits and dashes", Name{Section: name.Section, Sub: name.Sub})
		return
	}
	if isNull(value) {
		return
	}
	text, err := scalarText(value)
	if err != nil {
		w.problems.Errorf(w.position(key), "%s: %v", name, err)
		return
	}
	literal, err := quote(text)
	if err != nil {
		w.problems.Errorf(w.position(key), "%s: %v", name, err)
		return
	}
	w.add(entry{name: name, literal: literal, at: w.position(key)})
}

func (w *yamlWalker) add(e entry) {
	if len(w.entries) == maxYAMLEntries {
		w.problems.Errorf(e.at, "more than %d settings", maxYAMLEntries)
	}
	if len(w.entries) <= maxYAMLEntries {
		w.entries = append(w.entries, e)
	}
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
		key, value := mapping.Content[i], resolve(mapping.Content[i+1])
		if key.Tag == "!!merge" {
			merged = append(merged, value)
			continue
		}
		if seen[key.Value] {
			if depth == 0 {
				w.problems.Errorf(w.position(key), "key is set twice")
			}
			continue
		}
		seen[key.Value] = true
		if len(w.entries) > maxYAMLEntries || !yield(key, value) {
			return false
		}
	}
	for _, m := range merged {
		for _, source := range mergeSources(m) {
			if depth > 10 || source.Kind != yaml.MappingNode {
				w.problems.Errorf(w.position(source), "merge key (<<) must name a mapping")
				return false
			}
			if !w.eachPair(source, seen, depth+1, yield) {
				return false
			}
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

// scalarText is a scalar as written, or a list of scalars joined by commas.
func scalarText(value *yaml.Node) (string, error) {
	switch value.Kind {
	case yaml.ScalarNode:
		return value.Value, nil
	case yaml.SequenceNode:
		items := make([]string, 0, len(value.Content))
		for _, item := range value.Content {
			item = resolve(item)
			if item.Kind != yaml.ScalarNode || isNull(item) {
				return "", fmt.Errorf("list item in line %d is not a plain value", item.Line)
			}
			items = append(items, strings.ReplaceAll(item.Value, ",", `\,`))
		}
		return strings.Join(items, ","), nil
	}
	return "", fmt.Errorf("must be a plain value or a list of them")
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

// kebab turns camelCase into the spelling of gcfg files: caFile is ca-file.
func kebab(camel string) string {
	var b strings.Builder
	for i, r := range camel {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
