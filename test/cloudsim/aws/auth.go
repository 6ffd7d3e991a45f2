package aws

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The key pair of Environment. It protects nothing.
const (
	staticKey    = "AKIAIOSFODNN7EXAMPLE"
	staticSecret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
)

const signingAlgorithm = "AWS4-HMAC-SHA256"

// credential is an access key that the simulated cloud accepts.
type credential struct {
	secret, token string
	role, session string    // ARN and session name, empty for the static key
	expires       time.Time // zero for never
}

// AccessKey returns the key pair that is always accepted, unless RequireRole
// requires more.
func (c *Cloud) AccessKey() (id, secret string) { return staticKey, staticSecret }

// RequireRole makes EC2 and the load balancer APIs reject all requests that are
// not signed with credentials of the role that STS issued. An empty ARN ends it.
func (c *Cloud) RequireRole(arn string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.role = arn
}

// signature is a parsed Authorization header.
type signature struct {
	key, date, region, service string
	headers                    []string
	sum                        string
}

func parseSignature(header string) (signature, bool) {
	rest, ok := strings.CutPrefix(header, signingAlgorithm+" ")
	if !ok {
		return signature{}, false
	}
	var s signature
	for part := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "Credential":
			scope := strings.Split(value, "/")
			if len(scope) != 5 {
				return signature{}, false
			}
			s.key, s.date, s.region, s.service = scope[0], scope[1], scope[2], scope[3]
		case "SignedHeaders":
			s.headers = strings.Split(value, ";")
		case "Signature":
			s.sum = value
		}
	}

	return s, s.key != "" && s.sum != "" && slices.Contains(s.headers, "host")
}

// authenticate checks the signature as AWS does. The caller holds mu.
func (c *Cloud) authenticate(r *http.Request, body []byte, service *api) error {
	s, ok := parseSignature(r.Header.Get("Authorization"))
	if !ok {
		return &apiError{http.StatusForbidden, "MissingAuthenticationToken", "Request is missing Authentication Token"}
	}
	known, ok := c.keys[s.key]
	switch {
	case !ok, known.token != r.Header.Get("X-Amz-Security-Token"):
		return service.unknownCaller()
	case !known.expires.IsZero() && !c.opts.Clock.Now().Before(known.expires):
		return service.expired()
	case !c.opts.AnyScope && s.region != c.opts.Region:
		return service.badSignature("Credential should be scoped to a valid region.")
	case !c.opts.AnyScope && s.service != service.scope:
		return service.badSignature("Credential should be scoped to correct service: '" + service.scope + "'.")
	case !hmac.Equal([]byte(s.sum), []byte(s.compute(r, body, c.signingKey(s, known.secret)))):
		return service.badSignature("The request signature we calculated does not match the signature you provided.")
	case c.role != "" && c.role != known.role && service.group != groupSTS:
		return service.rejected()
	}

	return nil
}

func (a *api) unknownCaller() error {
	if a.query {
		return &apiError{http.StatusForbidden, "InvalidClientTokenId", "The security token included in the request is invalid."}
	}

	return &apiError{http.StatusUnauthorized, "AuthFailure", "AWS was not able to validate the provided access credentials"}
}

func (a *api) expired() error {
	if a.query {
		return &apiError{http.StatusForbidden, "ExpiredToken", "The security token included in the request is expired"}
	}

	return fail("RequestExpired", "Request has expired.")
}

func (a *api) badSignature(message string) error {
	if a.query {
		return &apiError{http.StatusForbidden, "SignatureDoesNotMatch", message}
	}

	return &apiError{http.StatusUnauthorized, "AuthFailure", message}
}

func (a *api) rejected() error {
	if a.query {
		return &apiError{http.StatusForbidden, "AccessDenied", "User is not authorized to perform this action."}
	}

	return &apiError{http.StatusForbidden, "UnauthorizedOperation", "You are not authorized to perform this operation."}
}

// signingScope is what a signing key is for.
type signingScope struct{ secret, date, region, service string }

// signingKey returns the key of a signature, which is derived once for each day,
// region and service. The caller holds mu.
func (c *Cloud) signingKey(s signature, secret string) []byte {
	id := signingScope{secret, s.date, s.region, s.service}
	key, derived := c.signing[id]
	if !derived {
		key = []byte("AWS4" + secret)
		for _, part := range []string{s.date, s.region, s.service, "aws4_request"} {
			key = sign(key, part)
		}
		c.signing[id] = key
	}

	return key
}

func sign(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte(text)) // never fails

	return mac.Sum(nil)
}

// compute returns the Signature Version 4 of the request.
func (s signature) compute(r *http.Request, body, key []byte) string {
	var canonical strings.Builder
	canonical.WriteString(r.Method + "\n" + (&url.URL{Path: r.URL.Path}).EscapedPath() + "\n")
	canonical.WriteString(strings.ReplaceAll(r.URL.Query().Encode(), "+", "%20") + "\n")
	for _, name := range s.headers {
		canonical.WriteString(name + ":" + headerValue(r, name) + "\n")
	}
	sum := sha256.Sum256(body)
	canonical.WriteString("\n" + strings.Join(s.headers, ";") + "\n" + hex.EncodeToString(sum[:]))

	scope := strings.Join([]string{s.date, s.region, s.service, "aws4_request"}, "/")
	request := sha256.Sum256([]byte(canonical.String()))
	text := strings.Join([]string{signingAlgorithm, r.Header.Get("X-Amz-Date"), scope, hex.EncodeToString(request[:])}, "\n")

	return hex.EncodeToString(sign(key, text))
}

// headerValue returns a header as it is signed; the server moves two of them out
// of the header.
func headerValue(r *http.Request, name string) string {
	switch name {
	case "host":
		return r.Host
	case "content-length":
		if r.Header.Get(name) == "" {
			return strconv.Itoa(int(r.ContentLength))
		}
	}
	values := slices.Clone(r.Header.Values(name))
	for i, v := range values {
		values[i] = strings.Join(strings.Fields(v), " ")
	}

	return strings.Join(values, ",")
}
