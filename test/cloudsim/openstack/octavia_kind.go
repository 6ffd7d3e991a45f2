package openstack

import (
	"encoding/json"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func anyText(most int) lbKind {
	return func(raw json.RawMessage) (any, string) {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return nil, "Value should be string"
		}
		if len([]rune(text)) > most {
			return nil, "Value should have a maximum character requirement of " + strconv.Itoa(most)
		}

		return text, ""
	}
}

func matching(pattern string) lbKind {
	compiled := regexp.MustCompile(pattern)

	return func(raw json.RawMessage) (any, string) {
		text, reason := anyText(255)(raw)
		if reason == "" && !compiled.MatchString(text.(string)) {
			return nil, "Value should match the pattern " + pattern
		}

		return text, reason
	}
}

var uuidForm = regexp.MustCompile(`^(?i)[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$`)

func uuid(raw json.RawMessage) (any, string) {
	var text string
	if json.Unmarshal(raw, &text) != nil || !uuidForm.MatchString(text) {
		return nil, "Value should be UUID format"
	}

	return text, ""
}

func truth(raw json.RawMessage) (any, string) {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return nil, "Value not an unambiguous boolean: " + string(raw)
	}
	switch strings.ToLower(pythonValue(value, false)) {
	case "true", "1", "on", "yes", "y", "t":
		return true, ""
	case "false", "0", "off", "no", "n", "f":
		return false, ""
	}

	return nil, "Value not an unambiguous boolean: " + pythonText(raw)
}

// between is an integer; texts that are one are taken, as wsme does.
func between(least, most int) lbKind {
	return func(raw json.RawMessage) (any, string) {
		n, err := strconv.Atoi(strings.Trim(string(raw), `"`))
		switch {
		case err != nil:
			return nil, "invalid literal for int() with base 10: '" + strings.Trim(string(raw), `"`) + "'"
		case n < least:
			return nil, "Value should be greater or equal to " + strconv.Itoa(least)
		case n > most:
			return nil, "Value should be lower or equal to " + strconv.Itoa(most)
		}

		return n, ""
	}
}

func oneOf(values ...string) lbKind {
	return func(raw json.RawMessage) (any, string) {
		var text string
		if json.Unmarshal(raw, &text) != nil || !slices.Contains(values, text) {
			return nil, "Value should be one of: " + strings.Join(values, ", ")
		}

		return text, ""
	}
}

func ipAddress(raw json.RawMessage) (any, string) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if _, err := netip.ParseAddr(text); err == nil {
			return text, ""
		}
	}

	return nil, "Value should be IPv4 or IPv6 format"
}

func listOf(kind lbKind) lbKind {
	return func(raw json.RawMessage) (any, string) {
		var rows []json.RawMessage
		if json.Unmarshal(raw, &rows) != nil {
			return nil, "Value not a valid list: " + pythonText(raw)
		}
		out := make([]string, 0, len(rows))
		for _, row := range rows {
			value, reason := kind(row)
			if reason != "" {
				return nil, reason
			}
			out = append(out, value.(string))
		}

		return out, ""
	}
}

// cidr is a prefix, whose host bits Octavia drops (octavia: api/common/types.py,
// CidrType).
func cidr(raw json.RawMessage) (any, string) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			return prefix.Masked().String(), ""
		}
		if ip, err := netip.ParseAddr(text); err == nil {
			return netip.PrefixFrom(ip, ip.BitLen()).String(), ""
		}
	}

	return nil, "Value should be IPv4 or IPv6 CIDR format"
}

// cidrs is a list of prefixes; none at all is null in responses.
func cidrs(raw json.RawMessage) (any, string) {
	value, reason := listOf(cidr)(raw)
	if list, _ := value.([]string); reason == "" && len(list) == 0 {
		return nil, ""
	}

	return value, reason
}

func headers(raw json.RawMessage) (any, string) {
	var value map[string]string
	if json.Unmarshal(raw, &value) != nil {
		return nil, "Value not a valid dict: " + pythonText(raw)
	}

	return value, ""
}

// urlPath is the path of a health check (octavia: common/validate.py, url_path).
func urlPath(raw json.RawMessage) (any, string) {
	var text string
	if json.Unmarshal(raw, &text) != nil || !strings.HasPrefix(text, "/") || strings.ContainsAny(text, " \t\r\n") {
		return nil, "Value must be a valid URL Path string"
	}

	return text, ""
}

// rawJSON is an object or a list that has a check of its own.
func rawJSON(raw json.RawMessage) (any, string) { return raw, "" }

func httpVersion(raw json.RawMessage) (any, string) {
	switch strings.Trim(string(raw), `"`) {
	case "1.0", "1":
		return 1.0, ""
	case "1.1":
		return 1.1, ""
	}

	return nil, "Value should be one of: 1.0, 1.1"
}
