package main

import (
	"archive/tar"
	"bytes"
	"io"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	// user is an arbitrary ID that owns no file in the image.
	user = "65532:65532"
	// bundlePath is where Go programs look first.
	bundlePath = "etc/ssl/certs/ca-certificates.crt"
	// noticesPath has the licenses of everything in the image.
	noticesPath = "licenses/" + noticesFile
	// labelPrefix is that of the labels and annotations of the OCI image specification
	// (https://github.com/opencontainers/image-spec/blob/main/annotations.md).
	labelPrefix = "org.opencontainers.image."
)

// content is what an image is made of.
type content struct {
	certificates, notices, license []byte
	version, revision              string
	made                           time.Time
}

// filesOf returns the files of an image in two parts, the one that seldom changes first.
func filesOf(c content, binary program) (common, own []entry) {
	common = []entry{
		{name: "etc/", mode: 0o755},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: bundlePath, mode: 0o644, data: c.certificates},
		{name: "licenses/", mode: 0o755},
		{name: "licenses/LICENSE", mode: 0o644, data: c.license},
		{name: noticesPath, mode: 0o644, data: c.notices},
	}

	return common, []entry{{name: commandName, mode: 0o755, data: binary.data}}
}

// newImage makes the image of a program of two layers.
func newImage(c content, binary program) (platformImage, error) {
	common, own := filesOf(c, binary)
	first, err := newLayer(c.made, common...)
	if err != nil {
		return platformImage{}, err
	}
	executable, err := newLayer(c.made, own...)
	if err != nil {
		return platformImage{}, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base,
		mutate.Addendum{Layer: first, History: history(c.made, "CA certificates and licenses")},
		mutate.Addendum{Layer: executable, History: history(c.made, commandName)},
	)
	if err != nil {
		return platformImage{}, err
	}
	image, err = configure(image, c, binary.architecture)

	return platformImage{image: image, architecture: binary.architecture, files: slices.Concat(common, own)}, err
}

// configure sets what a container gets from its image, beside the files.
func configure(image v1.Image, c content, architecture string) (v1.Image, error) {
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created = targetOS, architecture, v1.Time{Time: c.made}
	file.Config = v1.Config{
		User:       user,
		Entrypoint: []string{"/" + commandName},
		WorkingDir: "/",
		Labels:     labels(c),
	}
	image, err = mutate.ConfigFile(image, file)
	if err != nil {
		return nil, err
	}

	return mutate.Annotations(image, labels(c)).(v1.Image), nil
}

func history(made time.Time, what string) v1.History {
	return v1.History{Created: v1.Time{Time: made}, CreatedBy: "tools/image", Comment: what}
}

// labels are those that the OCI image specification names.
func labels(c content) map[string]string {
	const prefix, home = labelPrefix, "https://github.com/multicloud-ccm/multicloud-ccm"
	all := map[string]string{
		prefix + "title":         commandName,
		prefix + "vendor":        "multicloud-ccm",
		prefix + "url":           home,
		prefix + "documentation": home + "/blob/main/README.md",
		prefix + "base.name":     "", // there is none
		prefix + "description":   "One cloud controller manager for several clouds",
		prefix + "licenses":      "Apache-2.0",
		prefix + "source":        home,
		prefix + "version":       c.version,
		prefix + "created":       c.made.Format(time.RFC3339),
	}
	if c.revision != "" {
		all[prefix+"revision"] = c.revision
	}

	return all
}

// entry is a file in a layer, or a directory where its name ends with a slash.
type entry struct {
	name string
	mode int64
	data []byte
}

// newLayer makes a layer of files that belong to root and bear one time.
func newLayer(made time.Time, entries ...entry) (v1.Layer, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.data)), ModTime: made, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil }

	return tarball.LayerFromOpener(open, tarball.WithCompressedCaching, tarball.WithMediaType(types.OCILayer))
}
