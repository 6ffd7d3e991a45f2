package contract

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// What differs from run to run, inside a text. The order matters: a request ID
// contains a UUID.
var (
	routesPattern   = regexp.MustCompile(`Invalid format for routes: \[.*\],`)
	rulesPattern    = regexp.MustCompile(`\(\(.*\) is disallowed by policy`)
	revisionPattern = regexp.MustCompile(`(Constrained to|current revision is) \d+`)
	requestPattern  = regexp.MustCompile(`\breq-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	hashPattern     = regexp.MustCompile(`\b[0-9a-f]{56,64}\b`)
	idPattern       = regexp.MustCompile(`\b(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32})\b`)
	timePattern     = regexp.MustCompile(`\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?`)
	macPattern      = regexp.MustCompile(`\b[0-9a-f]{2}(?::[0-9a-f]{2}){5}\b`)
	ipv4Pattern     = regexp.MustCompile(`\b\d{1,3}(?:\.\d{1,3}){3}\b/?`)
	databasePattern = regexp.MustCompile(`(?s)\(pymysql\..*`)
	choicesPattern  = regexp.MustCompile(`should be one of: .*`) // a set of Python, in any order
	digitPattern    = regexp.MustCompile(`\d`)
)

// hidden are fields whose value is replaced whatever it is.
var hidden = map[string]string{
	"audit_ids":       "<audit>",
	"revision_number": "<revision>",
	"secret":          "<secret>",
	// A row number of Neutron's database.
	"standard_attr_id": "<number>",
}

// extensions are the extensions of Neutron that a cloud provider uses.
var extensions = []string{
	"allowed-address-pairs", "external-net", "extraroute", "extraroute-atomic", "filter-validation", "port-security",
	"port-security-groups-filtering", "revision-if-match", "router", "security-group", "standard-attr-revisions",
	"standard-attr-tag", "trunk", "trunk-details",
}

// normalizer replaces what differs from run to run by placeholders that keep
// which values are the same. One serves a whole scenario.
type normalizer struct {
	cloud *Cloud
	// keep is the text of the scenario: what it contains is not replaced.
	keep string
	// names are placeholders by value.
	names map[string]string
	// addresses are placeholders of addresses of one response: which free
	// address a cloud chooses, and whether it is one used before, is random.
	addresses map[string]string
	// count is how many placeholders of a kind exist.
	count map[string]int
}

func newNormalizer(cloud *Cloud, keep string) *normalizer {
	n := &normalizer{cloud: cloud, keep: keep, names: map[string]string{}, addresses: map[string]string{}, count: map[string]int{}}
	// In the order of names, so that two names of one value give one result.
	for _, name := range slices.Sorted(maps.Keys(cloud.Vars)) {
		n.name(name, cloud.Vars[name])
	}

	return n
}

// name makes <name> the placeholder of a value, if the value is one that
// differs from run to run and has none.
func (n *normalizer) name(name, value string) {
	if !n.varies(value) || n.names[value] != "" {
		return
	}
	n.names[value] = "<" + name + ">"
}

// varies reports whether the whole value is an ID or an address that the
// scenario did not choose.
func (n *normalizer) varies(value string) bool {
	if m := idPattern.FindString(value); m != "" && m == value {
		return true
	}
	_, err := netip.ParseAddr(value)

	return err == nil && !strings.Contains(n.keep, value)
}

// placeholder returns the placeholder of a value, a new one for a new value.
func (n *normalizer) placeholder(kind, value string) string {
	if p := n.names[value]; p != "" {
		return p
	}
	n.count[kind]++
	p := fmt.Sprintf("<%s-%d>", kind, n.count[kind])
	n.names[value] = p

	return p
}

// text normalizes a text.
func (n *normalizer) text(s string) string {
	for service, base := range n.cloud.Endpoints {
		s = strings.ReplaceAll(s, base, "<"+service+">")
	}
	if p := n.names[s]; p != "" {
		return p
	}
	if a, err := netip.ParseAddr(s); err == nil {
		return n.address(a.String())
	}
	s = databasePattern.ReplaceAllString(s, "<database error>")
	s = revisionPattern.ReplaceAllString(s, "$1 <revision>")
	s = routesPattern.ReplaceAllString(s, "Invalid format for routes: <routes>,")
	s = rulesPattern.ReplaceAllString(s, "<rules> is disallowed by policy")
	s = choicesPattern.ReplaceAllString(s, "should be one of: <choices>")
	s = requestPattern.ReplaceAllString(s, "<request>")
	s = hashPattern.ReplaceAllString(s, "<hash>")
	s = idPattern.ReplaceAllStringFunc(s, func(id string) string { return n.placeholder("id", id) })
	s = timePattern.ReplaceAllStringFunc(s, func(t string) string {
		return "<time " + digitPattern.ReplaceAllString(t, "0") + ">"
	})
	s = macPattern.ReplaceAllStringFunc(s, func(mac string) string { return n.placeholder("mac", mac) })

	return ipv4Pattern.ReplaceAllStringFunc(s, func(ip string) string {
		if strings.HasSuffix(ip, "/") {
			return ip // a prefix: the layout decides it
		}

		return n.address(ip)
	})
}

// address normalizes an address.
func (n *normalizer) address(ip string) string {
	if !n.varies(ip) {
		return ip
	}

	if p := n.names[ip]; p != "" {
		return p
	}
	p := n.addresses[ip]
	if p == "" {
		p = fmt.Sprintf("<ip-%d>", len(n.addresses)+1)
		n.addresses[ip] = p
	}

	return p
}

// value normalizes a decoded JSON value. Fields are visited in the order of
// their names, so that placeholders are counted the same way in each run.
//
// The order of a list below an object (fixed IPs, groups, members, tags) is not
// promised by the services, so those are sorted always; a list that is the
// response itself only if unordered is set.
func (n *normalizer) value(v any, unordered bool) any {
	return n.nested(v, unordered, 0)
}

// nested is value at a depth of the document.
func (n *normalizer) nested(v any, unordered bool, depth int) any {
	switch v := v.(type) {
	case string:
		return n.text(v)
	case []any:
		if unordered || depth > 1 {
			v = n.sorted(v)
		}
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = n.nested(e, unordered, depth+1)
		}

		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if p, ok := hidden[key]; ok && v[key] != nil {
				out[key] = p

				continue
			}
			if list, ok := v[key].([]any); ok {
				v[key] = known(key, list)
			}
			out[n.text(key)] = n.nested(v[key], unordered, depth+1)
		}

		return out
	default:
		return v
	}
}

// known returns the entries of a catalog or of a list of extensions that the
// contract is about: a cloud may have more.
func known(list string, entries []any) []any {
	field, values := "type", services
	switch list {
	case "catalog":
	case "extensions":
		field, values = "alias", extensions
	default:
		return entries
	}

	return slices.DeleteFunc(slices.Clone(entries), func(e any) bool {
		entry, _ := e.(map[string]any)
		value, _ := entry[field].(string)

		return !slices.Contains(values, value)
	})
}

// sorted returns a list in the order of what remains when new IDs, times and
// addresses are masked.
func (n *normalizer) sorted(list []any) []any {
	key := func(v any) string { return marshaled(n.masked(v)) }

	return slices.SortedStableFunc(slices.Values(list), func(a, b any) int { return cmp.Compare(key(a), key(b)) })
}

func marshaled(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}

	return string(data)
}

// masked is value with one placeholder for all unnamed values of a kind.
func (n *normalizer) masked(v any) any {
	switch v := v.(type) {
	case string:
		fresh := &normalizer{cloud: n.cloud, keep: n.keep, names: maps.Clone(n.names), addresses: map[string]string{}, count: map[string]int{}}

		return fresh.text(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = n.masked(e)
		}
		slices.SortStableFunc(out, func(a, b any) int { return cmp.Compare(marshaled(a), marshaled(b)) })

		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, e := range v {
			if hidden[key] == "" {
				out[key] = n.masked(e)
			}
		}

		return out
	default:
		return v
	}
}
