package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"sigs.k8s.io/yaml"

	"github.com/multicloud-ccm/multicloud-ccm/tools/image/internal/dist"
	"github.com/multicloud-ccm/multicloud-ccm/tools/image/internal/oci"
)

const (
	chartLayoutFile = "chart-oci.tar"
	// The media types of charts in registries
	// (https://helm.sh/docs/topics/registries/#helm-chart-manifest).
	chartConfigType  = "application/vnd.cncf.helm.config.v1+json"
	chartContentType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	// labelPrefix is that of the annotations of the OCI image specification.
	labelPrefix = "org.opencontainers.image."
)

// chart is a package of Helm.
type chart struct {
	data []byte
	// description is Chart.yaml as JSON.
	description                []byte
	name, version, home, about string
}

// fileName is the name that Helm gives to a package.
func (c chart) fileName() string { return c.name + "-" + c.version + ".tgz" }

// packageChart makes the package of the chart, of which the version of the release is that
// of the application. Helm writes the time of the build into packages; these have that of the
// sources.
func packageChart(ctx context.Context, o options) (chart, error) {
	annotations, err := annotationsOf(o.changelog, o.version)
	if err != nil {
		return chart{}, fmt.Errorf("package chart: %w", err)
	}
	folder, err := os.MkdirTemp("", "multicloud-ccm-chart-*")
	if err != nil {
		return chart{}, fmt.Errorf("package chart: %w", err)
	}
	defer os.RemoveAll(folder) //nolint:errcheck // a temporary folder
	if _, err := helm(ctx, o.helm, "package", o.chart, "--app-version", o.version, "--destination", folder); err != nil {
		return chart{}, err
	}
	found, err := filepath.Glob(filepath.Join(folder, "*.tgz"))
	if err != nil || len(found) != 1 {
		return chart{}, fmt.Errorf("package chart: want one package, got %d, error %w", len(found), err)
	}
	data, err := os.ReadFile(found[0])
	if err != nil {
		return chart{}, fmt.Errorf("package chart: %w", err)
	}
	packed, err := normalize(data, o.made, annotations)
	if err != nil {
		return chart{}, fmt.Errorf("package chart: %w", err)
	}

	return packed, nil
}

// helm runs Helm and returns what it prints.
func helm(ctx context.Context, path string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, path, args...)
	var problem bytes.Buffer
	command.Stderr = &problem
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("helm %s: %w: %s", args[0], err, bytes.TrimSpace(problem.Bytes()))
	}

	return out, nil
}

// normalize writes a package again, with files that belong to root and bear one time, and with
// annotations added to the chart.
func normalize(data []byte, made time.Time, annotations map[string]string) (chart, error) {
	compressed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return chart{}, err
	}
	var packed chart
	var text bytes.Buffer
	zipped := gzip.NewWriter(&text)
	in, out := tar.NewReader(compressed), tar.NewWriter(zipped)
	for {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return chart{}, err
		}
		content, err := io.ReadAll(in)
		if err != nil {
			return chart{}, err
		}
		if filepath.Base(header.Name) == "Chart.yaml" && filepath.Dir(filepath.Dir(header.Name)) == "." {
			if content, err = annotate(content, annotations); err != nil {
				return chart{}, err
			}
			if err := packed.describe(content); err != nil {
				return chart{}, err
			}
		}
		clean := &tar.Header{Name: header.Name, Mode: 0o644, Size: int64(len(content)), ModTime: made, Format: tar.FormatPAX}
		if err := out.WriteHeader(clean); err != nil {
			return chart{}, err
		}
		if _, err := out.Write(content); err != nil {
			return chart{}, err
		}
	}
	if err := errors.Join(out.Close(), zipped.Close()); err != nil {
		return chart{}, err
	}
	if packed.description == nil {
		return chart{}, errors.New("the package has no Chart.yaml")
	}
	packed.data = text.Bytes()

	return packed, nil
}

// annotate adds annotations to Chart.yaml, and replaces those of the same names.
func annotate(text []byte, annotations map[string]string) ([]byte, error) {
	var all map[string]any
	if err := yaml.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("read Chart.yaml: %w", err)
	}
	merged, ok := all["annotations"].(map[string]any)
	if !ok {
		merged = map[string]any{}
	}
	for name, value := range annotations {
		merged[name] = value
	}
	all["annotations"] = merged
	text, err := yaml.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("write Chart.yaml: %w", err)
	}

	return text, nil
}

// describe reads Chart.yaml.
func (c *chart) describe(text []byte) error {
	var read struct{ Name, Version, Home, Description string }
	if err := yaml.Unmarshal(text, &read); err != nil {
		return fmt.Errorf("read Chart.yaml: %w", err)
	}
	description, err := yaml.YAMLToJSON(text)
	if err != nil {
		return fmt.Errorf("read Chart.yaml: %w", err)
	}
	c.description, c.name, c.version, c.home, c.about = description, read.Name, read.Version, read.Home, read.Description

	return nil
}

// writeChart writes the package and its OCI layout, and adds the chart to the list of images.
func writeChart(o options, c chart) error {
	artifact := oci.Artifact{
		Config: oci.Blob{Type: chartConfigType, Data: c.description},
		Layers: []oci.Blob{{Type: chartContentType, Data: c.data}},
		Annotations: map[string]string{
			labelPrefix + "title":       c.name,
			labelPrefix + "version":     c.version,
			labelPrefix + "description": c.about,
			labelPrefix + "url":         c.home,
			labelPrefix + "licenses":    "Apache-2.0",
			labelPrefix + "created":     o.made.Format(time.RFC3339),
		},
	}
	var digest v1.Hash
	err := dist.Write(o.output, chartLayoutFile, func(w io.Writer) error {
		return oci.WriteLayout(w, o.made, func(path layout.Path) (err error) {
			digest, err = artifact.Append(path, c.version)

			return err
		})
	})
	if err != nil {
		return err
	}
	list, err := os.ReadFile(filepath.Join(o.output, listFile))
	if err != nil {
		return fmt.Errorf("add the chart to the list: %w", err)
	}
	list = fmt.Appendf(list, "charts/%s:%s@%s\n", c.name, c.version, digest)

	return errors.Join(dist.Write(o.output, listFile, dist.Bytes(list)), dist.Write(o.output, c.fileName(), dist.Bytes(c.data)))
}

// writeManifests renders the chart for a provider. Its cloud-config is in a Secret, except on
// AWS, where none is needed.
func writeManifests(ctx context.Context, o options, c chart, provider string) error {
	const introduction = `# Manifests of %s %s for the provider %s, for those without Helm. Set the name
# of the image to that in your registry. %s
# For other values of the chart, use make manifests or helm template.
`
	config := "No cloud-config is needed."
	args := []string{
		"template", commandName, filepath.Join(o.output, c.fileName()), "--namespace", "kube-system", "--no-hooks", "--set", "provider=" + provider,
	}
	if provider != "aws" {
		secret := "ccm-" + provider
		config = "The key cloud.conf of the Secret kube-system/" + secret + " has the cloud-config."
		args = append(args, "--set", "cloudConfig.existingSecret.name="+secret)
	}
	text, err := helm(ctx, o.helm, args...)
	if err != nil {
		return err
	}
	text = append(fmt.Appendf(nil, introduction, commandName, o.version, provider, config), text...)

	return dist.Write(o.output, "manifests-"+provider+".yaml", dist.Bytes(text))
}
