package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/multicloud-ccm/multicloud-ccm/tools/image/internal/oci"
)

// sbomType is the media type of an SBOM (https://cyclonedx.org/specification/overview).
const sbomType = "application/vnd.cyclonedx+json"

// platformImage is the image of a platform, with the SBOM of its binary.
type platformImage struct {
	image        v1.Image
	architecture string
	files        []entry
	sbom         []byte
}

func (p platformImage) platform() string { return targetOS + "/" + p.architecture }

// newIndex returns the index of the images of all platforms.
func newIndex(images []platformImage, annotations map[string]string) v1.ImageIndex {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range images {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: p.image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: targetOS, Architecture: p.architecture}},
		})
	}

	return mutate.Annotations(index, annotations).(v1.ImageIndex)
}

// writeLayout writes the index of all platforms under a tag, and the SBOM of each platform,
// which refers to its image
// (https://github.com/opencontainers/distribution-spec/blob/main/spec.md#listing-referrers).
func writeLayout(w io.Writer, index v1.ImageIndex, images []platformImage, c content) error {
	return oci.WriteLayout(w, c.made, func(path layout.Path) error {
		if err := oci.AppendIndex(path, index, c.version); err != nil {
			return err
		}
		for _, p := range images {
			subject, err := partial.Descriptor(p.image)
			if err != nil {
				return err
			}
			sbom := oci.Artifact{
				Type:        sbomType,
				Layers:      []oci.Blob{{Type: sbomType, Data: p.sbom, Annotations: map[string]string{labelPrefix + "title": p.sbomName()}}},
				Annotations: map[string]string{labelPrefix + "created": labels(c)[labelPrefix+"created"]},
				Subject:     &v1.Descriptor{MediaType: subject.MediaType, Digest: subject.Digest, Size: subject.Size},
			}
			if _, err := sbom.Append(path, ""); err != nil {
				return err
			}
		}

		return nil
	})
}

// writeTree writes the files of an image below a folder, for the Dockerfile. Former ones are
// removed.
func writeTree(folder string, files []entry) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		path, mode := filepath.Join(folder, filepath.FromSlash(f.name)), os.FileMode(f.mode)
		var err error
		if strings.HasSuffix(f.name, "/") {
			err = os.Mkdir(path, mode)
		} else {
			err = os.WriteFile(path, f.data, mode)
		}
		// The umask does not count.
		if err := errors.Join(err, os.Chmod(path, mode)); err != nil {
			return err
		}
	}

	return nil
}
