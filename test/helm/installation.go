package helm

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
)

// Path is the directory of the project's chart. The go command runs a test that has called
// it again when the chart has changed.
func Path() (string, error) {
	top, err := ccm.Top()
	if err != nil {
		return "", err
	}

	return filepath.Join(top, Chart), noted()
}

// Installation is a release of a chart in a cluster.
type Installation struct {
	// Program is the release of Helm: Three or Four.
	Program string
	// Name and Namespace are those of the release.
	Name, Namespace string
	// Chart is the path of the chart.
	Chart string
	// Kubeconfig is the file with the cluster and its administrator.
	Kubeconfig string
	// Home is the directory for the files of Helm. Nothing of the user's own settings is used.
	Home string
}

// Run runs a command of Helm, with values on its standard input, and returns its output. The
// error has what Helm writes.
func (i Installation) Run(ctx context.Context, values map[string]any, args ...string) (string, error) {
	binary, err := Locate(ctx, i.Program)
	if err != nil {
		return "", err
	}
	text, err := yaml.Marshal(values)
	if err != nil {
		return "", fmt.Errorf("write values: %w", err)
	}
	var output bytes.Buffer
	args = append(slices.Clone(args), "--namespace="+i.Namespace, "--kubeconfig="+i.Kubeconfig)
	command := exec.CommandContext(ctx, binary, args...)
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(text), &output, &output
	command.Env = []string{"HOME=" + i.Home, "KUBECACHEDIR=" + i.Home, "GOGC=400"}
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("%s %q: %w:\n%s", i.Program, args, err, &output)
	}

	return output.String(), nil
}

// Install installs the release and returns the notes of the chart. set has arguments of --set.
func (i Installation) Install(ctx context.Context, values map[string]any, set ...string) (string, error) {
	return i.Run(ctx, values, i.settings("install", set)...)
}

// Upgrade upgrades the release and returns the notes of the chart. set has arguments of --set.
func (i Installation) Upgrade(ctx context.Context, values map[string]any, set ...string) (string, error) {
	return i.Run(ctx, values, i.settings("upgrade", set)...)
}

func (i Installation) settings(command string, set []string) []string {
	args := []string{command, i.Name, i.Chart, "--values=-"}
	for _, value := range set {
		args = append(args, "--set="+value)
	}

	return args
}

// Rollback returns to a revision.
func (i Installation) Rollback(ctx context.Context, revision int) error {
	_, err := i.Run(ctx, nil, "rollback", i.Name, fmt.Sprint(revision))

	return err
}

// Uninstall deletes the release.
func (i Installation) Uninstall(ctx context.Context) error {
	_, err := i.Run(ctx, nil, "uninstall", i.Name)

	return err
}
