// Package providerid determines which cloud a spec.providerID belongs to.
//
// What it promises: the text before "://" decides, before anybody parses the
// rest, so that another cloud's Node is never taken for a missing instance of
// ours. The formats behind the scheme belong to each provider.
package providerid

import "strings"

const separator = "://"

// Kind is what a providerID is to one provider.
type Kind int

// The kinds of providerIDs.
const (
	// Empty means that the Node has none yet.
	Empty Kind = iota
	// Ours carries the provider's scheme; the provider's parser has the last
	// word on the rest.
	Ours
	// Foreign carries another scheme: another cloud's.
	Foreign
	// Bare has no scheme. It is ours if the provider's parser accepts it.
	Bare
)

var names = map[Kind]string{Empty: "empty", Ours: "ours", Foreign: "foreign", Bare: "bare"}

// String is the kind in one word.
func (k Kind) String() string { return names[k] }

// Scheme returns the text before the first "://" of id. Without one, or with
// nothing before it, id has no scheme.
func Scheme(id string) (scheme string, ok bool) {
	scheme, _, found := strings.Cut(id, separator)
	if !found || scheme == "" {
		return "", false
	}

	return scheme, true
}

// Classify returns the kind of id for the provider with this scheme. Other
// spellings of the scheme, such as capitals, count as ours: a provider that
// does not accept them returns an error, which is more visible than treating
// the Node as foreign.
func Classify(scheme, id string) Kind {
	if id == "" {
		return Empty
	}
	got, ok := Scheme(id)
	switch {
	case !ok:
		return Bare
	case strings.EqualFold(strings.TrimSpace(got), scheme):
		return Ours
	default:
		return Foreign
	}
}

// Format puts a scheme before the rest of a providerID.
func Format(scheme, rest string) string { return scheme + separator + rest }

// Rest returns what follows the scheme of id, or all of id if it is bare.
func Rest(id string) string {
	if scheme, ok := Scheme(id); ok {
		return id[len(scheme)+len(separator):]
	}

	return id
}
