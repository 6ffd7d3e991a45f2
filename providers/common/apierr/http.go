package apierr

import (
	"errors"
	"io"
	"net"
	"net/http"
)

// FromStatus returns what the HTTP status of a response of the cloud means:
//
//	401, 403        ErrDenied
//	404             ErrNotFound
//	409             ErrConflict
//	429             ErrThrottled
//	500 and above   ErrUnavailable
//	others          nil: it depends on the API
//
// The status must come from the API itself: a proxy that responds with 404 knows
// nothing about what exists.
func FromStatus(code int) error {
	switch code {
	case http.StatusUnauthorized, http.StatusForbidden:
		return ErrDenied
	case http.StatusNotFound:
		return ErrNotFound
	case http.StatusConflict:
		return ErrConflict
	case http.StatusTooManyRequests:
		return ErrThrottled
	}
	if code >= http.StatusInternalServerError {
		return ErrUnavailable
	}

	return nil
}

// IsTransport reports whether the connection failed, so that no usable response
// came. Errors of a decoder that got half a response are the SDK's own, and not
// among them.
func IsTransport(err error) bool {
	if _, ok := errors.AsType[net.Error](err); ok {
		return true // *url.Error and context.DeadlineExceeded are such
	}

	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
