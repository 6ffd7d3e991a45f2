package golden

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/yaml"
)

// Templates are YAML files as JSON, by their names without extension.
type Templates map[string][]byte

// ReadDir parses the txtar files of a directory, whose cases can have these parts, and its YAML
// files, which are templates. A file of another type is an error, so that no case is skipped.
func ReadDir(dir string, parts ...string) ([]*File, Templates, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	var files []*File
	templates := Templates{}
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, nil, err
		}
		name, extension, _ := strings.Cut(entry.Name(), ".")
		switch extension {
		case "yaml":
			templates[name], err = yaml.YAMLToJSONStrict(data)
		case "txtar":
			var file *File
			file, err = Parse(name, data, parts...)
			files = append(files, file)
		case "md":
		default:
			err = errors.New("neither a txtar nor a YAML file")
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", entry.Name(), err)
		}
	}

	return files, templates, nil
}

// Decode applies merge patches (RFC 7386) in YAML to a template and decodes the result. The template
// is patched before by those that the last patch lists as "from".
func (t Templates) Decode(into any, template string, patches ...[]byte) error {
	lists := struct{ From []string }{}
	if err := yaml.Unmarshal(patches[len(patches)-1], &lists); err != nil {
		return err
	}
	document := t[template]
	for _, name := range lists.From {
		if t[name] == nil {
			return fmt.Errorf("there is no %s.yaml", name)
		}
		var err error
		if document, err = jsonpatch.MergePatch(document, t[name]); err != nil {
			return err
		}
	}
	for _, patch := range slices.DeleteFunc(slices.Clone(patches), func(patch []byte) bool { return len(bytes.TrimSpace(patch)) == 0 }) {
		patch, err := yaml.YAMLToJSONStrict(patch)
		if err != nil {
			return err
		}
		if document, err = jsonpatch.MergePatch(document, patch); err != nil {
			return err
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.DisallowUnknownFields()

	return decoder.Decode(into)
}
