//go:build e2ecluster

package e2ecluster

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"testing"
)

// The environment variables of these tests. Commands are for a shell, and get one argument more.
const (
	kubeconfigVariable = "KUBECONFIG"
	addressVariable    = "NODE_ADDRESS"
	archiveVariable    = "IMAGE_ARCHIVE"
	loaderVariable     = "IMAGE_LOADER"
	stopVariable       = "NODE_STOP"
	startVariable      = "NODE_START"
)

const howTo = `These tests need a cluster of their own with one node, whose kubelet was started with
--cloud-provider=external and has not been initialized, and run as root on that node, in its
network namespace. With kubeadm, for example:

  kubeadm init --config ...                    # cloud-provider: external in kubeletExtraArgs; then a network add-on
  export KUBECONFIG=/etc/kubernetes/admin.conf # of an administrator
  export NODE_ADDRESS=192.0.2.10               # of the node, where the API server reaches its kubelet
  export IMAGE_LOADER='ctr --namespace k8s.io images import'          # gets an archive
  export NODE_STOP='sh -c "systemctl stop kubelet" --'                # gets the name of the node
  export NODE_START='sh -c "systemctl start kubelet" --'              # gets the name of the node
  make e2e-cluster`

// required returns the value of an environment variable.
func required(t *testing.T, variable string) string {
	t.Helper()
	value := os.Getenv(variable)
	if value == "" {
		t.Fatalf("%s is not set.\n%s", variable, howTo)
	}

	return value
}

// execute runs a command of the user, with an argument.
func execute(ctx context.Context, command, argument string) error {
	output, err := exec.CommandContext(ctx, "sh", "-c", command+` "$@"`, "sh", argument).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w:\n%s", command, argument, err, output)
	}

	return nil
}

// imageOf returns repository and tag of the image in an archive.
func imageOf(archive string) (repository, tag string, err error) {
	file, err := os.Open(archive)
	if err != nil {
		return "", "", fmt.Errorf("read image: %w", err)
	}
	defer file.Close()
	reader := tar.NewReader(file)
	for {
		header, err := reader.Next()
		if err != nil {
			return "", "", fmt.Errorf("read %s: %w", archive, err)
		}
		if header.Name == "manifest.json" {
			return nameOf(reader)
		}
	}
}

var errNoTag = errors.New("the image has no tag")

// nameOf reads the names of the images of an archive, of which there is one.
func nameOf(manifest io.Reader) (repository, tag string, err error) {
	var images []struct{ RepoTags []string }
	if err := json.NewDecoder(manifest).Decode(&images); err != nil {
		return "", "", fmt.Errorf("read names of image: %w", err)
	}
	if len(images) != 1 || len(images[0].RepoTags) != 1 {
		return "", "", fmt.Errorf("%w: %+v", errNoTag, images)
	}
	name := images[0].RepoTags[0]
	for i := len(name) - 1; i > 0 && name[i] != '/'; i-- {
		if name[i] == ':' {
			return path.Clean(name[:i]), name[i+1:], nil
		}
	}

	return "", "", fmt.Errorf("%w: %s", errNoTag, name)
}
