package oci

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// emptyType is the media type of a configuration without content
// (https://github.com/opencontainers/image-spec/blob/main/manifest.md#guidance-for-an-empty-descriptor).
const emptyType = types.MediaType("application/vnd.oci.empty.v1+json")

// Blob is content of a media type.
type Blob struct {
	Type        types.MediaType
	Data        []byte
	Annotations map[string]string
}

// descriptor returns the digest and the size of the blob.
func (b Blob) descriptor() (v1.Descriptor, error) {
	digest, size, err := v1.SHA256(bytes.NewReader(b.Data))

	return v1.Descriptor{MediaType: b.Type, Digest: digest, Size: size, Annotations: b.Annotations}, err
}

// Artifact is a manifest of content that is not an image.
type Artifact struct {
	// Type is the type of the artifact if its configuration has none.
	Type string
	// Config is the configuration. Without a type, it is empty.
	Config      Blob
	Layers      []Blob
	Annotations map[string]string
	// Subject is the manifest that the artifact refers to, if any: registries list it among
	// the referrers of that one.
	Subject *v1.Descriptor
}

// Append adds the artifact to the layout, under a tag if it is not empty, and returns the
// digest of its manifest.
func (a Artifact) Append(path layout.Path, tag string) (v1.Hash, error) {
	manifest := v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1,
		Annotations: a.Annotations, Subject: a.Subject, ArtifactType: a.Type,
	}
	config := a.Config
	if config.Type == "" {
		config = Blob{Type: emptyType, Data: []byte("{}")}
	}
	var err error
	if manifest.Config, err = writeBlob(path, config); err != nil {
		return v1.Hash{}, err
	}
	for _, layer := range a.Layers {
		written, err := writeBlob(path, layer)
		if err != nil {
			return v1.Hash{}, err
		}
		manifest.Layers = append(manifest.Layers, written)
	}
	text, err := json.Marshal(manifest)
	if err != nil {
		return v1.Hash{}, fmt.Errorf("write manifest: %w", err)
	}
	entry, err := writeBlob(path, Blob{Type: types.OCIManifestSchema1, Data: text, Annotations: tagged(tag)})
	if err != nil {
		return v1.Hash{}, err
	}
	entry.ArtifactType = a.Type

	return entry.Digest, path.AppendDescriptor(entry)
}

func writeBlob(path layout.Path, b Blob) (v1.Descriptor, error) {
	descriptor, err := b.descriptor()
	if err != nil {
		return v1.Descriptor{}, fmt.Errorf("write blob: %w", err)
	}
	if err := path.WriteBlob(descriptor.Digest, io.NopCloser(bytes.NewReader(b.Data))); err != nil {
		return v1.Descriptor{}, fmt.Errorf("write blob %s: %w", descriptor.Digest, err)
	}

	return descriptor, nil
}
