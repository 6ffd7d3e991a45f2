package main

import (
	"archive/tar"
	"bytes"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

const (
	// user is an arbitrary ID that owns no file in the image.
	user = "65532:65532"
	// bundlePath is where Go programs look first.
	bundlePath = "etc/ssl/certs/ca-certificates.crt"
)

// content is what an image is made of.
type content struct {
	binary            program
	certificates      []byte
	version, revision string
	made              time.Time
}

// newImage makes an image of two layers, the one that seldom changes first.
func newImage(c content) (v1.Image, error) {
	certificates, err := newLayer(c.made,
		entry{name: "etc/", mode: 0o755}, entry{name: "etc/ssl/", mode: 0o755}, entry{name: "etc/ssl/certs/", mode: 0o755},
		entry{name: bundlePath, mode: 0o644, data: c.certificates})
	if err != nil {
		return nil, err
	}
	executable, err := newLayer(c.made, entry{name: commandName, mode: 0o755, data: c.binary.data})
	if err != nil {
		return nil, err
	}
	image, err := mutate.Append(empty.Image,
		mutate.Addendum{Layer: certificates, History: history(c.made, "CA certificates")},
		mutate.Addendum{Layer: executable, History: history(c.made, commandName)},
	)
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created = targetOS, c.binary.architecture, v1.Time{Time: c.made}
	file.Config = v1.Config{
		User:       user,
		Entrypoint: []string{"/" + commandName},
		WorkingDir: "/",
		Labels:     labels(c),
	}

	return mutate.ConfigFile(image, file)
}

func history(made time.Time, what string) v1.History {
	return v1.History{Created: v1.Time{Time: made}, CreatedBy: "tools/image", Comment: what}
}

// labels are those that the OCI image specification names.
func labels(c content) map[string]string {
	const prefix, home = "org.opencontainers.image.", "https://github.com/multicloud-ccm/multicloud-ccm"
	all := map[string]string{
		prefix + "title":       commandName,
		prefix + "description": "One cloud controller manager for several clouds",
		prefix + "licenses":    "Apache-2.0",
		prefix + "source":      home,
		prefix + "version":     c.version,
		prefix + "created":     c.made.Format(time.RFC3339),
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

	return tarball.LayerFromOpener(open, tarball.WithCompressedCaching)
}
