package contract

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// variable is $name or ${name}.
var variable = regexp.MustCompile(`\$(?:\{([a-z][a-z0-9_]*)\}|([a-z][a-z0-9_]*))`)

// expand replaces the variables of text; one that is not set is an error.
func expand(text string, vars map[string]string) (string, error) {
	var missing []string
	out := variable.ReplaceAllStringFunc(text, func(m string) string {
		name := strings.Trim(m, "${}")
		value, ok := vars[name]
		if !ok {
			missing = append(missing, name)
		}

		return value
	})
	if missing != nil {
		return "", fmt.Errorf("variables not set: %s", strings.Join(missing, ", "))
	}

	return out, nil
}

// expandAll replaces the variables in all texts of a JSON value.
func expandAll(value any, vars map[string]string) (any, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	text, err := expand(string(data), vars)
	if err != nil {
		return nil, err
	}
	var out any

	return out, json.Unmarshal([]byte(text), &out)
}

// lookup returns the value at a path such as "pools.0.id" of a decoded JSON
// value.
func lookup(value any, path string) (any, error) {
	for key := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			next, ok := v[key]
			if !ok {
				return nil, fmt.Errorf("no field %q of %q", key, path)
			}
			value = next
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(v) {
				return nil, fmt.Errorf("no element %q of %q in a list of %d", key, path, len(v))
			}
			value = v[i]
		default:
			return nil, fmt.Errorf("no field %q of %q in %T", key, path, value)
		}
	}

	return value, nil
}

// text is a JSON value as a variable holds it.
func text(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}

	return string(data)
}

// captured returns the value that a capture expression names.
func captured(expression string, body any, header http.Header) (string, error) {
	if name, ok := strings.CutPrefix(expression, "header:"); ok {
		if v := header.Get(name); v != "" {
			return v, nil
		}

		return "", fmt.Errorf("no header %s", name)
	}
	v, err := lookup(body, expression)
	if err != nil {
		return "", err
	}

	return text(v), nil
}
