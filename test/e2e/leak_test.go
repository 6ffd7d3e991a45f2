package e2e

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dumpLine is a line of a hex dump: offset, up to 16 bytes, and what they look
// like as text.
var dumpLine = regexp.MustCompile(`(?m)^\s*[0-9a-f]{8}  ((?:[0-9a-f]{2} {1,2}){1,16}) *\|`)

// leaks returns the forms in which a text contains a secret: as it is, in
// base64 at any offset, in hexadecimal, in a hex dump, or as a list of bytes.
func leaks(text, secret string) []string {
	var found []string
	note := func(form string, shown bool) {
		if shown {
			found = append(found, form)
		}
	}
	note("plain", strings.Contains(text, secret))
	for offset := range 3 {
		core := base64Core(secret, offset)
		note(fmt.Sprintf("base64 at offset %d", offset),
			strings.Contains(text, core) || strings.Contains(text, strings.NewReplacer("+", "-", "/", "_").Replace(core)))
	}
	digits := hex.EncodeToString([]byte(secret))
	note("hexadecimal", strings.Contains(strings.ToLower(text), digits))
	var dumped strings.Builder
	for _, line := range dumpLine.FindAllStringSubmatch(text, -1) {
		dumped.WriteString(strings.ReplaceAll(line[1], " ", ""))
	}
	note("hex dump", strings.Contains(dumped.String(), digits))
	note("list of bytes", strings.Contains(text, strings.Trim(fmt.Sprintf("%d", []byte(secret)), "[]")))
	note("list of bytes in Go", strings.Contains(text, strings.Trim(strings.TrimPrefix(fmt.Sprintf("%#v", []byte(secret)), "[]byte"), "{}")))

	return found
}

// base64Core is the part of a base64 text that a secret alone decides when it
// stands at an offset modulo 3.
func base64Core(secret string, offset int) string {
	text := base64.StdEncoding.EncodeToString(append(make([]byte, offset), secret...))
	first := (offset*8 + 5) / 6
	last := (offset + len(secret)) * 8 / 6

	return text[first:last]
}

// The search finds what it is meant to find.
func TestLeaksAreFound(t *testing.T) {
	t.Parallel()
	const secret = "Pa55word-0f-the-test"
	cases := map[string]struct {
		text string
		want string
	}{
		"Plain":           {"user=a password=" + secret + " more", "plain"},
		"Base64At0":       {base64.StdEncoding.EncodeToString([]byte(secret + " more")), "base64 at offset 0"},
		"Base64At1":       {base64.StdEncoding.EncodeToString([]byte("a" + secret + "more")), "base64 at offset 1"},
		"Base64At2":       {base64.URLEncoding.EncodeToString([]byte("more " + secret)), "base64 at offset 2"},
		"Hexadecimal":     {fmt.Sprintf("%X", "before "+secret+" after"), "hexadecimal"},
		"HexDump":         {hex.Dump([]byte(strings.Repeat("x", 11) + secret + "after")), "hex dump"},
		"HexDumpIndented": {"\t" + strings.ReplaceAll(hex.Dump([]byte("x"+secret)), "\n", "\n\t"), "hex dump"},
		"Bytes":           {fmt.Sprintf("%v", []byte("x"+secret+"y")), "list of bytes"},
		"GoBytes":         {fmt.Sprintf("%#v", []byte("x"+secret+"y")), "list of bytes in Go"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if found := leaks(tc.text, secret); !slices.Contains(found, tc.want) {
				t.Errorf("found %q, want %q, in:\n%s", found, tc.want, tc.text)
			}
			if found := leaks(tc.text, "an0ther-secret-altogether"); len(found) > 0 {
				t.Errorf("found %q of a secret that is not there", found)
			}
		})
	}
}
