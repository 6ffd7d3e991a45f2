package config

import (
	"regexp"
	"strings"
)

// urls finds the URLs in a text.
var urls = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://\S+`)

// RedactURLs returns a text without what may be a credential in its URLs: everything before the
// last @, which ends the user information also where a password is not escaped, the values of the
// query, and the fragment.
func RedactURLs(text string) string { return urls.ReplaceAllStringFunc(text, redactURL) }

func redactURL(text string) string {
	scheme, rest, _ := strings.Cut(text, "://")
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		rest = redacted + rest[at:]
	}
	rest, _, hasFragment := strings.Cut(rest, "#")
	rest, query, hasQuery := strings.Cut(rest, "?")
	if hasQuery {
		rest += "?" + redactQuery(query)
	}
	if hasFragment {
		rest += "#" + redacted
	}

	return scheme + "://" + rest
}

// redactQuery returns the names of a query without their values.
func redactQuery(query string) string {
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		if name, _, found := strings.Cut(pair, "="); found {
			pairs[i] = name + "=" + redacted
		} else {
			pairs[i] = redacted
		}
	}

	return strings.Join(pairs, "&")
}
