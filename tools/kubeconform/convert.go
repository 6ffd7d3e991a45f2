package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// fileTemplate is the name of a schema's file, in the words of the validator. Resources
// of the core group have their version in the place of the group.
const fileTemplate = "{{.ResourceKind}}-{{.Group}}-{{.ResourceAPIVersion}}.json"

const (
	definitionPrefix = "#/definitions/"
	metadataName     = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
)

// schema is a JSON schema, or a part of an OpenAPI description that becomes one.
type schema = map[string]any

// kind is a kind of objects in one version of its group.
type kind struct {
	Group, Version, Kind string
}

// file returns the name of the schema's file.
func (k kind) file() string {
	group := k.Group
	if group == "" {
		group = k.Version
	}

	return strings.ToLower(k.Kind) + "-" + group + "-" + k.Version + ".json"
}

// convert returns the schema of each kind of an OpenAPI 2 description and of
// CustomResourceDefinitions, by file name.
func convert(swagger []byte, resources [][]byte) (map[string]schema, error) {
	var description struct {
		Definitions map[string]schema `json:"definitions"`
	}
	if err := json.Unmarshal(swagger, &description); err != nil {
		return nil, fmt.Errorf("read OpenAPI description: %w", err)
	}
	definitions := description.Definitions
	for name, definition := range definitions {
		closeObjects(definition)
		widen(name, definition)
	}
	schemas := map[string]schema{}
	for name, definition := range definitions {
		for _, k := range kindsOf(definition) {
			schemas[k.file()] = withDefinitions(schema{"$ref": definitionPrefix + name}, definitions)
		}
	}
	for _, resource := range resources {
		if err := addResource(schemas, resource, definitions); err != nil {
			return nil, err
		}
	}

	return schemas, nil
}

// kindsOf returns the kinds that a definition is of. Options of requests are of one per
// group: they are no manifests.
func kindsOf(definition schema) []kind {
	list, _ := definition["x-kubernetes-group-version-kind"].([]any)
	if len(list) != 1 {
		return nil
	}
	fields, _ := list[0].(map[string]any)
	group, _ := fields["group"].(string)
	version, _ := fields["version"].(string)
	name, _ := fields["kind"].(string)

	return []kind{{Group: group, Version: version, Kind: name}}
}

// addResource adds the schemas of a CustomResourceDefinition.
func addResource(schemas map[string]schema, manifest []byte, definitions map[string]schema) error {
	var resource struct {
		Spec struct {
			Group    string
			Names    struct{ Kind string }
			Versions []struct {
				Name   string
				Schema struct {
					OpenAPIV3Schema schema `json:"openAPIV3Schema"`
				}
			}
		}
	}
	if err := yaml.Unmarshal(manifest, &resource); err != nil {
		return fmt.Errorf("read CustomResourceDefinition: %w", err)
	}
	for _, version := range resource.Spec.Versions {
		root := version.Schema.OpenAPIV3Schema
		properties, ok := root["properties"].(map[string]any)
		if !ok {
			return fmt.Errorf("read CustomResourceDefinition of %s: version %s has no properties", resource.Spec.Names.Kind, version.Name)
		}
		closeObjects(root)
		properties["metadata"] = schema{"$ref": definitionPrefix + metadataName}
		k := kind{Group: resource.Spec.Group, Version: version.Name, Kind: resource.Spec.Names.Kind}
		schemas[k.file()] = withDefinitions(root, definitions)
	}

	return nil
}

// closeObjects makes a schema refuse fields that it does not have, at any depth, except
// where fields are free. Schemas below allOf, anyOf, oneOf and not only add conditions.
func closeObjects(node schema) {
	delete(node, "description")
	if properties, ok := node["properties"].(map[string]any); ok {
		for _, property := range properties {
			closeObjects(property.(schema))
		}
		_, open := node["additionalProperties"]
		if free, _ := node["x-kubernetes-preserve-unknown-fields"].(bool); !open && !free {
			node["additionalProperties"] = false
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if below, ok := node[key].(schema); ok {
			closeObjects(below)
		}
	}
	if nullable, _ := node["nullable"].(bool); nullable && node["type"] != nil {
		node["type"] = []any{node["type"], "null"}
	}
}

// widen corrects what the description writes as a string and the server reads from
// other types as well.
func widen(name string, definition schema) {
	switch {
	case definition["format"] == "int-or-string":
		definition["type"] = []any{"integer", "string"}
	case strings.HasSuffix(name, ".resource.Quantity"):
		definition["type"] = []any{"number", "string"}
	}
}

// withDefinitions returns a schema together with the definitions that it refers to,
// directly or by others.
func withDefinitions(root schema, definitions map[string]schema) schema {
	needed := map[string]any{}
	pending := references(root, nil)
	for len(pending) > 0 {
		name := pending[0]
		pending = pending[1:]
		if _, ok := needed[name]; ok {
			continue
		}
		needed[name] = definitions[name]
		pending = references(definitions[name], pending)
	}
	whole := schema{"definitions": needed}
	if reference, ok := root["$ref"]; ok {
		// Beside a reference, draft 4 ignores everything.
		whole["allOf"] = []any{schema{"$ref": reference}}

		return whole
	}
	maps.Copy(whole, root)

	return whole
}

// references appends the names of the definitions that a part of a schema refers to.
func references(node any, names []string) []string {
	switch node := node.(type) {
	case schema:
		for key, value := range node {
			if name, ok := value.(string); ok && key == "$ref" {
				names = append(names, strings.TrimPrefix(name, definitionPrefix))
			} else {
				names = references(value, names)
			}
		}
	case []any:
		for value := range slices.Values(node) {
			names = references(value, names)
		}
	}

	return names
}
