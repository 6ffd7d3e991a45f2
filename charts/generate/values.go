package main

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// keyword begins a line of a comment that has a part of the JSON schema of its value, as
// a mapping in YAML.
const keyword = "@schema "

// value is one key of values.yaml.
type value struct {
	key         string
	path        string // with the keys that it is below, separated by dots
	description string
	standard    any            // the default
	kind        string         // the type of the default, in words of JSON schema
	schema      map[string]any // what the comment adds
	children    []value        // of a mapping whose keys are fixed
}

// parse reads values.yaml.
func parse(text []byte) ([]value, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("it is not a mapping")
	}
	values, problems := parseMapping(document.Content[0], "")

	return values, errors.Join(problems...)
}

// parseMapping reads the keys of a mapping, and reports all problems.
func parseMapping(mapping *yaml.Node, prefix string) (values []value, problems []error) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, body := mapping.Content[i], mapping.Content[i+1]
		v, errs := parseValue(key, body, prefix)
		values, problems = append(values, v), append(problems, errs...)
	}

	return values, problems
}

func parseValue(key, body *yaml.Node, prefix string) (value, []error) {
	if body.Kind == yaml.AliasNode {
		body = body.Alias
	}
	v := value{key: key.Value, path: prefix + key.Value}
	var err error
	if v.description, v.schema, err = parseComment(key.HeadComment); err != nil {
		return v, []error{fmt.Errorf("line %d: %s: %w", key.Line, v.path, err)}
	}
	if err := body.Decode(&v.standard); err != nil {
		return v, []error{fmt.Errorf("line %d: %s: %w", key.Line, v.path, err)}
	}
	v.kind = kindOf(body)
	var problems []error
	switch {
	case v.description == "":
		problems = append(problems, fmt.Errorf("line %d: %s has no comment that describes it", key.Line, v.path))
	case v.kind == "":
		problems = append(problems, fmt.Errorf("line %d: %s has no default, write an empty one", key.Line, v.path))
	}
	if v.kind == "object" && described(body) {
		children, errs := parseMapping(body, v.path+".")
		v.children, problems = children, append(problems, errs...)
	} else if (v.kind == "object" || v.kind == "array") && v.schema == nil {
		problems = append(problems, fmt.Errorf("line %d: %s needs a comment %swith the type of its items", key.Line, v.path, keyword))
	}

	return v, problems
}

// parseComment separates the description in a comment from the schema in it.
func parseComment(comment string) (description string, schema map[string]any, err error) {
	var lines []string
	for line := range strings.Lines(comment) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "#"))
		text, isSchema := strings.CutPrefix(line, keyword)
		if !isSchema {
			lines = append(lines, line)

			continue
		}
		if err := yaml.Unmarshal([]byte(text), &schema); err != nil {
			return "", nil, fmt.Errorf("read the comment %s: %w", line, err)
		}
	}

	return strings.Join(lines, " "), schema, nil
}

// described reports whether a mapping has comments for its keys: then they are fixed.
// Otherwise they are those of the Kubernetes API, or a user's own.
func described(mapping *yaml.Node) bool {
	for i := 0; i < len(mapping.Content); i += 2 {
		if mapping.Content[i].HeadComment != "" {
			return true
		}
	}

	return false
}

// kindOf is the type of a node in JSON schema, empty for a null.
func kindOf(node *yaml.Node) string {
	switch node.Tag {
	case "!!map":
		return "object"
	case "!!seq":
		return "array"
	case "!!bool":
		return "boolean"
	case "!!int":
		return "integer"
	case "!!float":
		return "number"
	case "!!str":
		return "string"
	default:
		return ""
	}
}
