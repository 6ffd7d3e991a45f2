package main

import (
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/tools/image/internal/dist"
)

// valuesOf returns the values with which the chart installs an image.
func valuesOf(repository, tag string) string {
	registry, name := path.Split(repository)

	return fmt.Sprintf("image:\n  registry: %q\n  repository: %q\n  tag: %q\n", strings.TrimSuffix(registry, "/"), name, tag)
}

// writeValues writes the values of the image, if there is a file for them, and prints the
// command that installs the image with them.
func writeValues(w io.Writer, o options) error {
	if o.values == "" {
		return nil
	}
	values := valuesOf(o.repository, o.tag)
	if err := dist.Write(filepath.Dir(o.values), filepath.Base(o.values), dist.Bytes([]byte(values))); err != nil {
		return err
	}
	shown, err := filepath.Rel(o.module, o.values)
	if err != nil {
		return fmt.Errorf("print the command: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s:\n%sPush the image, or import it on each control plane node, and install it with values of your own:\n"+
		"  helm install ccm %s --namespace kube-system --values %s --values values.yaml --wait\n"+
		"  kubectl --namespace kube-system rollout status daemonset/ccm-%s --timeout 5m\n",
		shown, values, path.Join("charts", commandName), shown, commandName)

	return err
}
