package config

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// plainPart is what needs no quotes in a path.
var plainPart = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// kebab converts camelCase to the spelling of gcfg files: caFile is ca-file.
func kebab(camel string) string {
	var b strings.Builder
	for i, r := range camel {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}

	return b.String()
}

// camel converts the spelling of gcfg files to that of YAML files: ca-file is
// caFile.
func camel(kebab string) string {
	words := strings.Split(kebab, "-")
	for i, word := range words[1:] {
		if word != "" {
			words[i+1] = strings.ToUpper(word[:1]) + word[1:]
		}
	}

	return strings.Join(words, "")
}

// lowerFirst is how YAML files begin the name of a section: NodeDeletion is
// nodeDeletion.
func lowerFirst(section string) string {
	if section == "" {
		return ""
	}

	return strings.ToLower(section[:1]) + section[1:]
}

// dotted joins the parts of a name as YAML paths are written. Empty parts are
// left out; one with dots or blanks in it is quoted.
func dotted(parts ...string) string {
	var path []string
	for _, part := range parts {
		switch {
		case part == "":
			continue
		case !plainPart.MatchString(part):
			part = strconv.Quote(part)
		}
		path = append(path, part)
	}

	return strings.Join(path, ".")
}
