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
	"runtime/debug"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
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

// Two modules of this one, whose files are in the module cache whenever these tests run.
const (
	packageURL = "github.com/package-url/packageurl-go"
	licenses   = "github.com/google/licensecheck"
)

// buildOf is the build information of a program of that version that contains two modules.
func buildOf(t *testing.T, version string) *debug.BuildInfo {
	t.Helper()
	own, ok := debug.ReadBuildInfo()
	if !ok {
		t.Fatal("the test has no build information")
	}
	build := &debug.BuildInfo{GoVersion: "go1.26.8", Path: "example.com/ccm", Main: debug.Module{Path: "example.com/ccm", Version: version}}
	for _, m := range own.Deps {
		if m.Path == packageURL || m.Path == licenses {
			build.Deps = append(build.Deps, m)
		}
	}
	if len(build.Deps) != 2 {
		t.Fatalf("want two modules, got %v", build.Deps)
	}

	return build
}

// executable makes the least that passes for a binary: headers, and in a segment of data
// what Go writes there, if there is a build (debug/buildinfo has the format).
func executable(t *testing.T, machine elf.Machine, build *debug.BuildInfo, segments ...elf.ProgType) []byte {
	t.Helper()
	const headerSize, programSize, dataStart = 64, 56, 512
	header := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT),
		Phoff: headerSize, Ehsize: headerSize, Phentsize: programSize, Phnum: uint16(len(segments) + 1), Shentsize: headerSize,
	}
	copy(header.Ident[:], elf.ELFMAG)
	header.Ident[elf.EI_CLASS], header.Ident[elf.EI_DATA] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB)
	header.Ident[elf.EI_VERSION] = byte(elf.EV_CURRENT)
	var data []byte
	if build != nil {
		data = buildData(build)
	}
	size := uint64(len(data))
	parts := []any{header, elf.Prog64{
		Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_W), Off: dataStart, Vaddr: dataStart, Filesz: size, Memsz: size,
	}}
	for _, segment := range segments {
		parts = append(parts, elf.Prog64{Type: uint32(segment)})
	}
	var file bytes.Buffer
	for _, part := range parts {
		if err := binary.Write(&file, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	file.Write(make([]byte, dataStart-file.Len()))
	file.Write(data)

	return file.Bytes()
}

func buildData(build *debug.BuildInfo) []byte {
	const start, flags, inline, mark = "\xff Go buildinf:", 2, 32, 16
	data := append([]byte(start), 8, flags)
	data = append(data, make([]byte, inline-len(data))...)
	marker := string(make([]byte, mark))
	for _, text := range []string{build.GoVersion, marker + build.String() + marker} {
		data = binary.AppendUvarint(data, uint64(len(text)))
		data = append(data, text...)
	}

	return append(data, make([]byte, 2*mark)...)
}

// binaryOf writes a static program for a machine.
func binaryOf(t *testing.T, machine elf.Machine, version string) string {
	t.Helper()

	return put(t, "ccm", executable(t, machine, buildOf(t, version), elf.PT_LOAD))
}

// moduleFolder makes the folder of a module with a license and the checksums of this one.
func moduleFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for from, to := range map[string]string{"go.mod": "go.mod", "go.sum": "go.sum", filepath.Join("..", "..", "LICENSE"): "LICENSE"} {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, to), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	return folder
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

// readFile returns the content of a file.
func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	return data
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
		files = append(files, filesOfArchive(t, content)...)
		if err := content.Close(); err != nil {
			t.Fatal(err)
		}
	}

	return files
}

func filesOfArchive(t *testing.T, archive io.Reader) []file {
	t.Helper()
	var files []file
	for content := tar.NewReader(archive); ; {
		header, err := content.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file{header.Name, string(data), header.Mode, header.Uid, header.Gid, header.ModTime.UTC()})
	}
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
