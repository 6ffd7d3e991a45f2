// Command generate writes values.schema.json and README.md of the Helm chart from
// values.yaml, whose comments have the descriptions and types of all values. Run it at
// the top of the repository.
package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
)

const chart = "charts/multicloud-controller-manager"

// introduction is the README up to the table of values.
//
//go:embed introduction.md
var introduction string

// definitions are the definitions of the schema, in YAML.
//
//go:embed definitions.yaml
var definitions []byte

func main() {
	if err := run(chart); err != nil {
		fmt.Fprintln(os.Stderr, "charts/generate:", err)
		os.Exit(1)
	}
}

// run writes both files of the chart in a directory.
func run(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "values.yaml"))
	if err != nil {
		return err
	}
	files, err := generate(text)
	if err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}

	return nil
}

// generate returns the content of the files that follow from values.yaml, by name.
func generate(text []byte) (map[string][]byte, error) {
	values, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("read values.yaml: %w", err)
	}
	schema, err := schemaOf(values)
	if err != nil {
		return nil, fmt.Errorf("write the schema: %w", err)
	}
	table, err := tableOf(values)
	if err != nil {
		return nil, fmt.Errorf("write the README: %w", err)
	}

	return map[string][]byte{
		"values.schema.json": schema,
		"README.md":          []byte(introduction + table),
	}, nil
}
