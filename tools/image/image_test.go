package main

import (
	"bytes"
	"crypto/x509"
	"debug/elf"
	"encoding/pem"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// labelsOf are the labels of the image of version v1.2.3.
func labelsOf() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":         "multicloud-controller-manager",
		"org.opencontainers.image.description":   "One cloud controller manager for several clouds",
		"org.opencontainers.image.licenses":      "Apache-2.0",
		"org.opencontainers.image.source":        "https://github.com/multicloud-ccm/multicloud-ccm",
		"org.opencontainers.image.url":           "https://github.com/multicloud-ccm/multicloud-ccm",
		"org.opencontainers.image.documentation": "https://github.com/multicloud-ccm/multicloud-ccm/blob/main/README.md",
		"org.opencontainers.image.vendor":        "multicloud-ccm",
		"org.opencontainers.image.base.name":     "",
		"org.opencontainers.image.version":       "v1.2.3",
		"org.opencontainers.image.revision":      "0123abc",
		"org.opencontainers.image.created":       "2023-11-14T22:13:20Z",
	}
}

// TestImage cannot be parallel: it is about the environment.
func TestImage(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	made := time.Unix(1700000000, 0).UTC()
	arm, intel := binaryOf(t, elf.EM_AARCH64, "v1.2.3"), binaryOf(t, elf.EM_X86_64, "v1.2.3")
	certificate, key := authority(t)
	bundle := slices.Concat([]byte("# Some authority\n"), certificate, key, []byte("trailing words\n"))
	output := filepath.Join(t.TempDir(), "image")
	err := run(t.Context(), []string{
		"-binary", arm, "-binary", intel, "-ca-certificates", put(t, "bundle.pem", bundle), "-module", moduleFolder(t),
		"-version", "v1.2.3", "-revision", "0123abc", "-output", output,
	})
	if err != nil {
		t.Fatal(err)
	}

	for architecture, binary := range map[string]string{"arm64": arm, "amd64": intel} {
		path := filepath.Join(output, "image-linux-"+architecture+".tar")
		image, err := tarball.ImageFromPath(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Image(image); err != nil {
			t.Errorf("digests and sizes: %v", err)
		}
		want := settings{
			Platform: "linux/" + architecture, Created: made,
			Config: v1.Config{
				User: "65532:65532", Entrypoint: []string{"/multicloud-controller-manager"}, WorkingDir: "/", Labels: labelsOf(),
			},
		}
		if diff := cmp.Diff(want, settingsOf(t, image)); diff != "" {
			t.Errorf("settings (-want +got):\n%s", diff)
		}
		// The binary, the certificates without anything else that was in the
		// bundle, the licenses, and the directories on the way to them.
		files := []file{
			{Name: "etc/", Mode: 0o755, Time: made},
			{Name: "etc/ssl/", Mode: 0o755, Time: made},
			{Name: "etc/ssl/certs/", Mode: 0o755, Time: made},
			{Name: "etc/ssl/certs/ca-certificates.crt", Content: string(certificate), Mode: 0o644, Time: made},
			{Name: "licenses/", Mode: 0o755, Time: made},
			{Name: "licenses/LICENSE", Content: string(readFile(t, "../../LICENSE")), Mode: 0o644, Time: made},
			{Name: "licenses/THIRD_PARTY_NOTICES", Content: string(readFile(t, filepath.Join(output, "THIRD_PARTY_NOTICES"))), Mode: 0o644, Time: made},
			{Name: "multicloud-controller-manager", Content: string(readFile(t, binary)), Mode: 0o755, Time: made},
		}
		if diff := cmp.Diff(files, filesIn(t, image)); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
		testLoadable(t, path)
	}
	testLayout(t, output)
}

// testLoadable reads what docker load and its like look for.
func testLoadable(t *testing.T, path string) {
	t.Helper()
	manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(path) })
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"localhost/multicloud-controller-manager:v1.2.3"}
	if len(manifest) != 1 {
		t.Fatalf("want one image, got %d", len(manifest))
	}
	if diff := cmp.Diff(want, manifest[0].RepoTags); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if _, err := name.NewTag(manifest[0].RepoTags[0], name.StrictValidation); err != nil {
		t.Errorf("name: %v", err)
	}
}

// TestReproducible proves that neither the time nor the place of a build, nor the order of
// the binaries, is in the files.
func TestReproducible(t *testing.T) {
	t.Parallel()
	machines := []elf.Machine{elf.EM_X86_64, elf.EM_AARCH64}
	var written [2]map[string][]byte
	for i := range written {
		var binaries paths
		for _, machine := range machines {
			path := binaryOf(t, machine, "(devel)")
			if err := os.Chtimes(path, time.Time{}, time.Unix(int64(1e9+i), 0)); err != nil {
				t.Fatal(err)
			}
			binaries = append(binaries, path)
		}
		slices.Reverse(machines)
		output := t.TempDir()
		if err := pack(t.Context(), options{binaries: binaries, module: moduleFolder(t), output: output, repository: "localhost/ccm", tag: "v1"}); err != nil {
			t.Fatal(err)
		}
		written[i] = map[string][]byte{}
		for _, name := range []string{
			"image-oci.tar", "image-linux-amd64.tar", "image-linux-arm64.tar", "images.txt",
			"sbom-linux-amd64.cdx.json", "sbom-linux-arm64.cdx.json", "THIRD_PARTY_NOTICES",
		} {
			written[i][name] = readFile(t, filepath.Join(output, name))
		}
		if entries, err := os.ReadDir(output); err != nil || len(entries) != len(written[i]) {
			t.Errorf("want %d files, got %v, error %v", len(written[i]), entries, err)
		}
	}
	for name, data := range written[0] {
		if !bytes.Equal(data, written[1][name]) {
			t.Errorf("the same input made two different files %s", name)
		}
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	certificate, key := authority(t)
	program := binaryOf(t, elf.EM_X86_64, "(devel)")
	bundle := put(t, "bundle.pem", certificate)
	large := put(t, "large", nil)
	if err := os.Truncate(large, 111e6); err != nil {
		t.Fatal(err)
	}
	broken := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("nothing of the sort")})

	cases := map[string]struct {
		reason  string
		options options
		want    string
	}{
		"Dynamic": {
			reason:  "there is no loader in the image",
			options: options{binaries: paths{put(t, "dynamic", executable(t, elf.EM_X86_64, nil, elf.PT_INTERP))}},
			want:    "is not static: build it with CGO_ENABLED=0",
		},
		"OtherMachine": {
			reason:  "an image must name its architecture",
			options: options{binaries: paths{put(t, "mips", executable(t, elf.EM_MIPS, nil))}},
			want:    "is for EM_MIPS, which no image is made for",
		},
		"NotABinary": {
			reason:  "a build for another system makes no ELF file",
			options: options{binaries: paths{bundle}},
			want:    "is not a Linux binary",
		},
		"NoModules": {
			reason:  "neither an SBOM nor notices can be made of it",
			options: options{binaries: paths{put(t, "bare", executable(t, elf.EM_X86_64, nil))}},
			want:    "has no versions of its modules",
		},
		"NoBinary": {
			reason:  "the build may have failed",
			options: options{binaries: paths{"nowhere/ccm"}},
			want:    "read binary: stat nowhere/ccm: no such file",
		},
		"OverBudget": {
			reason:  "a dependency that makes the binary so large is noticed here",
			options: options{binaries: paths{large}},
			want:    "has 111.0 MB, its budget is 110 MB",
		},
		"SamePlatform": {
			reason:  "an index has one image for each platform",
			options: options{binaries: paths{program, binaryOf(t, elf.EM_X86_64, "(devel)")}},
			want:    "is for amd64, and so is another one",
		},
		"OtherVersion": {
			reason:  "the platforms of an image are of one version",
			options: options{binaries: paths{program, binaryOf(t, elf.EM_AARCH64, "v1")}},
			want:    "is v1 built with go1.26.8, another one (devel) built with go1.26.8",
		},
		"OtherTag": {
			reason:  "a checkout with changes is not the version of its tag",
			options: options{binaries: paths{binaryOf(t, elf.EM_X86_64, "v1+dirty")}},
			want:    "is v1+dirty, not v1",
		},
		"NoBundle": {
			reason:  "a named bundle that is not there is not replaced by another",
			options: options{binaries: paths{program}, bundle: "nowhere/ca.pem"},
			want:    "read CA certificates: open nowhere/ca.pem: no such file",
		},
		"NoCertificate": {
			reason:  "without certificates no cloud could be trusted",
			options: options{binaries: paths{program}, bundle: put(t, "key.pem", slices.Concat(key, broken))},
			want:    "holds no certificate in PEM form",
		},
		"NoLicense": {
			reason:  "the license comes with the program",
			options: options{binaries: paths{program}, module: "nowhere"},
			want:    "read license: open nowhere/LICENSE: no such file",
		},
		"BadTag": {
			reason:  "not every version can be a tag",
			options: options{binaries: paths{program}, tag: "v1+dirty"},
			want:    "name the image: ",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			tc.options.output, tc.options.repository = dir, "localhost/ccm"
			if tc.options.tag == "" {
				tc.options.tag = "v1"
			}
			if tc.options.module == "" {
				tc.options.module = moduleFolder(t)
			}
			err := pack(t.Context(), tc.options)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: want an error with %q, got %v", tc.reason, tc.want, err)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("%s: it left %v", tc.reason, left)
			}
		})
	}
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"Nothing":  nil,
		"NoTag":    {"-binary", "a", "-output", "b", "-module", "."},
		"Leftover": {"-binary", "a", "-output", "b", "-module", ".", "-version", "c", "d"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := run(t.Context(), args); err == nil || !strings.Contains(err.Error(), "-binary, -module, -version and -output are needed") {
				t.Errorf("want an error that names what is needed, got %v", err)
			}
		})
	}
}

// TestPublicRoots: all roots are valid certificates but those that are trusted only for
// certificates issued before a date, which a PEM file cannot express.
func TestPublicRoots(t *testing.T) {
	t.Parallel()
	roots, err := readCertificates("")
	if err != nil {
		t.Fatal(err)
	}
	again, err := readBundle(put(t, "roots.pem", roots.pem))
	if err != nil {
		t.Fatal(err)
	}
	if again.count != roots.count || !bytes.Equal(again.pem, roots.pem) {
		t.Errorf("%d of %d roots are certificates", again.count, roots.count)
	}
	const least = 100
	if roots.count < least {
		t.Errorf("want at least %d roots, got %d", least, roots.count)
	}
	if diff := cmp.Diff([]string{"CN=Izenpe.com,O=IZENPE S.A.,C=ES"}, constrainedRoots(t)); diff != "" {
		t.Errorf("roots that are left out (-want +got):\n%s", diff)
	}
}

// constrainedRoots are the names of the roots that are left out.
func constrainedRoots(t *testing.T) []string {
	t.Helper()
	var names []string
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			continue
		}
		certificate, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, certificate.Subject.String())
	}

	return names
}
