// Package apierr maps the errors of all clouds to one set of sentinels.
//
// Each provider translates the errors of its SDK into these sentinels in one
// place; all other code uses errors.Is and never looks at texts or SDK
// types. What it promises: a marked error reads exactly as before, and both the
// sentinel and everything it wrapped are still found; each error has exactly one
// code out of a short fixed list.
package apierr

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"slices"
)

// What a failed cloud call can mean.
var (
	// ErrNotFound means that the cloud responded, and what was requested does
	// not exist.
	ErrNotFound = errors.New("not found")
	// ErrThrottled means that the cloud requires fewer requests.
	ErrThrottled = errors.New("throttled")
	// ErrDenied means that the credentials are wrong or may not do this.
	ErrDenied = errors.New("denied")
	// ErrUnavailable means that there was no usable response: the network, a
	// proxy or the service failed. Nothing is known about what was requested.
	ErrUnavailable = errors.New("unavailable")
	// ErrConflict means that the state of something does not allow the change
	// now: it exists already, is in use, or is being changed.
	ErrConflict = errors.New("conflict")
	// ErrInvalid means that the request itself is invalid; repeating it cannot
	// succeed.
	ErrInvalid = errors.New("invalid")
	// ErrQuota means that a quota or a limit of the account is used up. The request
	// is valid: it succeeds once something else is deleted or the limit is raised.
	ErrQuota = errors.New("quota exceeded")
)

// marked is an error with a meaning.
type marked struct {
	sentinel error
	err      error
}

// Mark says that err means sentinel. The text stays that of err; errors.Is and
// errors.As find the sentinel and whatever err wraps. Without an err the
// result is nil, and an error that means sentinel already is left alone.
func Mark(sentinel, err error) error {
	if err == nil || errors.Is(err, sentinel) {
		return err
	}

	return &marked{sentinel: sentinel, err: err}
}

// IsMarked reports whether err means any of the sentinels.
func IsMarked(err error) bool {
	return isAny(err, ErrNotFound, ErrThrottled, ErrDenied, ErrUnavailable, ErrConflict, ErrInvalid, ErrQuota)
}

// IsRefusal reports whether the cloud itself responded that it has done nothing.
func IsRefusal(err error) bool {
	return isAny(err, ErrNotFound, ErrThrottled, ErrDenied, ErrConflict, ErrInvalid, ErrQuota)
}

func isAny(err error, sentinels ...error) bool {
	return slices.ContainsFunc(sentinels, func(sentinel error) bool { return errors.Is(err, sentinel) })
}

// Has reports whether err is or wraps an error of type T.
func Has[T error](err error) bool {
	_, ok := errors.AsType[T](err)

	return ok
}

// Error is the text of the marked error.
func (m *marked) Error() string { return m.err.Error() }

// Unwrap returns the meaning first, so that the outermost mark is found first.
func (m *marked) Unwrap() []error { return []error{m.sentinel, m.err} }

// The codes that [Code] returns.
const (
	CodeOK          = "ok"
	CodeNotFound    = "not_found"
	CodeThrottled   = "throttled"
	CodeDenied      = "denied"
	CodeUnavailable = "unavailable"
	CodeUntrusted   = "untrusted"
	CodeConflict    = "conflict"
	CodeInvalid     = "invalid"
	CodeQuota       = "quota"
	CodeCanceled    = "canceled"
	CodeTimeout     = "timeout"
	CodeError       = "error"
)

// precedence is the order in which meanings are looked for. A given-up or late
// call is that first of all, whatever a transport made of it; then comes what is
// the most useful to an operator, and last what is certain only when nothing else
// failed.
var precedence = []struct {
	is   func(error) bool
	code string
}{
	{is(context.Canceled), CodeCanceled},
	{is(context.DeadlineExceeded), CodeTimeout},
	{isUntrusted, CodeUntrusted},
	{is(ErrThrottled), CodeThrottled},
	{is(ErrDenied), CodeDenied},
	{is(ErrQuota), CodeQuota},
	{is(ErrConflict), CodeConflict},
	{is(ErrInvalid), CodeInvalid},
	{isNetTimeout, CodeTimeout},
	{is(ErrUnavailable), CodeUnavailable},
	{is(ErrNotFound), CodeNotFound},
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func isNetTimeout(err error) bool {
	netErr, ok := errors.AsType[net.Error](err)

	return ok && netErr.Timeout()
}

// isUntrusted reports whether the certificate of the other side failed verification.
func isUntrusted(err error) bool {
	return Has[*tls.CertificateVerificationError](err) || Has[x509.UnknownAuthorityError](err) ||
		Has[x509.HostnameError](err) || Has[x509.CertificateInvalidError](err)
}

// Code is the meaning of err in one word, for a metric label or a log key. It
// is one of the Code constants, and [CodeError] if the error is not marked.
func Code(err error) string {
	if err == nil {
		return CodeOK
	}
	for _, p := range precedence {
		if p.is(err) {
			return p.code
		}
	}

	return CodeError
}

// Codes lists every result of [Code], in a fixed order.
func Codes() []string {
	return []string{
		CodeOK, CodeNotFound, CodeThrottled, CodeDenied, CodeUnavailable, CodeUntrusted,
		CodeConflict, CodeInvalid, CodeQuota, CodeCanceled, CodeTimeout, CodeError,
	}
}
