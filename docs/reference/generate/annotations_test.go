package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadAnnotations(t *testing.T) {
	t.Parallel()
	const head = "package x\n\nconst prefix = \"example.com/\"\n\n"
	tests := map[string]struct {
		reason string
		source string
		want   []annotationGroup
		err    string
	}{
		"all parts": {
			reason: "the text goes on over lines, labels may, too",
			source: "// Where it is.\nconst (\n// Zone places\n// it.\n//\n// Type: a\n// name\n// Default: none\n// Applies to: all\nZone annotation.Name = prefix + \"zone\"\n)\n",
			want: []annotationGroup{{title: "Where it is", list: []annotationText{
				{name: "example.com/zone", text: "Places it.", kind: "a name", fallback: "none", appliesTo: "all"},
			}}},
		},
		"is the": {
			reason: "the description begins with the subject",
			source: "// Where it is.\nconst (\n// Zone is the zone.\n//\n// Type: a\n// Default: none\nZone annotation.Name = \"zone\"\n)\n",
			want:   []annotationGroup{{title: "Where it is", list: []annotationText{{name: "zone", text: "Zone.", kind: "a", fallback: "none"}}}},
		},
		"others":       {reason: "other constants are none", source: "// A is one.\nconst A = 1\n"},
		"undocumented": {reason: "it has no comment", source: "const A annotation.Name = \"a\"\n", err: "A: its comment needs"},
		"opaque":       {reason: "not a string", source: "const A annotation.Name = f()\n", err: "A: not a string"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x.go")
			if err := os.WriteFile(path, []byte(head+test.source), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := readAnnotations(path)
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(annotationGroup{}, annotationText{})); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", test.reason, diff)
			}
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: error is %v, want %q in it", test.reason, err, test.err)
			}
		})
	}
}
