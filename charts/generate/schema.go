package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"

	"go.yaml.in/yaml/v3"
)

// schemaOf returns the JSON schema of the values. It is of draft 7, which all versions of
// Helm can read.
func schemaOf(values []value) ([]byte, error) {
	schema := objectOf(values)
	schema["$schema"] = "http://json-schema.org/draft-07/schema#"
	schema["title"] = "Values of the chart multicloud-controller-manager"
	var shared map[string]any
	if err := yaml.Unmarshal(definitions, &shared); err != nil {
		return nil, fmt.Errorf("read definitions.yaml: %w", err)
	}
	maps.Copy(shared, cloudConfigs())
	schema["definitions"] = shared

	return encode(schema)
}

// objectOf is the schema of a mapping with fixed keys. A key that a user sets to null has
// no value at all: only where templates expect that, it is not required.
func objectOf(values []value) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, v := range values {
		properties[v.key] = v.toSchema()
		if v.kind != "object" || v.children != nil && v.schema == nil {
			required = append(required, v.key)
		}
	}

	return map[string]any{"type": "object", "additionalProperties": false, "properties": properties, "required": required}
}

// toSchema is the schema of one value: what follows from its default, and what its
// comment has on top.
func (v value) toSchema() map[string]any {
	schema := map[string]any{"type": v.kind}
	if v.children != nil {
		schema = objectOf(v.children)
	} else {
		schema["default"] = v.standard
	}
	if v.schema["$ref"] != nil {
		delete(schema, "type")
	}
	schema["description"] = v.description
	maps.Copy(schema, v.schema)

	return schema
}

// encode writes JSON as a file, with sorted keys.
func encode(content any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(content)

	return text.Bytes(), err
}
