package openstack

import (
	"net/http"
	"strings"
	"unicode"
)

// missing is the response about an object that does not exist, or that the caller
// must not know of. Sort is its name in the message: "Port", "Security group".
func missing(sort, id string) *apiError {
	words := strings.Fields(sort)
	for i, word := range words {
		words[i] = strings.ToUpper(word[:1]) + word[1:]
	}
	text := " could not be found."
	switch sort {
	case "Security group", "Security group rule":
		text = " does not exist"
	case "Router", "Floating IP":
		text = " could not be found"
	}

	return fail(http.StatusNotFound, strings.Join(words, "")+"NotFound", "%s %s%s", sort, id, text)
}

// invalidInput is the response to a value that the API accepts and the service does
// not.
func invalidInput(format string, args ...any) *apiError {
	problem := fail(http.StatusBadRequest, "InvalidInput", format, args...)
	problem.message = "Invalid input for operation: " + problem.message + "."

	return problem
}

// badRequest is the response to a request that the API does not accept.
func badRequest(format string, args ...any) *apiError {
	return fail(http.StatusBadRequest, "HTTPBadRequest", format, args...)
}

// conflict is the response to a change that the state does not allow.
func conflict(kind, format string, args ...any) *apiError {
	return fail(http.StatusConflict, kind, format, args...)
}

// notAllowed is the response when a policy forbids the call as such, or to set
// attributes of the resource: those are given as their rules.
func notAllowed(rule string, attributes ...string) *apiError {
	if len(attributes) == 0 {
		return disallowed("rule:" + rule + " is disallowed by policy")
	}
	rules := make([]string, len(attributes))
	for i, name := range attributes {
		rules[i] = "rule:" + rule + ":" + name
	}

	return disallowed("(rule:" + rule + " and " + strings.Join(rules, " and ") + ") is disallowed by policy")
}

// internalError is the response to what Neutron did not expect.
func internalError() *apiError {
	return fail(http.StatusInternalServerError, "HTTPInternalServerError", "Request Failed: internal server error while processing your request.")
}

// overQuota is the response when a quota is exceeded; Neutron has 409 for it, other
// than Octavia (neutron-lib: exceptions, OverQuota).
func overQuota(resource string) *apiError {
	return conflict("OverQuota", "Quota exceeded for resources: ['%s'].", resource)
}

// snake returns the name of a policy rule: update_port for UpdatePort.
func snake(op string) string {
	var out strings.Builder
	for i, r := range op {
		if unicode.IsUpper(r) && i > 0 {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(r))
	}

	return out.String()
}
