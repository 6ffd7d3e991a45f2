package main

import (
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/all"
)

// cloudConfigs returns the schema of the cloud-config of each provider, by its name in definitions.
func cloudConfigs() map[string]any {
	schemas := map[string]any{}
	for _, d := range all.Descriptors() {
		sections := config.Sections(d.Reference.Schema, config.NewSettings(), d.Reference.Config)
		patterns := map[string]any{}
		for _, s := range sections {
			patterns[anyCase(s.Names)] = sectionSchema(s)
		}
		schemas[d.Name+"CloudConfig"] = map[string]any{
			"description": "Sections of a cloud-config for " + d.Summary + ".",
			"type":        "object", "patternProperties": patterns, "additionalProperties": false,
		}
	}

	return schemas
}

// sectionSchema is the schema of a section, or of all that have its name.
func sectionSchema(s config.Section) map[string]any {
	if s.Keys == nil { // that of another program
		return map[string]any{"$ref": "#/definitions/cloudConfigSection"}
	}
	keys := map[string]any{
		"type":                 []string{"object", "null"},
		"patternProperties":    map[string]any{anyCase(s.Keys): map[string]any{"$ref": "#/definitions/cloudConfigValue"}},
		"additionalProperties": false,
	}
	if !s.Subsections {
		return keys
	}

	return map[string]any{"type": []string{"object", "null"}, "propertyNames": map[string]any{"minLength": 1}, "additionalProperties": keys}
}

// anyCase matches one of the names, whose case does not matter.
func anyCase(names []string) string { return "(?i)^(" + strings.Join(names, "|") + ")$" }
