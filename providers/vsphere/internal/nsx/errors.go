package nsx

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/drain"
)

// What errors of NSX-T mean, each marked as one of apierr.
var (
	// ErrStale means that an object was changed since it was read.
	ErrStale = apierr.Mark(apierr.ErrConflict, errors.New("changed since it was read"))
	// ErrExists means that an object to create exists.
	ErrExists = apierr.Mark(apierr.ErrConflict, errors.New("exists"))
	// ErrDeleting means that an object with this ID is still being deleted.
	ErrDeleting = apierr.Mark(apierr.ErrConflict, errors.New("being deleted"))
	// ErrInUse means that another object refers to an object to delete, or did until a
	// moment ago.
	ErrInUse = apierr.Mark(apierr.ErrConflict, errors.New("in use"))
	// ErrLogin means that the manager does not accept the credentials.
	ErrLogin = apierr.Mark(apierr.ErrDenied, errors.New("login refused"))
	// ErrLicense means that the license of the manager does not include what is called.
	ErrLicense = apierr.Mark(apierr.ErrDenied, errors.New("not licensed"))

	errPageSize = apierr.Mark(apierr.ErrInvalid, errors.New("page too large"))
)

// rule is a row of the table of what errors mean.
type rule struct {
	status, code int // zero for all
	means        error
}

// rules are what errors mean, apart from [apierr.FromStatus]. The first one that fits
// counts. The codes are those of
// https://developer.broadcom.com/xapis/nsx-t-data-center-rest-api/latest/errors/all_errors/ and of
// https://github.com/vmware-tanzu/nsx-operator/blob/main/pkg/nsx/util/utils.go.
var rules = []rule{
	{code: 500087, means: ErrStale},
	{code: 500232, means: ErrStale},
	{code: 100148, means: ErrStale},
	{code: 500090, means: ErrStale}, // with 404
	{code: 500127, means: ErrExists},
	{code: 500045, means: ErrDeleting},
	{code: 500030, means: ErrInUse},
	{code: 60508, means: apierr.ErrUnavailable}, // the search index is rebuilt
	{code: 60514, means: apierr.ErrUnavailable}, // the search took too long
	{code: 60515, means: apierr.ErrUnavailable}, // the search index is not in sync
	{code: 60576, means: errPageSize},           // with 503
	{status: http.StatusBadRequest, code: 255, means: errPageSize},
	{status: http.StatusInternalServerError, code: 99, means: ErrLogin}, // the client certificate
	{status: http.StatusUnauthorized, means: ErrLogin},
	{status: http.StatusForbidden, code: 403, means: ErrLogin},
	{status: http.StatusForbidden, code: 505, means: ErrLicense},
	{status: http.StatusConflict, means: ErrStale},
	{status: http.StatusPreconditionFailed, means: ErrStale},
	{status: http.StatusRequestTimeout, means: apierr.ErrUnavailable},
}

// Error is a failed call. It is marked with its meaning.
type Error struct {
	Method, Path string
	// Status is the HTTP status, zero without a response. Code is the error code of NSX-T,
	// zero if it is not the manager that responded.
	Status, Code int
	Message      string

	means error // a sentinel
	cause error // why there was no usable response
	sent  bool  // the manager may have received the request that it did not respond to
}

// Error has all but the query.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "NSX-T: %s %s: ", e.Method, e.Path)
	if e.Status != 0 {
		fmt.Fprintf(&b, "%d ", e.Status)
	}
	if e.Code != 0 {
		fmt.Fprintf(&b, "error code %d: ", e.Code)
	}

	return b.String() + e.Message
}

// Unwrap returns the meaning and the cause.
func (e *Error) Unwrap() []error {
	var all []error
	for _, err := range []error{e.means, e.cause} {
		if err != nil {
			all = append(all, err)
		}
	}

	return all
}

// responseError returns the error of a response that is not a success.
func responseError(r request, status int, body []byte) *Error {
	var content struct {
		HTTPStatus string `json:"httpStatus"`
		Code       int    `json:"error_code"`
		Message    string `json:"error_message"`
		Related    []struct {
			Message string `json:"error_message"`
		} `json:"related_errors"`
	}
	e := &Error{Method: r.method, Path: r.path, Status: status}
	if json.Unmarshal(body, &content) == nil {
		e.Code, e.Message = content.Code, content.Message
		for _, related := range content.Related {
			e.Message += "; " + related.Message
		}
	}
	e.Message = cmp.Or(e.Message, http.StatusText(status)+", without an error of NSX-T")
	e.means = meaning(status, e.Code, content.Code != 0 || content.HTTPStatus != "")

	return e
}

// meaning returns what a response means. own reports whether it is that of the manager.
func meaning(status, code int, own bool) error {
	for _, r := range rules {
		if (r.status == 0 || r.status == status) && (r.code == 0 || r.code == code) {
			return r.means
		}
	}
	switch means := apierr.FromStatus(status); {
	case status < http.StatusBadRequest, status == http.StatusNotFound && !own:
		return apierr.ErrUnavailable // a redirect that is not followed, or the 404 of a proxy
	case means != nil:
		return means
	}

	return apierr.ErrInvalid
}

// noResponse returns the error of a request without a complete response.
func noResponse(ctx context.Context, r request, cause error) *Error {
	if failed, ok := errors.AsType[*url.Error](cause); ok {
		cause = failed.Err // without the URL
	}
	e := &Error{Method: r.method, Path: r.path, Message: cause.Error(), means: apierr.ErrUnavailable, cause: cause}
	switch {
	case ctx.Err() != nil: // that of the caller
		e.cause = context.Cause(ctx)
		e.Message = "given up: " + e.cause.Error()
		if errors.Is(e.cause, context.Canceled) {
			e.means = nil
		}
	case errors.Is(cause, context.DeadlineExceeded):
		e.Message = "no complete response in time"
	}

	return e
}

// unreadable returns the error of a success whose response cannot be read.
func unreadable(r request, status int, cause error) *Error {
	return &Error{
		Method: r.method, Path: r.path, Status: status, Message: "read response: " + cause.Error(),
		means: apierr.ErrUnavailable, cause: cause,
	}
}

// isBusy reports whether the manager requires fewer calls.
func (e *Error) isBusy() bool {
	return e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable && e.means != errPageSize //nolint:errorlint // that of the table
}

// isTemporary reports whether the same call may succeed soon. 500 with 607 is a
// transaction that was aborted, with 98 a service of the manager that does not respond.
func (e *Error) isTemporary() bool {
	switch e.Status {
	case 0:
		timed, ok := errors.AsType[net.Error](e.cause)

		return (!ok || !timed.Timeout()) && !errors.Is(e.cause, drain.ErrClosed) && !apierr.Has[*tls.CertificateVerificationError](e.cause)
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	case http.StatusInternalServerError:
		return e.Code == 607 || e.Code == 98
	}

	return e.isBusy()
}
