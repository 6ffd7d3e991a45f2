// Package subnetpattern selects subnets by their names and tags, as the settings
// floating-subnet and floating-subnet-tags do. It is pure.
//
//	name          the name is exactly this text
//	a*  a?        * is any run of characters but /, ? is one character
//	{a,b}  [a-c]  one of these texts, one of these characters; [!a-c] is any other
//	\*            the character after a backslash, whatever it means otherwise
//	~expression   the regular expression matches the whole name
//	!pattern      the pattern after it does not match
//
//	a,b           the subnet has one of these tags
//	&a,b          it has all of them
//	!a,b          it has none of them
//	!&a,b         it does not have all of them
//
// What it promises: a text that cannot be read is an error, never a pattern that
// selects everything or nothing; matching takes time in proportion to the name, since
// users of a cluster write patterns.
//
// That is why patterns become regular expressions of Go, which never go back in the
// text: libraries for patterns of file names try one alternative after the other, which
// takes hours for {a,a}{a,a}… on a name that almost matches, and give / a meaning that
// it does not have in the name of a subnet.
package subnetpattern

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

const (
	negation   = "!"
	expression = "~"
)

// Name selects subnets by their names. The zero Name selects all of them.
type Name struct {
	text    string
	not     bool
	matcher *regexp.Regexp
}

// ParseName reads a pattern. An empty text is the zero Name.
func ParseName(text string) (Name, error) {
	if text == "" {
		return Name{}, nil
	}
	pattern, not := strings.CutPrefix(text, negation)
	source, isExpression := strings.CutPrefix(pattern, expression)
	if source == "" {
		return Name{}, fmt.Errorf("parse subnet pattern %q: it ends after %s", text, text)
	}
	if !isExpression {
		var err error
		if source, err = fromGlob(source); err != nil {
			return Name{}, fmt.Errorf("parse subnet pattern %q: %w", text, err)
		}
	}
	if _, err := regexp.Compile(source); err != nil {
		return Name{}, fmt.Errorf("parse subnet pattern %q: %w", text, err)
	}
	matcher, err := regexp.Compile(`\A(?:` + source + `)\z`)
	if err != nil {
		return Name{}, fmt.Errorf("parse subnet pattern %q: %w", text, err)
	}

	return Name{text: text, not: not, matcher: matcher}, nil
}

// Matches reports whether a subnet of this name is selected. An empty name is a name
// like others.
func (n Name) Matches(name string) bool {
	return n.matcher == nil || n.matcher.MatchString(name) != n.not
}

// IsZero reports whether all subnets are selected, since there is no pattern.
func (n Name) IsZero() bool { return n.matcher == nil }

// String is the text that was parsed.
func (n Name) String() string { return n.text }

// Equal reports whether two patterns have the same text.
func (n Name) Equal(other Name) bool { return n.text == other.text }

// Check returns what is wrong with a pattern of names and a list of tags, each of which
// may be empty.
func Check(name, tags string) error {
	_, inName := ParseName(name)
	_, inTags := ParseTags(tags)

	return errors.Join(inName, inTags)
}
