package subnetpattern

import (
	"errors"
	"regexp"
	"strings"
)

// glob converts a pattern to a regular expression.
type glob struct {
	rest []rune
	out  strings.Builder
	// depth is the number of braces that are open.
	depth int
}

func fromGlob(pattern string) (string, error) {
	g := &glob{rest: []rune(pattern)}
	g.out.WriteString("(?s)")
	for len(g.rest) > 0 {
		if err := g.convert(g.next()); err != nil {
			return "", err
		}
	}
	if g.depth > 0 {
		return "", errors.New("{ without }")
	}

	return g.out.String(), nil
}

// next takes a character from the pattern, which must not have ended.
func (g *glob) next() rune {
	first := g.rest[0]
	g.rest = g.rest[1:]

	return first
}

func (g *glob) convert(r rune) error {
	switch {
	case r == '*':
		g.out.WriteString("[^/]*")
	case r == '?':
		g.out.WriteString(".")
	case r == '[':
		return g.class()
	case r == '{':
		g.depth++
		g.out.WriteString("(?:")
	case r == '}':
		if g.depth == 0 {
			return errors.New("} without {")
		}
		g.depth--
		g.out.WriteString(")")
	case r == ',' && g.depth > 0:
		g.out.WriteString("|")
	case r == '\\':
		if len(g.rest) == 0 {
			return errors.New("nothing after the backslash")
		}
		g.literal(g.next())
	default:
		g.literal(r)
	}

	return nil
}

func (g *glob) literal(r rune) { g.out.WriteString(regexp.QuoteMeta(string(r))) }

// class converts a set of characters, whose opening bracket was taken.
func (g *glob) class() error {
	g.out.WriteString("[")
	if len(g.rest) > 0 && (g.rest[0] == '!' || g.rest[0] == '^') {
		g.next()
		g.out.WriteString("^")
	}
	for count := 0; len(g.rest) > 0; count++ {
		r := g.next()
		switch {
		case r == ']' && count == 0:
			return errors.New("nothing in []")
		case r == ']':
			g.out.WriteString("]")

			return nil
		case r == '-':
			g.out.WriteString("-")

			continue
		case r == '\\' && len(g.rest) > 0:
			r = g.next()
		}
		g.member(r)
	}

	return errors.New("[ without ]")
}

// member writes a character of a set. All that could mean something there is escaped.
func (g *glob) member(r rune) {
	if strings.ContainsRune(`\[]^-&~:`, r) {
		g.out.WriteString(`\`)
	}
	g.out.WriteRune(r)
}
