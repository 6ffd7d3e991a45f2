package openstack

import (
	"encoding/json"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// The checks of attributes (neutron-lib: api/validators). Each returns the reason
// in the response, and an empty text for a valid value.

var uuidPattern = regexp.MustCompile(`^[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}$`)

const maxText = 255

// isText accepts texts of up to 255 characters.
func isText(raw json.RawMessage) string {
	var value string
	if json.Unmarshal(raw, &value) != nil || string(raw) == "null" {
		return "'" + python(raw) + "' is not a valid string."
	}
	if len([]rune(value)) > maxText {
		return "'" + value + "' exceeds maximum length of 255."
	}

	return ""
}

// isUUID accepts UUIDs.
func isUUID(raw json.RawMessage) string {
	var value string
	if json.Unmarshal(raw, &value) != nil || !uuidPattern.MatchString(value) {
		return "'" + python(raw) + "' is not a valid UUID."
	}

	return ""
}

// isUUIDOrNull accepts UUIDs and null. An empty text is neither.
func isUUIDOrNull(raw json.RawMessage) string {
	if string(raw) == "null" {
		return ""
	}

	return isUUID(raw)
}

// isUUIDs accepts lists of UUIDs.
func isUUIDs(raw json.RawMessage) string {
	var values []json.RawMessage
	if json.Unmarshal(raw, &values) != nil {
		return "'" + python(raw) + "' is not a list."
	}
	for _, value := range values {
		if reason := isUUID(value); reason != "" {
			return reason
		}
	}

	return ""
}

// isUUIDsOrNull accepts lists of UUIDs, and null for an empty one.
func isUUIDsOrNull(raw json.RawMessage) string {
	if string(raw) == "null" {
		return ""
	}

	return isUUIDs(raw)
}

// isIP accepts IP addresses and null.
func isIP(raw json.RawMessage) string {
	if string(raw) == "null" {
		return ""
	}
	var value string
	_ = json.Unmarshal(raw, &value)
	if _, err := netip.ParseAddr(value); err != nil {
		return "'" + python(raw) + "' is not a valid IP address."
	}

	return ""
}

// isRoutes accepts lists of distinct routes (neutron-lib: api/validators,
// validate_hostroutes).
func isRoutes(raw json.RawMessage) string {
	var values []map[string]any
	if string(raw) == "null" {
		return ""
	}
	if json.Unmarshal(raw, &values) != nil {
		return "Invalid data format for hostroute: '" + python(raw) + "'."
	}
	seen := make(map[extraRoute]bool)
	for _, value := range values {
		destination, _ := value["destination"].(string)
		nexthop, _ := value["nexthop"].(string)
		if len(value) != 2 || value["destination"] == nil || value["nexthop"] == nil {
			return "Validation of dictionary's keys failed. Expected keys: {'destination', 'nexthop'} Provided keys: {" + keysOf(value) + "}."
		}
		if reason := isCIDR(destination); reason != "" {
			return reason
		}
		if _, err := netip.ParseAddr(nexthop); err != nil {
			return "'" + nexthop + "' is not a valid IP address."
		}
		r := extraRoute{destination, nexthop}
		if seen[r] {
			return "Duplicate hostroute '" + r.python() + "'."
		}
		seen[r] = true
	}

	return ""
}

// isCIDR accepts prefixes without host bits.
func isCIDR(value string) string {
	prefix, err := netip.ParsePrefix(value)
	if err != nil {
		return "'" + value + "' is not a valid CIDR."
	}
	if prefix != prefix.Masked() {
		return "'" + value + "' is not a recognized CIDR, '" + prefix.Masked().String() + "' is recommended."
	}

	return ""
}

func keysOf(value map[string]any) string {
	keys := make([]string, 0, len(value))
	for key := range value {
		keys = append(keys, key)
	}

	return quoted(sorted(keys))
}

// python returns a JSON value in the form that messages have it.
func python(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil && string(raw) != "null" {
		return text
	}
	if string(raw) == "null" {
		return "None"
	}

	return string(raw)
}

// asBool returns the boolean that a text stands for, and reports whether it does
// (neutron-lib: api/converters.py, convert_to_boolean).
func asBool(text string) (value, ok bool) {
	switch strings.ToLower(text) {
	case "true", "1":
		return true, true
	case "false", "0":
		return false, true
	}

	return false, false
}

func digits(n int) string { return strconv.Itoa(n) }
