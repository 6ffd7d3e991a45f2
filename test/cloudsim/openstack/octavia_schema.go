package openstack

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// lbSort is a sort of objects of Octavia and its attributes.
type lbSort struct {
	// name is the one in messages: "Load Balancer".
	name string
	// single and plural are the keys in bodies and the name in paths.
	single, plural string
	// argument is what messages about attributes start with (wsme: exc.py,
	// UnknownAttribute.add_fieldname): "load_balancer.loadbalancer".
	argument string
	fields   []lbField
	// filters are the parameters of lists beside the attributes.
	filters []string
	// unsortable are attributes that are none of the object itself.
	unsortable []string
}

// lbUse are the requests in which an attribute may be.
type lbUse int

// The requests.
const (
	inPost  lbUse = 1 << iota
	inPut         // a change
	inGraph       // the creation of a whole load balancer

	inAll = inPost | inPut | inGraph
	inNew = inPost | inGraph
)

// lbField is an attribute (octavia: api/v2/types).
type lbField struct {
	name string
	use  lbUse // 0 for attributes that responses alone have
	kind lbKind
	// since is the minor version of the API that added it; a request with it is 400
	// and responses do not have it in a cloud below that.
	since     int
	mandatory bool
	// standard is the value of a new object, and of one that is set to null when
	// resets is set.
	standard any
	resets   bool
	// hidden ones are not in responses.
	hidden bool
}

// lbKind checks a value and returns it as responses have it, or the reason why it is
// refused.
type lbKind func(raw json.RawMessage) (any, string)

// invalidInputOf is the response to a value of a wrong kind (wsme: exc.py,
// InvalidInput).
func invalidField(name, value, reason string) *apiError {
	return fail(http.StatusBadRequest, "", "Invalid input for field/attribute %s. Value: '%s'. %s", name, value, reason)
}

// invalidOption is the response to an option that does not fit (octavia:
// common/exceptions.py, InvalidOption).
func invalidOption(value, option string) *apiError {
	return fail(http.StatusBadRequest, "", "%s is not a valid option for %s", value, option)
}

// invalid is the response to a request that validation refuses (octavia:
// common/exceptions.py, ValidationException).
func invalid(format string, args ...any) *apiError {
	return fail(http.StatusBadRequest, "", "Validation failure: "+format, args...)
}

// lbRequest returns the attributes of the object in the body, checked by those that
// a sort has in such a request. Unknown ones are refused, at every level.
func (k *call) lbRequest(sort *lbSort, use lbUse) (attributes, object, error) {
	body, err := k.lbBody()
	if err != nil {
		return nil, nil, err
	}
	argument, key, _ := strings.Cut(sort.argument, ".")
	if unknown := body.unknown(key); len(unknown) > 0 {
		return nil, nil, unknownFields(argument, unknown)
	}
	if len(body[key]) == 0 || body.null(key) { // the service fails on it (tried with Zed)
		kind := map[bool]string{true: "NoneType", false: "UnsetType"}[body.has(key)]

		return nil, nil, fail(http.StatusInternalServerError, "", "'%s' object has no attribute 'project_id'", kind)
	}
	var given attributes
	if err := json.Unmarshal(body[key], &given); err != nil {
		return nil, nil, invalidField(argument, pythonText(k.body), "Wrong type")
	}
	values, err := k.lbValues(sort, given, use)

	return given, values, err
}

// lbBody reads the body.
func (k *call) lbBody() (attributes, error) {
	var body attributes
	if err := json.Unmarshal(k.body, &body); err != nil {
		return nil, fail(http.StatusBadRequest, "", "Request is not in valid JSON format")
	}

	return body, nil
}

func unknownFields(argument string, names []string) *apiError {
	plural := ""
	if len(names) > 1 {
		plural = "s"
	}

	return fail(http.StatusBadRequest, "", "Unknown attribute%s for argument %s: %s", plural, argument, strings.Join(names, ", "))
}

// lbValues checks attributes. Those that are null are nil in the result.
func (k *call) lbValues(sort *lbSort, given attributes, use lbUse) (object, error) {
	var known []string
	for _, f := range sort.fields {
		if f.use&use != 0 && f.since <= k.octaviaMinor() {
			known = append(known, f.name)
		}
	}
	if unknown := given.unknown(known...); len(unknown) > 0 {
		return nil, unknownFields(sort.argument, unknown)
	}
	values := object{}
	for _, f := range sort.fields {
		if f.use&use == 0 {
			continue
		}
		raw, sent := given[f.name]
		// A pool in the creation of a load balancer may be a reference: its name alone.
		if f.mandatory && (use == inPost || use == inGraph && sort.single != lbPools.single) && (!sent || given.null(f.name)) {
			return nil, invalidField(f.name, "None", "Mandatory field missing.")
		}
		if !sent {
			continue
		}
		if given.null(f.name) {
			values[f.name] = nil

			continue
		}
		value, reason := f.kind(raw)
		if text, _ := value.(string); reason == "" && isGated(f.name) && lbValuesSince[text] > k.octaviaMinor() {
			reason = "Value should be one of the supported ones"
		}
		switch {
		case isConversion(reason):
			argument, _, _ := strings.Cut(sort.argument, ".")

			return nil, invalidField(argument, pythonText(k.body), reason)
		case reason != "":
			return nil, invalidField(f.name, pythonText(raw), reason)
		}
		values[f.name] = value
	}

	return values, nil
}

// isConversion reports whether a value was refused because it is of another type.
// Messages have the whole body then (compared with Zed).
func isConversion(reason string) bool {
	return strings.HasPrefix(reason, "Value not ") || strings.HasPrefix(reason, "invalid literal")
}

// isGated reports whether versions of the API added values to an attribute.
func isGated(name string) bool { return name == "protocol" || name == "lb_algorithm" || name == "type" }

// complete returns the settings of a new object, with defaults for what was not sent.
func (s *lbSort) complete(values object) object {
	settings := object{}
	for _, f := range s.fields {
		value, sent := values[f.name]
		switch {
		case !sent, value == nil && (f.resets || isString(f.standard) || f.name == "tags" || f.name == "insert_headers"):
			settings[f.name] = f.standard
		case f.name == "admin_state_up" && value == nil:
			settings[f.name] = false
		default:
			settings[f.name] = value
		}
	}

	return settings
}

// changes returns what a change sets, with defaults in place of some nulls: names
// become empty, admin_state_up false (octavia: api/common/types.py, to_dict).
func (s *lbSort) changes(values object) object {
	out := object{}
	for _, f := range s.fields {
		value, sent := values[f.name]
		switch {
		case !sent, f.name == "tags" && value == nil: // null tags change nothing
		case f.name == "admin_state_up" && value == nil:
			out[f.name] = false
		case value == nil && (f.resets || isString(f.standard) || f.name == "insert_headers"):
			out[f.name] = f.standard
		default:
			out[f.name] = value
		}
	}

	return out
}

func isString(value any) bool {
	_, ok := value.(string)

	return ok
}

// pythonText is a value as messages have it.
func pythonText(raw json.RawMessage) string {
	var value any
	if len(raw) == 0 || json.Unmarshal(raw, &value) != nil {
		return "None"
	}

	return pythonValue(value, false)
}

// pythonValue is a value as Python writes it, texts within lists in quotes.
func pythonValue(value any, quote bool) string {
	switch v := value.(type) {
	case nil:
		return "None"
	case bool:
		return map[bool]string{true: "True", false: "False"}[v]
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case string:
		if quote {
			return "'" + v + "'"
		}

		return v
	case []any:
		parts := make([]string, len(v))
		for i, part := range v {
			parts[i] = pythonValue(part, true)
		}

		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		parts := make([]string, 0, len(v))
		for _, key := range sortedKeys(v) {
			parts = append(parts, "'"+key+"': "+pythonValue(v[key], true))
		}

		return "{" + strings.Join(parts, ", ") + "}"
	}

	return fmt.Sprint(value)
}
