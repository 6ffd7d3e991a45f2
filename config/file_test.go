package config_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/multicloud-ccm/multicloud-ccm/config"
)

func TestFormat(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		text   string
		want   config.Format
	}{
		"gcfg":                  {"a section header is a list to YAML, not a mapping", "[Global]\nname = a\n", config.INI},
		"header alone":          {"the same", "[Global]\n", config.INI},
		"gcfg with a colon":     {"values may look like YAML", "[Global]\nname = a: b\n", config.INI},
		"YAML":                  {"a mapping", "global:\n  name: a\n", config.YAML},
		"YAML with a directive": {"a mapping", "%YAML 1.1\n---\nglobal: {}\n", config.YAML},
		"JSON":                  {"JSON is YAML", `{"global": {}}`, config.YAML},
		"nothing":               {"an empty file is an empty gcfg file", "", config.INI},
		"comments":              {"the same", "# a: b\n\n# c\n", config.INI},
		"gcfg comments":         {"the other comment sign", "; just text\n", config.INI},
		"BOM before gcfg":       {"skipped", "\ufeff[Global]\n", config.INI},
		"BOM before YAML":       {"skipped", "\ufeffglobal: {}\n", config.YAML},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := parse(t, tc.text).Format; got != tc.want {
				t.Errorf("%s: want %v, got %v", tc.reason, tc.want, got)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		text   string
		want   []string
	}{
		"colon": {
			reason: "the first line decides that the file is INI, whatever follows it",
			text:   "[Global]\nname: a\n",
			want:   []string{"cloud.conf:2:5: there must be = between a key and its value"},
		},
		"no mapping": {
			reason: "a text that is no mapping is no cloud-config",
			text:   "just text\n",
			want:   []string{"cloud.conf:1: a cloud-config has sections such as [Global]"},
		},
		"key before section": {
			reason: "a key and = are INI, and need a section",
			text:   "name = a\n[Global]\n",
			want:   []string{"cloud.conf:1:1: a key must be in a section"},
		},
		"underscore": {
			reason: "names have hyphens",
			text:   "[Global]\nmy_key = a\n",
			want:   []string{"cloud.conf:2:3: names have hyphens and no underscores, did you mean my-key?"},
		},
		"underscore in a text": {
			reason: "a line that is no key may be a password",
			text:   "[Global]\nmy_text\n",
			want:   []string{"cloud.conf:2:3: a line must be a section such as [Global], or a key and its value"},
		},
		"tab in YAML": {
			reason: "at its own line",
			text:   "global:\n  name: a\n\tcount: 3\n",
			want:   []string{"cloud.conf:3: a line cannot begin with a tab"},
		},
		"colon without a space": {
			reason: "at its own line",
			text:   "global:\n  name:a\n  count: 3\n",
			want:   []string{"cloud.conf:2: there must be a space after the colon"},
		},
		"backslash": {
			reason: `DOMAIN\user must be quoted and doubled`,
			text:   "[Global]\nname = DOMAIN\\user\n",
			want:   []string{`cloud.conf:2:8: a backslash must be doubled and in quotes, as in "a\\b"`},
		},
		"empty subsection": {
			reason: "gcfg accepts no empty name",
			text:   "[VirtualCenter \"\"]\n",
			want:   []string{"cloud.conf:1:16: the name in the quotes is missing"},
		},
		"unknown anchor": {
			reason: "the YAML parser repeats text, which may be a password",
			text:   "global:\n  token: *hunter2\n",
			want:   []string{"cloud.conf: unknown anchor (text) referenced"},
		},
		"key set twice": {
			reason: "all of them, with their places",
			text:   "global:\n  name: a\n  name: b\nvcenter: {}\nvcenter: {}\n",
			want:   []string{"cloud.conf:3:3: name is set twice\ncloud.conf:5:1: vcenter is set twice"},
		},
		"key set twice in two spellings": {
			reason: "the last one would win unseen",
			text:   "global:\n  caFile: a\n  ca-file: b\n",
			want:   []string{"cloud.conf:3:3: global.ca-file is set twice"},
		},
		"keys that are no names": {
			reason: "YAML allows them, nothing can be called so",
			text:   "\"\": a\nglobal:\n  ? [a]\n  : b\nvcenter: {\"\": {server: a}}\n",
			want:   []string{"cloud.conf:1:1: key must be text, and not empty\ncloud.conf:3:5: key must be text, and not empty\ncloud.conf:5:11: key must be text, and not empty"},
		},
		"two documents": {
			reason: "which of them should count?",
			text:   "global: {}\n---\nglobal: {}\n",
			want:   []string{"cloud.conf:3: more than one YAML document"},
		},
		"broken second document": {
			reason: "it is not passed over",
			text:   "global: {}\n---\n{\n",
			want:   []string{"cloud.conf:3: the line does not continue the one before"},
		},
		"merge of a scalar": {
			reason: "a merge key takes mappings",
			text:   "global:\n  <<: text\n",
			want:   []string{"cloud.conf:2:7: merge key (<<) must name a mapping"},
		},
		"mapping that merges itself": {
			reason: "bounded",
			text:   "global: &g\n  <<: *g\n",
			want:   []string{"merge key (<<) must name a mapping"},
		},
		"not UTF-8": {
			reason: "neither format allows it",
			text:   "[Global]\nname = \xff\n",
			want:   []string{"cloud.conf:2:8: the text is not in UTF-8"},
		},
		"too many settings": {
			reason: "aliases multiply",
			text: "a: &a {" + repeat("k%d: v, ", 500) + "}\nvcenter:\n" +
				repeat("  s%d: *a\n", 30),
			want: []string{"more settings than a cloud-config can have"},
		},
		"too much text": {
			reason: "aliases multiply",
			text:   "global: {name: &a " + strings.Repeat("x", 100000) + "}\nvcenter:\n" + repeat("  s%d: {server: *a}\n", 50),
			want:   []string{"more settings than a cloud-config can have"},
		},
		"merges of merges": {
			reason: "ten levels of ten are ten billion",
			text:   bomb(),
			want:   []string{"more aliases than a cloud-config can have"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := config.Parse("cloud.conf", []byte(tc.text))
			if err == nil {
				t.Fatalf("%s: no error", tc.reason)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: want %q in:\n%v", tc.reason, want, err)
				}
			}
		})
	}
}

// repeat writes the pattern n times, with numbers.
func repeat(pattern string, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Replace(pattern, "%d", string(rune('a'+i%26))+strings.Repeat("x", i/26), 1))
	}

	return b.String()
}

// bomb is a YAML text of ten levels, each of which merges the one before ten times.
func bomb() string {
	text := "la: &la {k: v}\n"
	for c := 'b'; c <= 'k'; c++ {
		before := "*l" + string(c-1)
		text += "l" + string(c) + ": &l" + string(c) + " {<<: [" + strings.TrimSuffix(strings.Repeat(before+", ", 10), ", ") + "]}\n"
	}

	return text
}

func TestTrailingEmptyDocument(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"global: {name: a}\n---\n", "---\nglobal: {name: a}\n...\n", "global: {name: a}\n--- # nothing\n---\n"} {
		var got cloud
		if err := parse(t, text).Decode(schema(), &got).Err(); err != nil || got.Global.Name != "a" {
			t.Errorf("%q: got name %q, %v", text, got.Global.Name, err)
		}
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "cloud.conf")
	text := []byte("[Global]\nname = a\n")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := config.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "path", path, file.Path)
	if !file.Same(text) || file.Same(append(text, ' ')) || file.Same(nil) {
		t.Error("Same must compare the very bytes")
	}
	missing := filepath.Join(dir, "missing.conf")
	if _, err := config.Read(missing); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Errorf("missing file: want an error that names it, got %v", err)
	}
	if _, err := config.Read(dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("directory: want an error that names it, got %v", err)
	}
}

func TestReadFrom(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	cases := map[string]struct {
		reason string
		reader io.Reader
		want   string
	}{
		"broken reader": {"the cause is kept", iotest.ErrReader(broken), "read cloud-config cloud-config: broken"},
		"too large":     {"no Secret is larger", bytes.NewReader(bytes.Repeat([]byte("#"), 1<<20+1)), "larger than 1048576 bytes"},
		"named":         {"the name of a reader is used", named{strings.NewReader("[")}, "some.conf:1:2: the name of a section is missing"},
		"no name":       {"others are the cloud-config", strings.NewReader("["), "cloud-config:1:2: the name of a section is missing"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := config.ReadFrom(tc.reader)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: want %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
	if _, err := config.ReadFrom(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("the error of the reader is lost: %v", err)
	}
	if _, err := config.ReadFrom(bytes.NewReader(bytes.Repeat([]byte("#"), 1<<20))); err != nil {
		t.Errorf("a file of the largest size: %v", err)
	}
}

type named struct{ io.Reader }

func (named) Name() string { return "some.conf" }

func TestBlankAndEmpty(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ blank, empty bool }{
		"":                     {blank: true, empty: true},
		" \r\n\t\n":            {blank: true, empty: true},
		"\ufeff\n":             {blank: true, empty: true},
		"# only a comment\n":   {empty: true},
		"--- # nothing\n{}\n":  {empty: true},
		"[Global]\n":           {},
		"global:\n":            {},
		"[Global]\nname = a\n": {},
	}
	for text, want := range cases {
		file := parse(t, text)
		if file.Blank() != want.blank || file.Empty() != want.empty {
			t.Errorf("%q: want %+v, got blank %v, empty %v", text, want, file.Blank(), file.Empty())
		}
	}
}

func TestParseKeepsItsOwnCopy(t *testing.T) {
	t.Parallel()
	data := []byte("[Global]\nname = a\n")
	file, err := config.Parse("cloud.conf", data)
	if err != nil {
		t.Fatal(err)
	}
	clear(data)
	if !file.Same([]byte("[Global]\nname = a\n")) {
		t.Error("the file changed with the caller's bytes")
	}
}

func TestAtAndSpell(t *testing.T) {
	t.Parallel()
	const ini = "# text\n[Global]\nname = a\n  NAME = b\n[virtualcenter \"east\"]\nserver = x\n[VCenter \"west\"]\n"
	const yml = "global:\n  name: a\n  caFile: x\nvcenter:\n  east:\n    server: x\n  west: {}\n"
	cases := map[string]struct {
		reason   string
		text     string
		name     config.Name
		at       string
		spelling string
	}{
		"last line counts":      {"a key is where its effective value is", ini, config.Name{Section: "Global", Key: "name"}, "cloud.conf:4:3", "[Global] name"},
		"key that is not there": {"its section", ini, config.Name{Section: "VirtualCenter", Sub: "east", Key: "ca-file"}, "cloud.conf:5:1", `[VirtualCenter "east"] ca-file`},
		"section":               {"its header, under an alias too", ini, config.Name{Section: "VirtualCenter", Sub: "west"}, "cloud.conf:7:1", `[VirtualCenter "west"]`},
		"section not there":     {"the file", ini, config.Name{Section: "Labels", Key: "zone"}, "cloud.conf", "[Labels] zone"},
		"subsection not there":  {"the file: names are exact", ini, config.Name{Section: "VirtualCenter", Sub: "East", Key: "server"}, "cloud.conf", `[VirtualCenter "East"] server`},
		"YAML key":              {"line and column of the key", yml, config.Name{Section: "Global", Key: "ca-file"}, "cloud.conf:3:3", "global.caFile"},
		"YAML entry":            {"under the name YAML files use", yml, config.Name{Section: "VirtualCenter", Sub: "east", Key: "server"}, "cloud.conf:6:5", "vcenter.east.server"},
		"YAML entry without it": {"its section", yml, config.Name{Section: "VirtualCenter", Sub: "west", Key: "server"}, "cloud.conf:7:3", "vcenter.west.server"},
		"YAML section":          {"not there", yml, config.Name{Section: "NodeDeletion", Key: "by-name"}, "cloud.conf", "nodeDeletion.byName"},
		"YAML name with dots":   {"in quotes", yml, config.Name{Section: "VirtualCenter", Sub: "10.0.0.1", Key: "ip-family"}, "cloud.conf", `vcenter."10.0.0.1".ipFamily`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := parse(t, tc.text)
			compare(t, tc.reason, tc.at, file.At(schema(), tc.name).String())
			compare(t, tc.reason, tc.spelling, file.Spell(schema(), tc.name))
		})
	}
}

func TestFormatString(t *testing.T) {
	t.Parallel()
	compare(t, "names", []string{"gcfg", "YAML"}, []string{config.INI.String(), config.YAML.String()})
}

// A file that never ends does not take all memory.
func TestReadFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := config.ReadFile(path); err != nil || string(data) != "text" {
		t.Errorf("got %q, %v", data, err)
	}
	if _, err := config.ReadFile(path + ".missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that does not exist: %v", err)
	}
	if _, err := config.ReadFile("/dev/zero"); err == nil || !strings.Contains(err.Error(), "larger than 1048576 bytes") {
		t.Errorf("a file without an end: %v", err)
	}
}

// FW-CONFIG-22: a pipe is read once, and handed on.
func TestReadOnce(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := w.WriteString("[Global]\nname = a\n"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := config.Read(fmt.Sprintf("/dev/fd/%d", r.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	if !file.ReadOnce() {
		t.Error("a pipe would be read again")
	}
	if again, err := config.ReadFrom(file.Reader()); again != file || err != nil {
		t.Errorf("handed on as %v, %v", again, err)
	}
	regular := filepath.Join(t.TempDir(), "cloud.conf")
	if err := os.WriteFile(regular, []byte("[Global]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if file, err := config.Read(regular); err != nil || file.ReadOnce() {
		t.Errorf("a regular file would not be read again: %v", err)
	}
}
