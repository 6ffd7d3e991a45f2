package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/oci"
)

// chartText is the Chart.yaml of the tests.
const chartText = "apiVersion: v2\nname: ccm\nversion: 0.1.0\nappVersion: v1.2.3\nhome: https://example.com\ndescription: A chart\n" +
	"annotations: {artifacthub.io/license: Apache-2.0, artifacthub.io/prerelease: \"maybe\"}\n"

// fakeHelm is a program that packages a given file and renders its arguments.
func fakeHelm(t *testing.T, packed []byte) string {
	t.Helper()
	folder := t.TempDir()
	put(t, folder, "ccm-0.1.0.tgz", packed)

	return put(t, folder, "helm", []byte(`#!/bin/sh
set -eu
here=$(dirname "$0")
case $1 in
package)
	shift
	[ "$1 $2 $3 $4" = "the-chart --app-version v1.2.3 --destination" ]
	cp "$here/ccm-0.1.0.tgz" "$5"
	;;
template)
	test -f "$3"
	shift 3
	echo "rendered: $*"
	;;
esac
`))
}

func put(t *testing.T, folder, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o700); err != nil {
		t.Fatal(err)
	}

	return path
}

func readFile(t *testing.T, folder, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}

	return data
}

// packageOf makes a package as Helm does, with a time and an owner.
func packageOf(t *testing.T, made time.Time, owner int, files ...string) []byte {
	t.Helper()
	var text bytes.Buffer
	zipped := gzip.NewWriter(&text)
	zipped.ModTime, zipped.Comment = made, "Helm"
	out := tar.NewWriter(zipped)
	for _, name := range files {
		data := []byte("# " + name + "\n")
		if name == "ccm/Chart.yaml" {
			data = []byte(chartText)
		}
		header := &tar.Header{Name: name, Mode: 0o640, Size: int64(len(data)), ModTime: made, Uid: owner, Gid: owner, Uname: fmt.Sprint(owner)}
		if err := out.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(out.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}

	return text.Bytes()
}

// filesOfChart are those of the tests, one of a chart within.
func filesOfChart() []string {
	return []string{"ccm/Chart.yaml", "ccm/templates/a.yaml", "ccm/charts/sub/Chart.yaml"}
}

// input makes what a release is made of.
func input(t *testing.T, made time.Time, owner int) options {
	t.Helper()
	folder := t.TempDir()
	put(t, folder, "bin/linux-amd64/multicloud-controller-manager", []byte("amd64"))
	put(t, folder, "bin/linux-arm64/multicloud-controller-manager", []byte("arm64"))
	put(t, folder, "image/image-oci.tar", []byte("layout"))
	put(t, folder, "image/images.txt", []byte("ccm:v1.2.3@sha256:0\n"))

	return options{
		binaries: filepath.Join(folder, "bin"), image: filepath.Join(folder, "image"), chart: "the-chart",
		changelog: put(t, folder, "CHANGELOG.md", []byte("## v1.2.3\n\n### Security\n\n* A fix.\n")),
		policy:    filepath.Join("..", "..", "..", "docs", "reference", "aws-iam.md"), helm: fakeHelm(t, packageOf(t, made, owner, filesOfChart()...)),
		version: "v1.2.3", providers: "aws,vsphere", output: filepath.Join(folder, "dist"), made: time.Unix(1700000000, 0).UTC(),
	}
}

// TestCollect: whatever the time and the owner of the files, a release has the same bytes.
func TestCollect(t *testing.T) {
	t.Parallel()
	first, second := input(t, time.Unix(1800000000, 0), 0), input(t, time.Unix(1900000000, 123), 1000)
	for _, o := range []options{first, second} {
		if err := collect(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"SHA256SUMS", "aws-iam-policy.json", "ccm-0.1.0.tgz", "chart-oci.tar", "image-oci.tar", "images.txt", "manifests-aws.yaml", "manifests-vsphere.yaml",
		"multicloud-controller-manager-linux-amd64", "multicloud-controller-manager-linux-arm64",
	}
	var sums strings.Builder
	for i, name := range namesIn(t, first.output) {
		if i >= len(want) || name != want[i] {
			t.Fatalf("want the files %q, got %q", want, namesIn(t, first.output))
		}
		data := readFile(t, first.output, name)
		if !bytes.Equal(data, readFile(t, second.output, name)) {
			t.Errorf("%s is not the same", name)
		}
		if name != sumsFile {
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), name)
		}
	}
	if diff := cmp.Diff(sums.String(), string(readFile(t, first.output, sumsFile))); diff != "" {
		t.Errorf("checksums (-want +got):\n%s", diff)
	}
	testManifests(t, first.output)
	testChart(t, first.output)
	if info, err := os.Stat(filepath.Join(first.output, "multicloud-controller-manager-linux-arm64")); err != nil || info.Mode() != 0o755 {
		t.Errorf("want a program, got %v, error %v", info, err)
	}
}

func namesIn(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}

	return names
}

func testManifests(t *testing.T, folder string) {
	t.Helper()
	for provider, wants := range map[string][]string{
		"aws": {"No cloud-config is needed.\n", "rendered: --namespace kube-system --no-hooks --set provider=aws\n"},
		"vsphere": {
			"# Manifests of multicloud-controller-manager v1.2.3 for the provider vsphere", "Secret kube-system/ccm-vsphere",
			"rendered: --namespace kube-system --no-hooks --set provider=vsphere --set cloudConfig.existingSecret.name=ccm-vsphere\n",
		},
	} {
		text := string(readFile(t, folder, "manifests-"+provider+".yaml"))
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("want %q in the manifests, got\n%s", want, text)
			}
		}
	}
}

// testChart reads the layout of the chart as Helm reads it in a registry.
func testChart(t *testing.T, folder string) {
	t.Helper()
	ctx := t.Context()
	store, err := oci.NewFromTar(ctx, filepath.Join(folder, chartLayoutFile))
	if err != nil {
		t.Fatal(err)
	}
	top, err := store.Resolve(ctx, "0.1.0")
	if err != nil {
		t.Fatal(err)
	}
	text, err := content.FetchAll(ctx, store, top)
	if err != nil {
		t.Fatal(err)
	}
	var manifest ocispec.Manifest
	if err := json.Unmarshal(text, &manifest); err != nil {
		t.Fatal(err)
	}
	annotations := map[string]string{
		"org.opencontainers.image.title": "ccm", "org.opencontainers.image.version": "0.1.0", "org.opencontainers.image.description": "A chart",
		"org.opencontainers.image.url": "https://example.com", "org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.created": "2023-11-14T22:13:20Z",
	}
	if diff := cmp.Diff(annotations, manifest.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if manifest.Config.MediaType != chartConfigType || len(manifest.Layers) != 1 || manifest.Layers[0].MediaType != chartContentType {
		t.Fatalf("want a chart, got %s", text)
	}
	config, err := content.FetchAll(ctx, store, manifest.Config)
	if err != nil {
		t.Fatal(err)
	}
	var described struct {
		Name, AppVersion string
		Annotations      map[string]string
	}
	if err := json.Unmarshal(config, &described); err != nil {
		t.Fatal(err)
	}
	if described.Name != "ccm" || described.AppVersion != "v1.2.3" {
		t.Errorf("want Chart.yaml as configuration, got %s", config)
	}
	annotations = map[string]string{
		"artifacthub.io/changes":                 "- description: A fix.\n  kind: security\n",
		"artifacthub.io/containsSecurityUpdates": "true", "artifacthub.io/prerelease": "false", "artifacthub.io/license": "Apache-2.0",
	}
	if diff := cmp.Diff(annotations, described.Annotations); diff != "" {
		t.Errorf("annotations of the chart (-want +got):\n%s", diff)
	}
	packed, err := content.FetchAll(ctx, store, manifest.Layers[0])
	if err != nil || !bytes.Equal(packed, readFile(t, folder, "ccm-0.1.0.tgz")) {
		t.Errorf("want the package, error %v", err)
	}
	if want := "charts/ccm:0.1.0@" + top.Digest.String() + "\n"; !strings.HasSuffix(string(readFile(t, folder, listFile)), want) {
		t.Errorf("want %q at the end of the list", want)
	}
}

// TestNormalize: the files stay as they are, in their order.
func TestNormalize(t *testing.T) {
	t.Parallel()
	made := time.Unix(1700000000, 0)
	packed, err := normalize(packageOf(t, time.Unix(1, 0), 7, filesOfChart()...), made, nil)
	if err != nil {
		t.Fatal(err)
	}
	zipped, err := gzip.NewReader(bytes.NewReader(packed.data))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for in := tar.NewReader(zipped); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
		if !header.ModTime.Equal(made) || header.Uid != 0 || header.Uname != "" || header.Mode != 0o644 {
			t.Errorf("want a file of root and of one time, got %+v", header)
		}
	}
	if !slices.Equal(names, filesOfChart()) {
		t.Errorf("want %q, got %q", filesOfChart(), names)
	}
	if packed.fileName() != "ccm-0.1.0.tgz" {
		t.Errorf("want the name of the chart, not that of the one within, got %s", packed.fileName())
	}
	if _, err := normalize(packageOf(t, made, 0, "ccm/values.yaml"), made, nil); err == nil {
		t.Error("want an error without Chart.yaml")
	}
}

func TestPolicyOf(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ page, want, err string }{
		"Policy":    {page: "# A\n\n```json\n{\"Version\": \"1\", \"Statement\": [{}]}\n```\n", want: "{\"Version\": \"1\", \"Statement\": [{}]}\n"},
		"None":      {page: "# A\n", err: "want one block of JSON, got 0"},
		"Two":       {page: "\n```json\n{}\n```\n\n```json\n{}\n```\n", err: "want one block of JSON, got 2"},
		"Endless":   {page: "\n```json\n{}\n", err: "has no end"},
		"Broken":    {page: "\n```json\n{\n```\n", err: "unexpected end of JSON"},
		"NotPolicy": {page: "\n```json\n{}\n```\n", err: "is not a policy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := policyOf(tc.page)
			if got != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("want %q, error %q, got %q, error %v", tc.want, tc.err, got, err)
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		change func(*options)
		want   string
	}{
		"Exists":     {"files of a former release would get into this one", func(o *options) { o.output = o.image }, "make the folder of the release"},
		"NoBinaries": {"nothing was built", func(o *options) { o.binaries = "nowhere" }, "nowhere has no linux-*/multicloud-controller-manager"},
		"NoImage":    {"nothing was packed", func(o *options) { o.image = "nowhere" }, "find the image: "},
		"NoHelm":     {"it was not built", func(o *options) { o.helm = "nowhere/helm" }, "helm package: "},
		"BadChart":   {"what Helm prints is in the error", func(o *options) { o.chart = "another" }, "helm package: exit status 1"},
		"NoVersion":  {"the changelog was not prepared", func(o *options) { o.version = "v1.3.0" }, `there is no section "## v1.3.0"`},
		"NoPolicy":   {"the page was moved", func(o *options) { o.policy = "nowhere" }, "read IAM policy: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := input(t, time.Unix(1, 0), 0)
			tc.change(&o)
			if err := collect(t.Context(), o); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: want an error with %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"Nothing": nil, "Some": {"-output", "a"}} {
		if err := run(t.Context(), args); err == nil || !strings.Contains(err.Error(), "all flags are needed") {
			t.Errorf("%s: want an error that says what is needed, got %v", name, err)
		}
	}
}
