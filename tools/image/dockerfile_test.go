package main

import (
	"debug/elf"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// builtRoot is where the stage of the Dockerfile that builds has what make image writes.
const builtRoot = "/src/bin/root"

// instruction is a line of a Dockerfile.
type instruction struct{ name, rest string }

// lastStage reads the instructions of the last stage
// (https://docs.docker.com/reference/dockerfile).
func lastStage(t *testing.T, text string) []instruction {
	t.Helper()
	text = strings.ReplaceAll(text, "\\\n", " ")
	var stage []instruction
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, rest, ok := strings.Cut(line, " ")
		if !ok {
			t.Fatalf("an instruction without arguments: %s", line)
		}
		if name == "FROM" {
			stage = nil
		}
		stage = append(stage, instruction{name, strings.TrimSpace(rest)})
	}

	return stage
}

// built is what an engine makes of the last stage.
type built struct {
	Config v1.Config
	Files  map[string]builtFile
}

type builtFile struct {
	Mode    fs.FileMode
	Content string
}

var label = regexp.MustCompile(`([\w.]+)="([^"]*)"`)

// build runs the instructions with arguments, and with the files of a folder as those of the
// stage that builds.
func build(t *testing.T, stage []instruction, arguments map[string]string, folder string) built {
	t.Helper()
	b := built{Files: map[string]builtFile{}, Config: v1.Config{Labels: map[string]string{}}}
	declared := map[string]bool{}
	for _, i := range stage {
		rest := os.Expand(i.rest, func(name string) string {
			if !declared[name] {
				t.Errorf("%s uses %s, which is not an argument", i.name, name)
			}

			return arguments[name]
		})
		switch i.name {
		case "FROM":
			if rest != "scratch" {
				t.Errorf("want no base, got %s", rest)
			}
		case "ARG":
			declared[rest] = true
		case "LABEL":
			for _, match := range label.FindAllStringSubmatch(rest, -1) {
				b.Config.Labels[match[1]] = match[2]
			}
		case "COPY":
			fields := strings.Fields(rest)
			if len(fields) != 3 || fields[0] != "--from=build" || !strings.HasPrefix(fields[1], builtRoot+"/") {
				t.Fatalf("want COPY --from=build %s/… PATH, got %s", builtRoot, rest)
			}
			copyInto(t, b.Files, filepath.Join(folder, strings.TrimPrefix(fields[1], builtRoot)), fields[2])
		case "USER":
			b.Config.User = rest
		case "WORKDIR":
			b.Config.WorkingDir = rest
		case "ENTRYPOINT":
			if err := json.Unmarshal([]byte(rest), &b.Config.Entrypoint); err != nil {
				t.Errorf("%s: %v", rest, err)
			}
		default:
			t.Errorf("make image has nothing like %s", i.name)
		}
	}

	return b
}

// copyInto copies a file, or what is in a folder, with their modes.
func copyInto(t *testing.T, files map[string]builtFile, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		f := builtFile{Mode: info.Mode()}
		if !entry.IsDir() {
			f.Content = string(readFile(t, name))
		}
		relative, err := filepath.Rel(from, name)
		files[path.Join(to, filepath.ToSlash(relative))] = f

		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestDockerfile: an engine makes an image with the same files and metadata.
func TestDockerfile(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	output, root := t.TempDir(), t.TempDir()
	if err := pack(t.Context(), options{
		binaries: paths{binaryOf(t, elf.EM_AARCH64, "v1.2.3")}, module: moduleFolder(t), output: output, root: root,
		repository: "localhost/ccm", tag: "v1.2.3", commit: "0123abc",
	}); err != nil {
		t.Fatal(err)
	}
	image, err := tarball.ImageFromPath(filepath.Join(output, "image-linux-arm64.tar"), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := built{Files: map[string]builtFile{}, Config: settingsOf(t, image).Config}
	for _, f := range filesIn(t, image) {
		mode := fs.FileMode(f.Mode)
		if strings.HasSuffix(f.Name, "/") {
			mode |= fs.ModeDir
		}
		want.Files[path.Join("/", f.Name)] = builtFile{mode, f.Content}
	}

	stage := lastStage(t, string(readFile(t, filepath.Join("..", "..", "Dockerfile"))))
	got := build(t, stage, map[string]string{
		"TARGETARCH": "arm64", "VERSION": "v1.2.3", "REVISION": "0123abc", "CREATED": "2023-11-14T22:13:20Z",
	}, root)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("image of the Dockerfile (-make image +Dockerfile):\n%s", diff)
	}
}

// TestGoOfDockerfile: the image that builds has the minor version of Go that go.mod names.
func TestGoOfDockerfile(t *testing.T) {
	t.Parallel()
	version := func(file, pattern string) string {
		found := regexp.MustCompile(pattern).FindSubmatch(readFile(t, filepath.Join("..", "..", file)))
		if found == nil {
			t.Fatalf("%s has no %s", file, pattern)
		}

		return string(found[1])
	}
	want, got := version("go.mod", `(?m)^go (\d+\.\d+)`), version("Dockerfile", `golang:(\d+\.\d+)`)
	if want != got {
		t.Errorf("want golang:%s, got golang:%s", want, got)
	}
}
