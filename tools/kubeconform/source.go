package main

import (
	"context"
	"crypto/sha256"
	_ "embed" // the files below
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const kubernetesModule = "k8s.io/kubernetes"

// resourceFiles are the CustomResourceDefinitions in modules: of the Prometheus operator
// for the chart, of Argo CD and Flux for the examples.
var resourceFiles = map[string]string{
	"github.com/prometheus-operator/prometheus-operator": "example/prometheus-operator-crd/*.yaml",
	"github.com/argoproj/argo-cd/v3":                     "manifests/crds/application-crd.yaml",
	"github.com/fluxcd/helm-controller":                  "config/crd/bases/*.yaml",
	"github.com/fluxcd/source-controller":                "config/crd/bases/*.yaml",
}

// What the schemas depend on, besides the modules themselves.
var (
	//go:embed modules.txt
	modules string
	//go:embed convert.go
	converter string
)

// schemaFolder is where the schemas of a Kubernetes version are.
type schemaFolder struct {
	version, path string
}

// schemaFolders returns the folders of all supported versions, and fills those that are
// not there yet.
func schemaFolders(ctx context.Context) ([]schemaFolder, error) {
	cache := os.Getenv("XDG_CACHE_HOME")
	if !filepath.IsAbs(cache) {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, err
		}
		cache = filepath.Join(home, ".cache") // on every operating system, as tools/build
	}
	sum := sha256.Sum256([]byte(modules + converter + fmt.Sprint(resourceFiles)))
	parent := filepath.Join(cache, "multicloud-ccm", "schemas-"+hex.EncodeToString(sum[:6]))
	var folders []schemaFolder
	for _, version := range versions(kubernetesModule) {
		folder := schemaFolder{version: version, path: filepath.Join(parent, version)}
		if _, err := os.Stat(folder.path); errors.Is(err, os.ErrNotExist) {
			err = folder.fill(ctx)
			if err != nil {
				return nil, fmt.Errorf("convert schemas of %s: %w", version, err)
			}
		}
		folders = append(folders, folder)
	}

	return folders, nil
}

// versions returns the versions that modules.txt lists of a module.
func versions(module string) []string {
	var found []string
	for line := range strings.Lines(modules) {
		if path, version, _ := strings.Cut(strings.TrimSpace(line), " "); path == module {
			found = append(found, version)
		}
	}

	return found
}

// fill writes the schemas. The folder appears when it is whole.
func (f schemaFolder) fill(ctx context.Context) error {
	kubernetes, err := download(ctx, kubernetesModule, f.version)
	if err != nil {
		return err
	}
	swagger, err := os.ReadFile(filepath.Join(kubernetes, "api", "openapi-spec", "swagger.json"))
	if err != nil {
		return err
	}
	resources, err := customResources(ctx)
	if err != nil {
		return err
	}
	schemas, err := convert(swagger, resources)
	if err != nil {
		return err
	}
	if err = os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
		return err
	}
	partial, err := os.MkdirTemp(filepath.Dir(f.path), f.version+".partial.*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(partial) }() // it has the other name then
	for name, content := range schemas {
		text, err := json.Marshal(content)
		if err == nil {
			err = os.WriteFile(filepath.Join(partial, name), text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	if err = os.Rename(partial, f.path); errors.Is(err, os.ErrExist) {
		return nil // another process was faster
	}

	return err
}

// customResources returns all CustomResourceDefinitions.
func customResources(ctx context.Context) ([][]byte, error) {
	var resources [][]byte
	for module, files := range resourceFiles {
		pinned := versions(module)
		if len(pinned) != 1 {
			return nil, fmt.Errorf("modules.txt has %d versions of %s, want one", len(pinned), module)
		}
		folder, err := download(ctx, module, pinned[0])
		if err != nil {
			return nil, err
		}
		paths, err := filepath.Glob(filepath.Join(folder, files))
		if err != nil || len(paths) == 0 {
			return nil, errors.Join(err, fmt.Errorf("%s %s has no %s", module, pinned[0], files))
		}
		for _, path := range paths {
			resource, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			resources = append(resources, resource)
		}
	}

	return resources, nil
}

// download returns the folder of a module in the module cache. The Go command verifies
// the module by the checksum database.
func download(ctx context.Context, module, version string) (string, error) {
	command := exec.CommandContext(ctx, "go", "mod", "download", "-json", module+"@"+version)
	command.Dir = os.TempDir()
	output, err := command.Output()
	var result struct{ Dir, Error string }
	if json.Unmarshal(output, &result) == nil && result.Error != "" {
		err = errors.New(result.Error)
	}
	if err == nil && result.Dir == "" {
		err = errors.New("it has no folder")
	}
	if err != nil {
		return "", fmt.Errorf("download %s %s: %w", module, version, err)
	}

	return result.Dir, nil
}
