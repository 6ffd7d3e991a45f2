// Package helm renders the project's chart for tests, with the releases of Helm that
// tools/build builds.
package helm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
)

// The releases of Helm, by the names that tools/build has for them.
const (
	Three = "helm"
	Four  = "helm4"
)

// Chart is the folder of the chart, below the top of the repository.
const Chart = "charts/multicloud-controller-manager"

// Locate returns the path of a program that tools/build builds. The error names the
// command that builds it.
func Locate(ctx context.Context, program string) (string, error) {
	top, err := ccm.Top()
	if err != nil {
		return "", fmt.Errorf("find %s: %w", program, err)
	}
	output, err := exec.CommandContext(ctx, filepath.Join(top, "tools", "build"), "--path", program).Output()
	if err != nil {
		return "", fmt.Errorf("find %s: %w", program, err)
	}
	path := strings.TrimSpace(string(output))
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s is not built, run: tools/build %s", program, program)
	}

	return path, nil
}

// Release is what is rendered.
type Release struct {
	// Program is the release of Helm: Three or Four.
	Program string
	// Name and Namespace are those of the release. By default both are like those in
	// the documentation: multicloud-controller-manager in kube-system.
	Name, Namespace string
	// KubeVersion is the Kubernetes version to render for. If it is empty, it is that of
	// the client in Helm.
	KubeVersion string
	// Files are paths of values files, and Values is the text of another one.
	Files  []string
	Values string
	// Set has arguments of --set.
	Set []string
	// AnyValues renders values that the schema does not accept.
	AnyValues bool
}

// Template returns the manifests. The error has what Helm writes about it.
func (r Release) Template(ctx context.Context) ([]byte, error) {
	top, err := ccm.Top()
	if err != nil {
		return nil, err
	}
	if err := noted(); err != nil {
		return nil, err
	}
	name, namespace := r.Name, r.Namespace
	if name == "" {
		name = ccm.Name
	}
	if namespace == "" {
		namespace = "kube-system"
	}
	args := []string{"template", name, filepath.Join(top, Chart), "--namespace", namespace}
	if r.KubeVersion != "" {
		args = append(args, "--kube-version", r.KubeVersion)
	}
	for _, file := range r.Files {
		args = append(args, "--values", file)
	}
	if r.Values != "" {
		args = append(args, "--values", "-")
	}
	for _, set := range r.Set {
		args = append(args, "--set", set)
	}
	if r.AnyValues {
		args = append(args, "--skip-schema-validation")
	}

	return Run(ctx, r.Program, r.Values, args...)
}

// noted makes the go command run a test again when the chart has changed: it notes the
// directories that a test lists, not what a program of the test reads.
var noted = sync.OnceValue(func() error {
	top, err := ccm.Top()
	if err != nil {
		return err
	}

	return filepath.WalkDir(filepath.Join(top, Chart), func(_ string, _ os.DirEntry, err error) error { return err })
})

// Run runs a program that tools/build builds, without any settings of the user, and
// returns its output. The error has what it writes about it.
func Run(ctx context.Context, program, stdin string, args ...string) ([]byte, error) {
	path, err := Locate(ctx, program)
	if err != nil {
		return nil, err
	}
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(ctx, path, args...)
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(stdin), &stdout, &stderr
	command.Env = append(os.Environ(), "HELM_CACHE_HOME=/nonexistent", "HELM_CONFIG_HOME=/nonexistent", "HELM_DATA_HOME=/nonexistent", "KUBECONFIG=")
	if err := command.Run(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s %s: %w", program, args[0], err), errors.New(stdout.String()+stderr.String()))
	}

	return stdout.Bytes(), nil
}
