// Package oci writes OCI image layouts as archives, of images and of other artifacts
// (https://github.com/opencontainers/image-spec/blob/main/image-layout.md).
package oci

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// refName is the annotation by which tools find an image in a layout
// (https://github.com/opencontainers/image-spec/blob/main/annotations.md).
const refName = "org.opencontainers.image.ref.name"

// tagged returns the annotations of a manifest in a layout.
func tagged(tag string) map[string]string {
	if tag == "" {
		return nil
	}

	return map[string]string{refName: tag}
}

// AppendIndex adds the index of an image and all that is in it to the layout, under a tag.
func AppendIndex(path layout.Path, index v1.ImageIndex, tag string) error {
	return path.AppendIndex(index, layout.WithAnnotations(tagged(tag)))
}

// WriteLayout writes the layout that fill makes as an archive. All files in it bear the same
// time.
func WriteLayout(w io.Writer, made time.Time, fill func(layout.Path) error) (err error) {
	folder, err := os.MkdirTemp("", "multicloud-ccm-layout-*")
	if err != nil {
		return fmt.Errorf("make layout: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return fmt.Errorf("make layout: %w", err)
	}
	if err := fill(path); err != nil {
		return fmt.Errorf("make layout: %w", err)
	}
	if err := archive(w, folder, made); err != nil {
		return fmt.Errorf("archive layout: %w", err)
	}

	return nil
}

// archive writes a folder as an archive of files that belong to root and bear one time.
func archive(w io.Writer, folder string, made time.Time) error {
	out := tar.NewWriter(w)
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == folder {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		header := &tar.Header{Name: filepath.ToSlash(name), Mode: 0o644, ModTime: made, Format: tar.FormatUSTAR}
		if entry.IsDir() {
			header.Name, header.Mode = header.Name+"/", 0o755

			return out.WriteHeader(header)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		header.Size = int64(len(data))
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		_, err = out.Write(data)

		return err
	})
	if err != nil {
		return err
	}

	return out.Close()
}
