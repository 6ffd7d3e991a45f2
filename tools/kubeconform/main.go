// Command kubeconform checks manifests against the schemas of each Kubernetes minor
// version that is supported, and of the custom resources of the Prometheus operator,
// Argo CD and Flux.
//
//	kubeconform FILE...
//
// The schemas come from the OpenAPI description in the Kubernetes module itself, and
// are strict: a field that a version does not have is an error, and so is a kind
// without a schema. modules.txt lists the modules, which the Go command downloads
// and verifies; the converted schemas are kept in the user's cache directory.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/yannh/kubeconform/pkg/validator"
)

func main() {
	flag.Parse()
	faults, err := check(context.Background(), flag.Args())
	for _, fault := range faults {
		fmt.Println(fault)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "kubeconform:", err)
	}
	if err != nil || len(faults) > 0 {
		os.Exit(1)
	}
}

// check returns one line for each fault of each file.
func check(ctx context.Context, files []string) ([]string, error) {
	if len(files) == 0 {
		return nil, fmt.Errorf("no file named")
	}
	folders, err := schemaFolders(ctx)
	if err != nil {
		return nil, err
	}
	var faults []string
	for _, folder := range folders {
		found, err := checkAgainst(ctx, folder, files)
		if err != nil {
			return nil, err
		}
		faults = append(faults, found...)
	}

	return faults, nil
}

// checkAgainst checks the files against the schemas in a folder.
func checkAgainst(ctx context.Context, folder schemaFolder, files []string) ([]string, error) {
	checker, err := validator.New([]string{filepath.Join(folder.path, fileTemplate)}, validator.Opts{Strict: true})
	if err != nil {
		return nil, fmt.Errorf("prepare schemas of %s: %w", folder.version, err)
	}
	var faults []string
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		found, err := faultsOf(ctx, checker, name, file)
		if err != nil {
			return nil, err
		}
		for _, fault := range found {
			faults = append(faults, fmt.Sprintf("%s: Kubernetes %s: %s", name, folder.version, fault))
		}
	}

	return faults, nil
}

// faultsOf checks one stream of manifests, and closes it. One without any manifest is
// an error: nothing would be checked.
func faultsOf(ctx context.Context, checker validator.Validator, name string, stream io.ReadCloser) ([]string, error) {
	var faults []string
	valid := 0
	for _, result := range checker.ValidateWithContext(ctx, name, stream) {
		switch result.Status {
		case validator.Valid:
			valid++
		case validator.Empty: // between two separators
		default:
			faults = append(faults, describe(result))
		}
	}
	if valid == 0 && len(faults) == 0 {
		return nil, fmt.Errorf("%s has no manifest", name)
	}

	return faults, nil
}

func describe(result validator.Result) string {
	object := "a manifest"
	if signature, err := result.Resource.Signature(); err == nil && signature.Kind != "" {
		object = signature.Kind + " " + signature.Name
	}

	return fmt.Sprintf("%s: %v", object, result.Err)
}
