package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	orascontent "oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/memory"
	"oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/registry"
)

// testLayout copies the layout by its tag with all referrers, as for a registry without a
// connection, and compares what arrives with the other files.
func testLayout(t *testing.T, folder string) {
	t.Helper()
	ctx := t.Context()
	from, err := oci.NewFromTar(ctx, filepath.Join(folder, "image-oci.tar"))
	if err != nil {
		t.Fatal(err)
	}
	to := memory.New()
	top, err := oras.Copy(ctx, from, "v1.2.3", to, "", oras.DefaultCopyOptions)
	if err != nil {
		t.Fatal(err)
	}
	var index ocispec.Index
	decode(t, to, top, &index)
	if diff := cmp.Diff(labelsOf(), index.Annotations); diff != "" {
		t.Errorf("annotations of the index (-want +got):\n%s", diff)
	}
	list := "multicloud-controller-manager:v1.2.3@" + top.Digest.String() + "\n"
	var platforms []string
	for _, entry := range index.Manifests {
		platform := entry.Platform.OS + "/" + entry.Platform.Architecture
		platforms = append(platforms, platform)
		list += "multicloud-controller-manager@" + entry.Digest.String() + " " + platform + "\n"
		var manifest ocispec.Manifest
		decode(t, to, entry, &manifest)
		if diff := cmp.Diff(labelsOf(), manifest.Annotations); diff != "" {
			t.Errorf("annotations of the image (-want +got):\n%s", diff)
		}
		testReferrer(t, from, entry, filepath.Join(folder, "sbom-"+strings.ReplaceAll(platform, "/", "-")+".cdx.json"))
	}
	if diff := cmp.Diff([]string{"linux/amd64", "linux/arm64"}, platforms); diff != "" {
		t.Errorf("platforms (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(list, string(readFile(t, filepath.Join(folder, "images.txt")))); diff != "" {
		t.Errorf("list of images (-want +got):\n%s", diff)
	}
	testDigests(t, filepath.Join(folder, "image-oci.tar"), top.Digest.String())
}

// testReferrer copies an image with its referrers: there is one SBOM.
func testReferrer(t *testing.T, from *oci.ReadOnlyStore, image ocispec.Descriptor, sbom string) {
	t.Helper()
	ctx, to := t.Context(), memory.New()
	image.Platform = nil
	if err := oras.ExtendedCopyGraph(ctx, from, to, image, oras.DefaultExtendedCopyGraphOptions); err != nil {
		t.Fatal(err)
	}
	found, err := registry.Referrers(ctx, to, image, "application/vnd.cyclonedx+json")
	if err != nil || len(found) != 1 {
		t.Fatalf("want one referrer, got %v, error %v", found, err)
	}
	var manifest ocispec.Manifest
	decode(t, to, found[0], &manifest)
	if len(manifest.Layers) != 1 || manifest.Layers[0].Annotations[ocispec.AnnotationTitle] != filepath.Base(sbom) {
		t.Fatalf("want one file with its name, got %v", manifest.Layers)
	}
	text, err := orascontent.FetchAll(ctx, to, manifest.Layers[0])
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text, readFile(t, sbom)) {
		t.Error("the SBOM is not the one beside the image")
	}
}

// testDigests unpacks the layout and checks all digests and sizes of the image.
func testDigests(t *testing.T, path, digest string) {
	t.Helper()
	folder := t.TempDir()
	for _, f := range filesOfArchive(t, bytes.NewReader(readFile(t, path))) {
		var err error
		if into := filepath.Join(folder, f.Name); strings.HasSuffix(f.Name, "/") {
			err = os.Mkdir(into, 0o755)
		} else {
			err = os.WriteFile(into, []byte(f.Content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	hash, err := v1.NewHash(digest)
	if err != nil {
		t.Fatal(err)
	}
	index, err := root.ImageIndex(hash)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Errorf("digests and sizes: %v", err)
	}
}

func decode(t *testing.T, store orascontent.Fetcher, what ocispec.Descriptor, into any) {
	t.Helper()
	text, err := orascontent.FetchAll(t.Context(), store, what)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}
