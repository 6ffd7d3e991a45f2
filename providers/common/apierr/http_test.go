package apierr_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

func TestFromStatus(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]error{
		http.StatusOK:                  nil,
		http.StatusFound:               nil,
		http.StatusBadRequest:          nil,
		http.StatusUnauthorized:        apierr.ErrDenied,
		http.StatusForbidden:           apierr.ErrDenied,
		http.StatusNotFound:            apierr.ErrNotFound,
		http.StatusRequestTimeout:      nil,
		http.StatusConflict:            apierr.ErrConflict,
		http.StatusTooManyRequests:     apierr.ErrThrottled,
		http.StatusInternalServerError: apierr.ErrUnavailable,
		http.StatusGatewayTimeout:      apierr.ErrUnavailable,
	} {
		if got := apierr.FromStatus(status); !errors.Is(got, want) || (got == nil) != (want == nil) {
			t.Errorf("FromStatus(%d) = %v, want %v", status, got, want)
		}
	}
}

func TestIsTransport(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		err    error
		want   bool
	}{
		"None":     {"no error", nil, false},
		"Own":      {"an error of the program", errors.New("own"), false},
		"Refused":  {"nothing listens", fmt.Errorf("x: %w", &net.OpError{Op: "dial", Err: errors.New("refused")}), true},
		"DNS":      {"the name is not known", &net.DNSError{Err: "no such host"}, true},
		"URL":      {"net/http wraps each error", &url.Error{Op: "Get", URL: "http://x", Err: errors.New("x")}, true},
		"Cut":      {"the connection ended within the response", fmt.Errorf("x: %w", io.ErrUnexpectedEOF), true},
		"Closed":   {"the connection ended before the response", io.EOF, true},
		"Deadline": {"no response in time", context.DeadlineExceeded, true},
		"Canceled": {"the caller gave up", context.Canceled, false},
		"Marked":   {"a sentinel does not concern the transport", apierr.ErrUnavailable, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := apierr.IsTransport(tc.err); got != tc.want {
				t.Errorf("%s: IsTransport(%v) = %t, want %t", tc.reason, tc.err, got, tc.want)
			}
		})
	}
}
