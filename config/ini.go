package config

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/gcfg.v1"
	"gopkg.in/gcfg.v1/scanner"
	"gopkg.in/gcfg.v1/token"
)

// checkINI reports whether gcfg can read the text, whatever its names are.
func checkINI(path string, text []byte) error {
	err := gcfg.FatalOnly(gcfg.ReadStringInto(&struct{}{}, string(text)))
	if err == nil {
		return nil
	}
	// gcfg has no file name here and starts with line:col.
	found := iniError.FindStringSubmatch(err.Error())
	if found == nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	at, cause := found[1], found[3]
	line, _ := strconv.Atoi(found[2])
	words := string(bytes.Split(text, []byte("\n"))[line-1])
	if name := underscored.FindStringSubmatch(words); name != nil && strings.Contains(cause, "'_'") {
		return fmt.Errorf("%s:%s: names have hyphens and no underscores, did you mean %s?", path, at, strings.ReplaceAll(name[1], "_", "-"))
	}
	for _, known := range iniErrors {
		if strings.HasPrefix(cause, known.gcfg) {
			cause = known.text

			break
		}
	}

	return fmt.Errorf("%s:%s: %s", path, at, cause)
}

var (
	iniError    = regexp.MustCompile(`^((\d+):\d+): (.*)$`)
	underscored = regexp.MustCompile(`^\s*\[?([A-Za-z][\w-]*)\s*["=\]]`)
)

// iniErrors says how to write what gcfg cannot read, by the beginning of its error.
var iniErrors = []struct{ gcfg, text string }{
	{"illegal character NUL", "this is no text"},
	{"illegal UTF-8", "the text is not in UTF-8"},
	{"illegal character U+003A", "there must be = between a key and its value, as in provider = aws"},
	{"illegal character", "a line must be a section such as [Global], or a key and its value, as in provider = aws; a comment begins with #"},
	{"string not terminated", `the quotes are not closed: a value that begins with " ends with " in the same line, and \" is a quote inside`},
	{"unknown escape sequence", `a backslash in quotes must be doubled, as in "a\\b"`},
	{"unquoted", `a backslash must be doubled and in quotes, as in "a\\b"`},
	{"expected section header or", "a line must be a section such as [Global], or a key and its value, as in provider = aws; a comment begins with #"},
	{"expected section header", "a key must be in a section: write a line such as [Global] before it"},
	{"expected section name", "the name of a section is missing, as in [Global]"},
	{"empty subsection name", `the name in the quotes is missing, as in [VirtualCenter "vc.example.com"]`},
	{"expected subsection name", `a section must end with ], and a name in it must be in quotes, as in [Global] or [VirtualCenter "vc.example.com"]`},
	{"expected right bracket", `a section must end with ], as in [VirtualCenter "vc.example.com"]`},
	{"expected '='", "there must be = between a key and its value, as in provider = aws"},
	{"expected EOL", "the line must end here: only a comment, which begins with #, may follow"},
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
				reader.next()
				e.doubt = cmp.Or(reader.cut(text, e.literal), doubtfulQuotes(e.literal))
			}
			entries = append(entries, e)
		default: // between entries there are only comments and ends of lines
		}
		reader.next()
	}

	return entries
}

// cut tells of a comment after a value that may be a part of it.
func (r *iniReader) cut(text []byte, literal string) string {
	if r.token != token.COMMENT {
		return ""
	}
	at := r.position()
	mark, before := r.text[:1], text[r.files.Position(r.pos).Offset-1]
	switch {
	case literal == "" && len(r.text) > 1 && r.text[1] != ' ':
		return fmt.Sprintf("it is empty, since %s begins a comment: if it is a part of the value, put the value in quotes", mark)
	case literal != "" && before != ' ' && before != '\t':
		return fmt.Sprintf("it ends before the %s in column %d, which begins a comment: if that is a part of the value, put the value in quotes", mark, at.Column)
	}

	return ""
}

// wholeItems matches a value, or a list of values, each of which is in quotes or has none.
var wholeItems = regexp.MustCompile(`(?s)^(\s*("(\\.|[^"\\])*"|(\\.|[^"\\,])*)\s*(,|$))*$`)

// otherQuotes are no quotes in a cloud-config.
const otherQuotes = "“”„‟‘’‚‛«»‹›´`"

// doubtfulQuotes tells of quotes that may not mean what they look like.
func doubtfulQuotes(literal string) string {
	const remedy = `write "value"`
	switch {
	case !wholeItems.MatchString(literal):
		return "its quotes are left out: put all of the value in quotes, with \\\" for a quote inside"
	case strings.Trim(literal, otherQuotes) != literal:
		return "its typographic quotes are a part of the value: " + remedy
	case len(literal) > 1 && literal[0] == '\'' && literal[len(literal)-1] == '\'':
		return "its single quotes are a part of the value: " + remedy
	}

	return ""
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
	r.scanner.Init(file, text, nil, scanner.ScanComments) // errors were reported before
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

// unquoteValue returns the text of a value, as gcfg reads it.
func unquoteValue(literal string) string {
	var text struct{ Section struct{ Key string } }
	_ = gcfg.ReadStringInto(&text, "[section]\nkey = "+literal) // read by gcfg before

	return text.Section.Key
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
