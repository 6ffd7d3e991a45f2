package cloudsyaml

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"go.yaml.in/yaml/v3"

	"github.com/multicloud-ccm/multicloud-ccm/config"
)

// Reader returns the content of a file. The error wraps [fs.ErrNotExist] if there is
// none.
type Reader func(path string) ([]byte, error)

// Places is where files are looked for: the first that exists is read. Each path can
// be empty.
type Places struct {
	// File is a clouds.yaml file that takes precedence over those in directories. The
	// other two files can be beside it, but those in directories take precedence over
	// them.
	File string
	// WorkingDirectory is the first directory.
	WorkingDirectory string
	// Home is the home directory of the user. The second directory is
	// .config/openstack in it, the third one is /etc/openstack.
	Home string
}

const siteDirectory = "/etc/openstack"

// The names of the files, without their ends.
const (
	cloudsFile = "clouds"
	secureFile = "secure"
	publicFile = "clouds-public"
)

// Paths lists all files that can have an influence.
func (p Places) Paths() []string {
	return slices.Concat(p.paths(cloudsFile), p.paths(secureFile), p.paths(publicFile))
}

// paths lists the places of one file in the order in which they are tried.
func (p Places) paths(name string) []string {
	var directories []string
	if p.WorkingDirectory != "" {
		directories = append(directories, p.WorkingDirectory)
	}
	if p.Home != "" {
		directories = append(directories, filepath.Join(p.Home, ".config", "openstack"))
	}
	directories = append(directories, siteDirectory)
	var paths []string
	if p.File != "" && name == cloudsFile {
		paths = append(paths, p.File)
	}
	if p.File != "" && name != cloudsFile {
		directories = append(directories, filepath.Dir(p.File))
	}
	for _, end := range []string{".yaml", ".yml"} {
		for _, directory := range directories {
			paths = append(paths, filepath.Join(directory, name+end))
		}
	}

	return paths
}

// document is one file.
type document struct {
	path string
	// entries are the clouds by name.
	entries map[string]*yaml.Node
}

// open reads the first file that exists, or returns nil if there is none. A directory
// that cannot be read counts as empty; a file that is named cannot.
func (p Places) open(name string, read Reader) (*document, error) {
	for _, path := range p.paths(name) {
		data, err := read(path)
		switch {
		case err == nil:
			return parse(path, name, data)
		case errors.Is(err, fs.ErrNotExist), path != p.File && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTDIR)):
		default:
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}

	return nil, nil
}

// parse reads the clouds of a file.
func parse(path, name string, data []byte) (*document, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		return nil, yamlError(path, err)
	}
	d := &document{path: path}
	if root.IsZero() {
		return d, nil
	}
	top, err := d.mapping("the file", root.Content[0])
	if err != nil {
		return nil, err
	}
	key := "clouds"
	if name == publicFile {
		key = "public-clouds"
	}
	if top[key] == nil {
		return d, nil
	}
	d.entries, err = d.mapping(key, top[key])

	return d, err
}

// values returns what the entry of a cloud has for each key, and the names of unknown keys of auth.
func (d *document) values(cloud string, entry *yaml.Node) (map[Key]Value, []Value, error) {
	top, err := d.mapping(fmt.Sprintf("cloud %q", cloud), entry)
	if err != nil {
		return nil, nil, err
	}
	var auth map[string]*yaml.Node
	if top["auth"] != nil {
		if auth, err = d.mapping(fmt.Sprintf("cloud %q: auth", cloud), top["auth"]); err != nil {
			return nil, nil, err
		}
	}
	values := map[Key]Value{}
	for _, key := range keys() {
		node := top[string(key)]
		if inner, ok := strings.CutPrefix(string(key), "auth."); ok {
			node = auth[inner]
			delete(auth, inner)
		}
		if node == nil || isNull(node) {
			continue
		}
		if node.Kind != yaml.ScalarNode || node.Tag == "!!binary" {
			return nil, nil, fmt.Errorf("%s:%d: cloud %q: %s must be text", d.path, node.Line, cloud, key)
		}
		if node.Value != "" {
			values[key] = Value{Text: config.Secret(node.Value), Path: d.path, Line: node.Line}
		}
	}
	var unknown []Value
	for _, name := range slices.Sorted(maps.Keys(auth)) {
		unknown = append(unknown, Value{Text: config.Secret("auth." + name), Path: d.path, Line: auth[name].Line})
	}

	return values, unknown, nil
}

// mapping returns the values of a mapping by key, aliases resolved and merge keys (<<)
// taken in. A null is an empty mapping.
func (d *document) mapping(what string, node *yaml.Node) (map[string]*yaml.Node, error) {
	if node = resolve(node); isNull(node) {
		return nil, nil
	}
	if node.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s:%d: %s must be a mapping", d.path, node.Line, what)
	}
	var entries map[string]yaml.Node
	if err := node.Decode(&entries); err != nil {
		return nil, yamlError(d.path, err)
	}
	resolved := make(map[string]*yaml.Node, len(entries))
	for key, value := range entries {
		resolved[key] = resolve(&value)
	}

	return resolved, nil
}

func resolve(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}

	return node
}

func isNull(node *yaml.Node) bool { return node.Kind == yaml.ScalarNode && node.Tag == "!!null" }

var (
	// quoted matches what the YAML parser repeats of the file: from the first quote to
	// the last, since it may be a piece of a password.
	quoted = regexp.MustCompile("(?s)['\"`].*['\"`]")
	// yamlLine is how the YAML parser formats a position.
	yamlLine = regexp.MustCompile(`line (\d+): `)
)

// yamlError is an error of the YAML parser with a position as all others have it, and
// without the text of the file.
func yamlError(path string, err error) error {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if line := yamlLine.FindStringSubmatch(message); line != nil {
		path += ":" + line[1]
		message = message[strings.Index(message, line[0])+len(line[0]):]
	}

	return fmt.Errorf("%s: %s", path, quoted.ReplaceAllString(message, "(text)"))
}

// union returns the clouds of both files.
func union(documents ...*document) map[string]bool {
	names := map[string]bool{}
	for _, d := range documents {
		if d == nil {
			continue
		}
		for name := range d.entries {
			names[name] = true
		}
	}

	return names
}
