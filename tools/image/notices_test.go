package main

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNotices: each module and the standard library have their licenses, and each text is
// there once.
func TestNotices(t *testing.T) {
	t.Parallel()
	binary, err := readBinary(binaryOf(t, elf.EM_X86_64, "v1.2.3"))
	if err != nil {
		t.Fatal(err)
	}
	found, err := readNotices(t.Context(), moduleFolder(t), []program{binary, binary}, certificates{source: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{packageURL: {"MIT"}, licenses: {"BSD-3-Clause"}, "stdlib": {"BSD-3-Clause"}}
	if diff := cmp.Diff(want, found.licenses); diff != "" {
		t.Errorf("licenses (-want +got):\n%s", diff)
	}
	for _, want := range []string{packageURL + " v", licenses + " v", "stdlib go1.26.8 (BSD-3-Clause): ", "CA certificates of a test: "} {
		if strings.Count(string(found.text), "\n"+want) != 1 {
			t.Errorf("want one line that starts with %q in\n%s", want, found.text)
		}
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	const line = "================================================================================"
	got := string(render([]work{
		{"a v1 (MIT)", []document{{"LICENSE", []byte("May be used.\nBy all.\n")}, {"NOTICE", []byte("By A.")}}},
		{"b v2 (MIT)", []document{{"COPYING", []byte("\n  May be used.  By all.")}}},
	}))
	want := "This program contains the following works of others. The numbers are those of the texts below.\n\n" +
		"a v1 (MIT): 1, 2\nb v2 (MIT): 1\n" +
		"\n" + line + "\nText 1\n\nMay be used.\nBy all.\n" +
		"\n" + line + "\nText 2\n\nBy A.\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

func scannerOf(t *testing.T) scanner {
	t.Helper()
	scan, err := newScanner()
	if err != nil {
		t.Fatal(err)
	}

	return scan
}

func TestReadLicenses(t *testing.T) {
	t.Parallel()
	own := string(readFile(t, filepath.Join("..", "..", "LICENSE")))
	const copyleft = "Licensed under the Affero license: https://www.gnu.org/licenses/agpl-3.0.html\n"
	scan := scannerOf(t)
	for name, tc := range map[string]struct {
		reason string
		files  map[string]string
		want   []string
		err    string
	}{
		"Once": {
			reason: "the same text in two folders counts once, and those of tests do not",
			files:  map[string]string{"LICENSE": own, "sub/LICENSE.txt": own, "NOTICE": "By A.", "testdata/LICENSE": copyleft, "license.go": copyleft},
			want:   []string{"LICENSE", "NOTICE"},
		},
		"None":     {reason: "nothing allows to distribute it", files: map[string]string{"README.md": own}, err: "licenses of m v1: no file has a license"},
		"Remark":   {reason: "nor does a notice", files: map[string]string{"NOTICE": "By A."}, err: "no file has a license"},
		"Copyleft": {reason: "not on the list, in a folder of it", files: map[string]string{"LICENSE": own, "sub/COPYING": copyleft}, err: "0 % of sub/COPYING are one of the licenses Apache-2.0, BSD"},
		"Mixed":    {reason: "beside one that is on the list", files: map[string]string{"LICENSE": own + strings.Repeat(copyleft, 200)}, err: "% of LICENSE are one of"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for name, text := range tc.files {
				path := filepath.Join(folder, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			files, _, err := scan.readLicenses(source{Path: "m", Version: "v1", Dir: folder})
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s: want an error with %q, got %v", tc.reason, tc.err, err)
				}

				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, f := range files {
				names = append(names, f.name)
			}
			if diff := cmp.Diff(tc.want, names); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestLicensesOfTheBinary: what the product contains may be distributed with it.
func TestLicensesOfTheBinary(t *testing.T) {
	t.Parallel()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}{{end}}", "./cmd/multicloud-controller-manager")
	list.Dir = filepath.Join("..", "..")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.Compact(slices.Sorted(slices.Values(strings.Split(string(bytes.TrimSpace(out)), "\n"))))
	const least = 50
	if len(lines) < least {
		t.Fatalf("want at least %d modules, got %q", least, lines)
	}
	scan := scannerOf(t)
	for _, line := range lines {
		fields := strings.Split(line, "\t")
		if len(fields) != 3 {
			continue
		}
		if _, _, err := scan.readLicenses(source{Path: fields[0], Version: fields[1], Dir: fields[2]}); err != nil {
			t.Error(err)
		}
	}
}
