package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/multicloud-ccm/multicloud-ccm/tools/image/internal/dist"
)

// The files that are written beside those of each platform.
const (
	layoutFile  = "image-oci.tar"
	listFile    = "images.txt"
	noticesFile = "THIRD_PARTY_NOTICES"
)

func (p platformImage) archiveName() string {
	return "image-" + targetOS + "-" + p.architecture + ".tar"
}

func (p platformImage) sbomName() string {
	return "sbom-" + targetOS + "-" + p.architecture + ".cdx.json"
}

// pack makes the image of the options and prints what it is.
func pack(ctx context.Context, o options) error {
	reference, err := name.NewTag(o.repository + ":" + o.tag)
	if err != nil {
		return fmt.Errorf("name the image: %w", err)
	}
	binaries, err := readBinaries(o.binaries, o.tag)
	if err != nil {
		return err
	}
	c, licenses, err := read(ctx, o, binaries)
	if err != nil {
		return err
	}
	var images []platformImage
	for _, binary := range binaries {
		image, err := newImage(c, binary)
		if err != nil {
			return fmt.Errorf("make image: %w", err)
		}
		if image.sbom, err = newSBOM(binary, c.made, licenses); err != nil {
			return err
		}
		images = append(images, image)
	}

	return errors.Join(writeTrees(o.root, images), writeAll(o.output, reference, images, c), writeValues(os.Stdout, o))
}

// read reads what all platforms have in common, and returns the licenses of each module.
func read(ctx context.Context, o options, binaries []program) (content, map[string][]string, error) {
	made, err := dist.SourceDate(os.Getenv("SOURCE_DATE_EPOCH"))
	if err != nil {
		return content{}, nil, err
	}
	license, err := os.ReadFile(filepath.Join(o.module, "LICENSE"))
	if err != nil {
		return content{}, nil, fmt.Errorf("read license: %w", err)
	}
	roots, err := readCertificates(o.bundle)
	if err != nil {
		return content{}, nil, err
	}
	found, err := readNotices(ctx, o.module, binaries, roots)
	if err != nil {
		return content{}, nil, err
	}
	fmt.Printf("%d CA certificates of %s, licenses of %d modules\n", roots.count, roots.source, len(found.licenses))

	return content{
		certificates: roots.pem, notices: found.text, license: license, version: o.tag, revision: o.commit, made: made,
	}, found.licenses, nil
}

// writeTrees writes the files of each image below a folder, if there is one.
func writeTrees(folder string, images []platformImage) error {
	if folder == "" {
		return nil
	}
	for _, p := range images {
		if err := writeTree(filepath.Join(folder, targetOS+"-"+p.architecture), p.files); err != nil {
			return fmt.Errorf("write the files of the image: %w", err)
		}
	}

	return nil
}

// writeAll writes all files of a release of the image.
func writeAll(folder string, reference name.Tag, images []platformImage, c content) error {
	index := newIndex(images, labels(c))
	list, err := listOf(index, images, c.version)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("write image: %w", err)
	}
	failed := []error{
		dist.Write(folder, layoutFile, func(w io.Writer) error { return writeLayout(w, index, images, c) }),
		dist.Write(folder, noticesFile, dist.Bytes(c.notices)),
		dist.Write(folder, listFile, dist.Bytes([]byte(list))),
	}
	for _, p := range images {
		failed = append(failed,
			dist.Write(folder, p.archiveName(), func(w io.Writer) error { return tarball.Write(reference, p.image, w) }),
			dist.Write(folder, p.sbomName(), dist.Bytes(p.sbom)))
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	for _, p := range images {
		fmt.Printf("%s: %s for %s\n", filepath.Join(folder, p.archiveName()), reference, p.platform())
	}
	fmt.Printf("%s:\n%s", filepath.Join(folder, layoutFile), list)

	return nil
}

// listOf returns a line with the name of the image and its digest, and one for each of its
// platforms. The names have no registry: it is the one that the image is copied to.
func listOf(index v1.ImageIndex, images []platformImage, tag string) (string, error) {
	digest, err := index.Digest()
	if err != nil {
		return "", fmt.Errorf("make index: %w", err)
	}
	var list strings.Builder
	fmt.Fprintf(&list, "%s:%s@%s\n", commandName, tag, digest)
	for _, p := range images {
		digest, err := p.image.Digest()
		if err != nil {
			return "", fmt.Errorf("make image: %w", err)
		}
		fmt.Fprintf(&list, "%s@%s %s\n", commandName, digest, p.platform())
	}

	return list.String(), nil
}
