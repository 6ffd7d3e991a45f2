package main

import (
	"archive/tar"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"debug/elf"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
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
)

// put writes a file and returns its path.
func put(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o700); err != nil {
		t.Fatal(err)
	}

	return path
}

// executable makes the least that passes for a binary: headers.
func executable(t *testing.T, machine elf.Machine, segments ...elf.ProgType) []byte {
	t.Helper()
	header := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT),
		Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: uint16(len(segments)), Shentsize: 64,
	}
	copy(header.Ident[:], elf.ELFMAG)
	header.Ident[elf.EI_CLASS], header.Ident[elf.EI_DATA] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB)
	header.Ident[elf.EI_VERSION] = byte(elf.EV_CURRENT)
	var file bytes.Buffer
	parts := []any{header}
	for _, segment := range segments {
		parts = append(parts, elf.Prog64{Type: uint32(segment)})
	}
	for _, part := range parts {
		if err := binary.Write(&file, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}

	return file.Bytes()
}

// authority makes a certificate and its key, both in PEM form.
func authority(t *testing.T) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}

	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

// file is the metadata of a file in a layer.
type file struct {
	Name, Content string
	Mode          int64
	UID, GID      int
	Time          time.Time
}

// filesIn lists the files of all layers.
func filesIn(t *testing.T, image v1.Image) []file {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	var files []file
	for _, layer := range layers {
		content, err := layer.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		defer content.Close()
		for archive := tar.NewReader(content); ; {
			header, err := archive.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(archive)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file{header.Name, string(data), header.Mode, header.Uid, header.Gid, header.ModTime.UTC()})
		}
	}

	return files
}

// settings are what a container gets from its image.
type settings struct {
	Platform string
	Created  time.Time
	Config   v1.Config
}

func settingsOf(t *testing.T, image v1.Image) settings {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}

	return settings{config.OS + "/" + config.Architecture, config.Created.Time, config.Config}
}

// TestImage cannot be parallel: it is about the environment.
func TestImage(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	made := time.Unix(1700000000, 0).UTC()
	program := executable(t, elf.EM_AARCH64, elf.PT_LOAD)
	certificate, key := authority(t)
	bundle := slices.Concat([]byte("# Some authority\n"), certificate, key, []byte("trailing words\n"))
	output := filepath.Join(t.TempDir(), "image.tar")
	err := run([]string{
		"-binary", put(t, "ccm", program), "-ca-certificates", put(t, "bundle.pem", bundle),
		"-version", "v1.2.3", "-revision", "0123abc", "-output", output,
	})
	if err != nil {
		t.Fatal(err)
	}

	image, err := tarball.ImageFromPath(output, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(image); err != nil {
		t.Errorf("digests and sizes: %v", err)
	}
	want := settings{
		Platform: "linux/arm64",
		Created:  made,
		Config: v1.Config{
			User:       "65532:65532",
			Entrypoint: []string{"/multicloud-controller-manager"},
			WorkingDir: "/",
			Labels: map[string]string{
				"org.opencontainers.image.title":       "multicloud-controller-manager",
				"org.opencontainers.image.description": "One cloud controller manager for several clouds",
				"org.opencontainers.image.licenses":    "Apache-2.0",
				"org.opencontainers.image.source":      "https://github.com/multicloud-ccm/multicloud-ccm",
				"org.opencontainers.image.version":     "v1.2.3",
				"org.opencontainers.image.revision":    "0123abc",
				"org.opencontainers.image.created":     "2023-11-14T22:13:20Z",
			},
		},
	}
	if diff := cmp.Diff(want, settingsOf(t, image)); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	// The binary, the certificates without anything else that was in the
	// bundle, and the directories on the way to them.
	files := []file{
		{Name: "etc/", Mode: 0o755, Time: made},
		{Name: "etc/ssl/", Mode: 0o755, Time: made},
		{Name: "etc/ssl/certs/", Mode: 0o755, Time: made},
		{Name: "etc/ssl/certs/ca-certificates.crt", Content: string(certificate), Mode: 0o644, Time: made},
		{Name: "multicloud-controller-manager", Content: string(program), Mode: 0o755, Time: made},
	}
	if diff := cmp.Diff(files, filesIn(t, image)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	testLoadable(t, output)
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

// TestReproducible proves that neither the time nor the place of a build is in
// the image.
func TestReproducible(t *testing.T) {
	t.Parallel()
	program := executable(t, elf.EM_X86_64, elf.PT_LOAD)
	certificate, _ := authority(t)
	var images [2][]byte
	for i := range images {
		path := put(t, "ccm", program)
		if err := os.Chtimes(path, time.Time{}, time.Unix(int64(1e9+i), 0)); err != nil {
			t.Fatal(err)
		}
		output := filepath.Join(t.TempDir(), "image.tar")
		if err := pack(options{binary: path, bundle: put(t, "bundle.pem", certificate), output: output, repository: "localhost/ccm", tag: "v1"}); err != nil {
			t.Fatal(err)
		}
		var err error
		if images[i], err = os.ReadFile(output); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(images[0], images[1]) {
		t.Error("the same input made two different images")
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	certificate, key := authority(t)
	program := put(t, "ccm", executable(t, elf.EM_X86_64, elf.PT_LOAD))
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
			options: options{binary: put(t, "dynamic", executable(t, elf.EM_X86_64, elf.PT_INTERP, elf.PT_LOAD)), bundle: bundle},
			want:    "is not static: build it with CGO_ENABLED=0",
		},
		"OtherMachine": {
			reason:  "an image must name its architecture",
			options: options{binary: put(t, "mips", executable(t, elf.EM_MIPS)), bundle: bundle},
			want:    "is for EM_MIPS, which no image is made for",
		},
		"NotABinary": {
			reason:  "a build for another system makes no ELF file",
			options: options{binary: bundle, bundle: bundle},
			want:    "is not a Linux binary",
		},
		"NoBinary": {
			reason:  "the build may have failed",
			options: options{binary: "nowhere/ccm", bundle: bundle},
			want:    "read binary: stat nowhere/ccm: no such file",
		},
		"OverBudget": {
			reason:  "a dependency that makes the binary so large is noticed here",
			options: options{binary: large, bundle: bundle},
			want:    "has 111.0 MB, its budget is 110 MB",
		},
		"NoBundle": {
			reason:  "a named bundle that is not there is not replaced by another",
			options: options{binary: program, bundle: "nowhere/ca.pem"},
			want:    "read CA certificates: open nowhere/ca.pem: no such file",
		},
		"NoCertificate": {
			reason:  "without certificates no cloud could be trusted",
			options: options{binary: program, bundle: put(t, "key.pem", slices.Concat(key, broken))},
			want:    "holds no certificate in PEM form",
		},
		"BadTag": {
			reason:  "not every version can be a tag",
			options: options{binary: program, bundle: bundle, tag: "v1+dirty"},
			want:    "name the image: ",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			tc.options.output, tc.options.repository = filepath.Join(dir, "image.tar"), "localhost/ccm"
			if tc.options.tag == "" {
				tc.options.tag = "v1"
			}
			err := pack(tc.options)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: want an error with %q, got %v", tc.reason, tc.want, err)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("%s: it left %v", tc.reason, left)
			}
		})
	}
}

// TestNoBundleOnMachine: the error names what to install if there is no bundle.
func TestNoBundleOnMachine(t *testing.T) {
	t.Parallel()
	_, err := firstBundle([]string{"nowhere/a.crt", "nowhere/b.pem"})
	const want = "none in nowhere/a.crt, nowhere/b.pem: install them (on Debian: apt-get install ca-certificates) or name a file with -ca-certificates"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("want an error with %q, got %v", want, err)
	}
	certificate, _ := authority(t)
	path := put(t, "ca.pem", certificate)
	found, err := firstBundle([]string{"nowhere/a.crt", path})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(certificates{path: path, pem: certificate, count: 1}, found, cmp.AllowUnexported(certificates{})); diff != "" {
		t.Errorf("certificates (-want +got):\n%s", diff)
	}
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"Nothing":  nil,
		"NoTag":    {"-binary", "a", "-output", "b"},
		"Leftover": {"-binary", "a", "-output", "b", "-version", "c", "d"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := run(args); err == nil || !strings.Contains(err.Error(), "-binary, -version and -output are needed") {
				t.Errorf("want an error that names what is needed, got %v", err)
			}
		})
	}
}

func TestSourceDate(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, epoch string
		want          time.Time
		fails         bool
	}{
		"Unset":    {reason: "no time is the same everywhere", want: time.Unix(0, 0).UTC()},
		"Seconds":  {reason: "the convention of reproducible builds", epoch: "1700000000", want: time.Unix(1700000000, 0).UTC()},
		"Nonsense": {reason: "a date is not what others take", epoch: "2023-11-14", fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := sourceDate(tc.epoch)
			if (err != nil) != tc.fails {
				t.Fatalf("%s: error %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
