package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// maxDefault is the length up to which a default is in the table.
const maxDefault = 60

// tableOf returns the table of all values, in the order of values.yaml.
func tableOf(values []value) (string, error) {
	var table strings.Builder
	table.WriteString("| Value | Type | Default | Meaning |\n|---|---|---|---|\n")
	if err := writeRows(&table, values); err != nil {
		return "", err
	}

	return table.String(), nil
}

func writeRows(table *strings.Builder, values []value) error {
	for _, v := range values {
		standard, err := v.defaultCell()
		if err != nil {
			return fmt.Errorf("write the default of %s: %w", v.path, err)
		}
		fmt.Fprintf(table, "| `%s` | %s | %s | %s |\n", v.path, v.typeCell(), standard, cell(v.meaning()))
		if err := writeRows(table, v.children); err != nil {
			return err
		}
	}

	return nil
}

func (v value) typeCell() string {
	switch kind := v.schema["type"].(type) {
	case string:
		return kind
	case []any:
		names := make([]string, len(kind))
		for i, name := range kind {
			names[i] = fmt.Sprint(name)
		}

		return strings.Join(names, " or ")
	default:
		return v.kind
	}
}

// defaultCell is the default as JSON. That of a mapping with fixed keys is in their rows.
func (v value) defaultCell() (string, error) {
	if v.children != nil {
		return "", nil
	}
	text, err := json.Marshal(v.standard)
	if err != nil {
		return "", err
	}
	if len(text) > maxDefault {
		return "see values.yaml", nil
	}

	return "`" + string(text) + "`", nil
}

// meaning is the description with the values that there are.
func (v value) meaning() string {
	names, ok := v.schema["enum"].([]any)
	if !ok {
		return v.description
	}
	var options []string
	for _, name := range names {
		if name != "" {
			options = append(options, fmt.Sprintf("`%v`", name))
		}
	}

	return v.description + " One of " + strings.Join(options, ", ") + "."
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
