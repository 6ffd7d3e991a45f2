package config

import (
	"fmt"
	"strings"

	"gopkg.in/gcfg.v1"
	"gopkg.in/gcfg.v1/scanner"
	"gopkg.in/gcfg.v1/token"
)

// checkINI reports whether gcfg can read the text, whatever its names are.
func checkINI(path string, text []byte) error {
	err := gcfg.FatalOnly(gcfg.ReadStringInto(&struct{}{}, string(text)))
	if err != nil {
		// gcfg has no file name here and starts with line:col.
		return fmt.Errorf("%s:%s", path, strings.TrimPrefix(err.Error(), ":"))
	}

	return nil
}

// iniEntries lists the lines of a text that gcfg can read. It keeps each value
// as it is written, so that gcfg itself unquotes and decodes it later.
func iniEntries(path string, text []byte) []entry {
	reader := newINIReader(path, text)
	var entries []entry
	section, sub := "", ""
	for reader.token != token.EOF {
		at := reader.position()
		switch reader.token {
		case token.LBRACK:
			reader.next()
			section, sub = reader.text, ""
			if reader.next() == token.STRING {
				sub = unquote(reader.text)
				reader.next()
			}
			name := Name{Section: section, Sub: sub}
			entries = append(entries, entry{name: name, written: name.String(), at: at})
		case token.IDENT:
			name := Name{Section: section, Sub: sub, Key: reader.text}
			e := entry{name: name, written: name.String(), blank: true, at: at}
			if reader.next() == token.ASSIGN {
				reader.next()
				e.literal, e.blank = reader.text, false
			}
			entries = append(entries, e)
		default: // between entries there are only ends of lines
		}
		reader.next()
	}

	return entries
}

// iniReader steps through the tokens of a gcfg text.
type iniReader struct {
	scanner scanner.Scanner
	files   *token.FileSet

	pos   token.Pos
	token token.Token
	text  string
}

func newINIReader(path string, text []byte) *iniReader {
	r := &iniReader{files: token.NewFileSet()}
	file := r.files.AddFile(path, r.files.Base(), len(text))
	r.scanner.Init(file, text, nil, 0) // errors were reported before
	r.next()

	return r
}

func (r *iniReader) next() token.Token {
	r.pos, r.token, r.text = r.scanner.Scan()

	return r.token
}

func (r *iniReader) position() Position {
	p := r.files.Position(r.pos)

	return Position{Path: p.Filename, Line: p.Line, Column: p.Column}
}

// unquote returns the text of a subsection name, as gcfg reads it.
func unquote(literal string) string {
	var names struct {
		Section map[string]*struct{}
	}
	// The text was read by gcfg before, so this cannot fail.
	_ = gcfg.ReadStringInto(&names, "[section "+literal+"]")
	for name := range names.Section {
		return name
	}

	return ""
}

// quoteSub writes the name of a subsection so that it reads back as the same
// text. Inside such quotes gcfg supports fewer escapes than in a value.
func quoteSub(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// quote writes a text as a gcfg value that reads back as the same text.
func quote(text string) (string, error) {
	for _, r := range text {
		if r < ' ' && r != '\n' && r != '\t' {
			return "", fmt.Errorf("must not contain the control character %U", r)
		}
	}

	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(text) + `"`, nil
}
