package client

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// ErrClosed means that the client was closed.
var ErrClosed = apierr.Mark(apierr.ErrUnavailable, errors.New("client is closed"))

// Error is a failed request. It is marked with its meaning.
type Error struct {
	Service Service
	// Method and Path are those of the request, without its query.
	Method, Path string
	// Status is that of the response, zero if there was none.
	Status int
	// Type is the type of the error in the response, such as "itemNotFound" or
	// "OverQuota". It is empty if the service has no types.
	Type string
	// Message is what the service wrote, without secrets.
	Message string
	// RequestID is that of the response, for the logs of the service.
	RequestID string

	means      error  // a sentinel of apierr
	cause      error  // why there was no response
	sent       bool   // the request may have been received
	retryAfter string // the header or field of that name
	own        bool   // the response has the form of the service
	receipt    bool   // Keystone requires more methods
	permanent  bool   // a repetition cannot help
}

// Error has all but the query, which can be long.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s: ", e.Service, strings.TrimSpace(e.Method+" "+e.Path))
	if e.Status != 0 {
		fmt.Fprintf(&b, "%d ", e.Status)
	}
	if e.Type != "" {
		fmt.Fprintf(&b, "%s: ", e.Type)
	}
	b.WriteString(e.Message)
	if e.RequestID != "" {
		fmt.Fprintf(&b, " (%s)", e.RequestID)
	}

	return b.String()
}

// Unwrap returns the meaning and the cause.
func (e *Error) Unwrap() []error {
	var all []error
	if e.means != nil {
		all = append(all, e.means)
	}
	if e.cause != nil {
		all = append(all, e.cause)
	}

	return all
}

// WasSent reports whether the service may have received the request: it responded, or a
// connection was there.
func (e *Error) WasSent() bool { return e.Status != 0 || e.sent }

// isSafe reports whether a method changes nothing.
func isSafe(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// MayBeApplied reports whether a write that failed may have been carried out: there was
// no response, or a proxy or the service failed. The state must be read before it is
// written again. A write that was not sent because a login failed is not.
func MayBeApplied(err error) bool {
	e, ok := errors.AsType[*Error](err)

	return ok && e.Service != Identity && e.mayBeApplied()
}

func (e *Error) mayBeApplied() bool {
	if isSafe(e.Method) || errors.Is(e.means, apierr.ErrThrottled) {
		return false
	}
	switch {
	case e.Status == 0:
		return e.sent
	case e.Status < http.StatusMultipleChoices:
		return true // carried out, and the response cannot be read
	default:
		return e.Status >= http.StatusInternalServerError && e.Status != http.StatusNotImplemented
	}
}

// rule is a row of the table of what errors of services mean.
type rule struct {
	service Service // empty for all
	status  int     // zero for all
	kind    string  // the type of the error ends or begins with it; empty for all
	text    string  // the message has it, in small letters; empty for all
	means   error
}

// rules are what errors mean, apart from [apierr.FromStatus]. The first one that fits
// counts. Types and texts are those of the services:
// https://opendev.org/openstack/octavia/src/branch/master/octavia/common/exceptions.py,
// https://opendev.org/openstack/neutron-lib/src/branch/master/neutron_lib/exceptions,
// https://opendev.org/openstack/nova/src/branch/master/nova/exception.py.
var rules = []rule{
	{service: LoadBalancer, status: http.StatusForbidden, text: "quota has been met", means: apierr.ErrQuota},
	{service: LoadBalancer, status: http.StatusServiceUnavailable, text: "project busy", means: apierr.ErrThrottled},
	{service: Compute, status: http.StatusForbidden, text: "quota exceeded", means: apierr.ErrQuota},
	{service: Network, kind: "OverQuota", means: apierr.ErrQuota},
	{service: Network, kind: "RoutesExhausted", means: apierr.ErrQuota},
	{service: Network, kind: "AllowedAddressPairExhausted", means: apierr.ErrQuota},
	{service: Network, kind: "IpAddressGenerationFailure", means: apierr.ErrConflict},
	{service: Network, kind: "ExternalIpAddressExhausted", means: apierr.ErrConflict},
	{service: Network, kind: "AddressPairAndPortSecurityRequired", means: apierr.ErrInvalid},
	{service: Network, kind: "PortSecurityAndIPRequiredForSecurityGroups", means: apierr.ErrInvalid},
	{service: Network, status: http.StatusBadRequest, kind: "InUse", means: apierr.ErrConflict},
	{status: http.StatusNotImplemented, means: apierr.ErrInvalid},
	{status: http.StatusPreconditionFailed, means: apierr.ErrConflict},
	{status: http.StatusRequestTimeout, means: apierr.ErrUnavailable},
	{status: 498, means: apierr.ErrThrottled}, // rate limits of some gateways
}

func (r rule) fits(service Service, status int, f fault) bool {
	return (r.service == "" || r.service == service) &&
		(r.status == 0 || r.status == status) &&
		(r.kind == "" || strings.HasPrefix(f.kind, r.kind) || strings.HasSuffix(f.kind, r.kind)) &&
		(r.text == "" || strings.Contains(strings.ToLower(f.message), r.text))
}

// meaning returns what a response means that is not a success.
func meaning(service Service, method string, status int, f fault) error {
	for _, r := range rules {
		if r.fits(service, status, f) {
			return r.means
		}
	}
	switch {
	case status == http.StatusNotFound && !f.own:
		return apierr.ErrUnavailable // of a proxy, or of a path that does not exist
	case status == http.StatusNotFound && !isSafe(method) && method != http.MethodDelete:
		return apierr.ErrInvalid // something that the request names does not exist
	case status == http.StatusRequestEntityTooLarge && f.retryAfter != "":
		return apierr.ErrThrottled
	case status < http.StatusBadRequest:
		return apierr.ErrUnavailable
	}
	if means := apierr.FromStatus(status); means != nil {
		return means
	}

	return apierr.ErrInvalid
}

// fault is the content of the body of an error response.
type fault struct {
	kind, message, retryAfter string
	// own reports whether it has the form of the service; of Nova, only that of a 404.
	own bool
}

// isAboutPath reports whether the text of a 404 is that of a framework, for a path that the
// API does not have: then nothing is known about an object.
func isAboutPath(text string) bool {
	for _, generic := range []string{"The resource could not be found", "The requested URL was not found"} {
		if strings.HasPrefix(strings.TrimSpace(text), generic) {
			return true
		}
	}

	return false
}

// parseFault reads the body of an error response. Its 404 is not that of the service if it
// is about the path.
func parseFault(service Service, status int, body []byte) fault {
	f := parseForm(service, status, body)
	f.own = f.own && !isAboutPath(f.message)

	return f
}

// parseForm reads the body of an error response in the form of any service:
//
//	Nova      {"itemNotFound": {"code": 404, "message": "..."}}
//	Neutron   {"NeutronError": {"type": "PortNotFound", "message": "..."}}
//	Octavia   {"faultcode": "Client", "faultstring": "..."}
//	Keystone  {"error": {"code": 404, "title": "Not Found", "message": "..."}}
//	Barbican  {"code": 404, "title": "Not Found", "description": "..."}
//	Octavia   the same for the pool in the path of a member
func parseForm(service Service, status int, body []byte) fault {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return fault{message: http.StatusText(status) + ", without an error of the service"}
	}
	text := func(key string) string {
		var s string
		_ = json.Unmarshal(fields[key], &s) // empty if it is something else

		return s
	}
	if s := text("faultstring"); s != "" {
		return fault{message: s, own: service == LoadBalancer}
	}
	if raw, ok := fields["NeutronError"]; ok {
		return neutronFault(service, raw)
	}
	for _, key := range []string{"description", "message"} {
		if s := text(key); s != "" {
			own := service == KeyManager || service == LoadBalancer

			return fault{message: s, own: own && isNumber(fields["code"], status)}
		}
	}
	for key, raw := range fields {
		var inner struct {
			Code       json.Number     `json:"code"`
			Message    string          `json:"message"`
			RetryAfter json.RawMessage `json:"retryAfter"`
		}
		if json.Unmarshal(raw, &inner) != nil || inner.Message == "" && inner.Code == "" {
			continue
		}
		f := fault{kind: key, message: inner.Message, retryAfter: strings.Trim(string(inner.RetryAfter), `"`)}
		if key == "error" {
			f.kind, f.own = "", (service == Identity || service == KeyManager) && inner.Code.String() == fmt.Sprint(status)
		} else {
			f.own = service == Compute && key == "itemNotFound"
		}

		return f
	}

	return fault{message: http.StatusText(status)}
}

func neutronFault(service Service, raw json.RawMessage) fault {
	var inner struct{ Type, Message string }
	if json.Unmarshal(raw, &inner) != nil {
		_ = json.Unmarshal(raw, &inner.Message) // old releases have a text
	}

	return fault{kind: inner.Type, message: inner.Message, own: service == Network}
}

func isNumber(raw json.RawMessage, want int) bool {
	var got int

	return json.Unmarshal(raw, &got) == nil && got == want
}

// isUntrusted reports whether the certificate of a server was not accepted.
func isUntrusted(err error) bool {
	_, ok := errors.AsType[*tls.CertificateVerificationError](err)

	return ok
}

// noResponse returns the error of a request without a response.
func noResponse(ctx context.Context, e Error, cause error) *Error {
	e.cause, e.means = cause, apierr.ErrUnavailable
	e.permanent = isUntrusted(cause)
	switch {
	case ctx.Err() != nil: // that of the caller
		e.cause, e.permanent = context.Cause(ctx), true
		if errors.Is(e.cause, context.Canceled) {
			e.means = nil
		}
		e.Message = fmt.Sprintf("given up: %v", e.cause)
	case errors.Is(cause, context.DeadlineExceeded):
		e.Message = "no complete response in time"
	default:
		e.Message = cause.Error()
	}

	return &e
}

// finish returns the error of a call. What the SDK put around that of the transport is
// removed, and its own are marked: nothing is known from a response that cannot be read.
func finish(service Service, method string, err error) error {
	if err == nil {
		return nil
	}
	if call, ok := errors.AsType[*url.Error](err); ok {
		err = call.Err
	}
	if _, ok := errors.AsType[*Error](err); ok || apierr.IsMarked(err) || errors.Is(err, context.Canceled) {
		return err
	}
	if code, ok := errors.AsType[gophercloud.ErrUnexpectedResponseCode](err); ok {
		err = fmt.Errorf("unexpected status %d", code.Actual) // its text has the whole body
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}

	return badResponse(service, method, fmt.Errorf("decode response: %w", err))
}

// badResponse is the error of a success that cannot be used.
func badResponse(service Service, method string, reason error) error {
	return &Error{
		Service: service, Method: method, Status: http.StatusOK, Message: brief(reason.Error()),
		means: apierr.ErrUnavailable, cause: reason, sent: true,
	}
}
