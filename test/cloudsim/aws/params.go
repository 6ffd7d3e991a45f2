package aws

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// params are the parameters of a request, or of a structure within it. Names are
// relative to that structure: "VpcId", "Subnets.member", "HealthCheck.Target".
type params struct {
	form    url.Values
	present map[string]bool // every parameter and everything that contains one
	prefix  string          // empty or ending in a dot
	service *api
	header  http.Header
}

func newParams(service *api, form url.Values) params {
	present := make(map[string]bool, 2*len(form))
	for key := range form {
		for {
			present[key] = true
			i := strings.LastIndexByte(key, '.')
			if i < 0 {
				break
			}
			key = key[:i]
		}
	}

	return params{form: form, present: present, service: service}
}

// has reports whether the parameter, list or structure was sent, be it empty.
func (p params) has(name string) bool { return p.present[p.prefix+name] }

// str returns the parameter, empty when it was not sent.
func (p params) str(name string) string { return p.form.Get(p.prefix + name) }

// strPtr returns the parameter, nil when it was not sent.
func (p params) strPtr(name string) *string {
	if !p.has(name) {
		return nil
	}

	return new(p.str(name))
}

// int32 returns the parameter, nil when it was not sent.
func (p params) int32(name string) (*int32, error) {
	if !p.has(name) {
		return nil, nil
	}
	n, err := strconv.ParseInt(p.str(name), 10, 32)
	if err != nil {
		return nil, p.invalid(name)
	}

	return new(int32(n)), nil
}

// bool returns the parameter, nil when it was not sent.
func (p params) bool(name string) (*bool, error) {
	if !p.has(name) {
		return nil, nil
	}
	switch strings.ToLower(p.str(name)) {
	case "true", "1":
		return new(true), nil
	case "false", "0":
		return new(false), nil
	}

	return nil, p.invalid(name)
}

// list returns the values name.1, name.2 and so on.
func (p params) list(name string) []string {
	var values []string
	for i := 1; ; i++ {
		key := p.prefix + name + "." + strconv.Itoa(i)
		if !p.present[key] {
			return values
		}
		values = append(values, p.form.Get(key))
	}
}

// structs returns the structures name.1, name.2 and so on.
func (p params) structs(name string) []params {
	var items []params
	for i := 1; ; i++ {
		item := p.sub(name + "." + strconv.Itoa(i))
		if !p.has(name + "." + strconv.Itoa(i)) {
			return items
		}
		items = append(items, item)
	}
}

// sub returns the structure of that name.
func (p params) sub(name string) params {
	p.prefix += name + "."

	return p
}

// require fails when one of the parameters was not sent or is empty.
func (p params) require(names ...string) error {
	for _, name := range names {
		if p.has(name+".1") || p.has(name+".member.1") || p.str(name) != "" {
			continue
		}
		if p.service.query {
			return fail("ValidationError", "1 validation error detected: Value null at '%s' failed to satisfy constraint: Member must not be null", p.prefix+name)
		}

		return fail("MissingParameter", "The request must contain the parameter %s", p.prefix+name)
	}

	return nil
}

func (p params) invalid(name string) error {
	code := "InvalidParameterValue"
	if p.service.query {
		code = "ValidationError"
	}

	return fail(code, "Value (%s) for parameter %s is invalid.", p.str(name), p.prefix+name)
}

// fail returns an error response with status 400.
func fail(code, format string, args ...any) *apiError {
	return &apiError{http.StatusBadRequest, code, fmt.Sprintf(format, args...)}
}
