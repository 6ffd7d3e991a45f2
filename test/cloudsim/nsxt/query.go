package nsxt

import (
	"regexp"
	"slices"
	"strings"
)

// matcher reports whether a document matches a query.
type matcher func(Object) bool

// parser reads a query: terms such as tags.scope:owner with AND, OR, NOT and parentheses.
// Terms are independent of each other, so that two of them match in different tags
// ([terraform] nsxt/policy_search.go).
type parser struct {
	tokens []string
	err    error
}

// parseQuery returns the matcher of a query.
func parseQuery(query string) (matcher, error) {
	p := &parser{tokens: tokenPattern.FindAllString(query, -1)}
	match := p.any()
	if p.err == nil && len(p.tokens) > 0 {
		p.fail(p.tokens[0])
	}

	return match, p.err
}

func (p *parser) fail(token string) {
	if p.err == nil {
		p.err = invalid("the query is not valid at %q", token)
	}
}

// next takes the next token if it is that one.
func (p *parser) next(token string) bool {
	if p.err != nil || len(p.tokens) == 0 || p.tokens[0] != token {
		return false
	}
	p.tokens = p.tokens[1:]

	return true
}

func (p *parser) any() matcher {
	match := p.all()
	for p.next("OR") {
		left, right := match, p.all()
		match = func(o Object) bool { return left(o) || right(o) }
	}

	return match
}

func (p *parser) all() matcher {
	match := p.one()
	for p.next("AND") {
		left, right := match, p.one()
		match = func(o Object) bool { return left(o) && right(o) }
	}

	return match
}

func (p *parser) one() matcher {
	if p.next("NOT") {
		inner := p.one()

		return func(o Object) bool { return !inner(o) }
	}
	if p.next("(") {
		inner := p.any()
		if !p.next(")") {
			p.fail("(")
		}

		return inner
	}
	if p.err != nil || len(p.tokens) == 0 {
		p.fail("the end")

		return nil
	}
	token := p.tokens[0]
	p.tokens = p.tokens[1:]

	return p.term(token)
}

// term returns the matcher of field:value. Values are compared as full text: without case,
// and a value matches a part of another one ([API] QuerySearch).
func (p *parser) term(token string) matcher {
	field, value, ok := strings.Cut(token, ":")
	pattern := patternOf(value)
	if !ok || field == "" || pattern == nil {
		p.fail(token)

		return nil
	}

	return func(o Object) bool { return slices.ContainsFunc(valuesAt(o, field), pattern.MatchString) }
}

// refusedUnescaped are reserved characters that make a query invalid unless they are
// escaped; most of the others are taken as they are ([API] QuerySearch; which is not documented).
const refusedUnescaped = `/:[]{}^~!"\`

// A query consists of tokens, and a value of parts: an escaped character, a text in quotes
// or a character.
var (
	tokenPattern = regexp.MustCompile(`\(|\)|(\\.|"(\\.|[^"\\])*"|[^\s()"\\])+|\S`)
	partPattern  = regexp.MustCompile(`\\.|"(\\.|[^"\\])*"|.`)
	escape       = regexp.MustCompile(`\\(.)`)
)

// patternOf returns what the value of a term matches, nil if it is not valid.
func patternOf(value string) *regexp.Regexp {
	var pattern strings.Builder
	for _, part := range partPattern.FindAllString(value, -1) {
		text := escape.ReplaceAllString(part, "$1")
		switch {
		case part == "*":
			pattern.WriteString(".*")
		case part == "?":
			pattern.WriteString(".")
		case len(part) == 1 && strings.Contains(refusedUnescaped, part):
			return nil
		default:
			if part[0] == '"' {
				text = text[1 : len(text)-1]
			}
			pattern.WriteString(regexp.QuoteMeta(text))
		}
	}
	if pattern.Len() == 0 {
		return nil
	}

	return regexp.MustCompile(`(?is)(^|[^\pL\pN])` + pattern.String() + `($|[^\pL\pN])`)
}
