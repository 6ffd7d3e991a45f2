package apierr_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

var sentinels = []error{
	apierr.ErrNotFound, apierr.ErrThrottled, apierr.ErrDenied,
	apierr.ErrUnavailable, apierr.ErrConflict, apierr.ErrInvalid, apierr.ErrQuota,
}

func TestMark(t *testing.T) {
	t.Parallel()

	cause := &fs.PathError{Op: "open", Path: "/x", Err: os.ErrNotExist}
	err := fmt.Errorf("describe subnets: %w", apierr.Mark(apierr.ErrDenied, cause))

	if want := "describe subnets: open /x: " + os.ErrNotExist.Error(); err.Error() != want {
		t.Errorf("text: got %q, want %q", err.Error(), want)
	}
	if !errors.Is(err, apierr.ErrDenied) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v must be the sentinel and its cause", err)
	}
	if got, ok := errors.AsType[*fs.PathError](err); !ok || got != cause {
		t.Errorf("the marked error is lost: got %v", got)
	}
	for _, other := range slices.DeleteFunc(slices.Clone(sentinels), func(s error) bool { return errors.Is(s, apierr.ErrDenied) }) {
		if errors.Is(err, other) {
			t.Errorf("%v must not be %v", err, other)
		}
	}
}

func TestMarkLeavesAlone(t *testing.T) {
	t.Parallel()

	if err := apierr.Mark(apierr.ErrDenied, nil); err != nil {
		t.Errorf("no error must stay none, got %v", err)
	}
	already := fmt.Errorf("get server: %w", apierr.ErrNotFound)
	if got := apierr.Mark(apierr.ErrNotFound, already); errors.Unwrap(got) == nil {
		t.Errorf("an error that means the sentinel must come back as it was, got %#v", got)
	}
}

// TestCode shows FW-ERROR-1.
func TestCode(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason string
		err    error
		want   string
	}{
		"NoError":     {"no error is a success", nil, "ok"},
		"Unmarked":    {"an unmarked error has the code of any error", errors.New("boom"), "error"},
		"NotFound":    {"a sentinel has its word", apierr.ErrNotFound, "not_found"},
		"Throttled":   {"wrapping does not hide it", fmt.Errorf("a: %w", apierr.ErrThrottled), "throttled"},
		"Denied":      {"both %w of one Errorf are seen", fmt.Errorf("a: %w: %w", apierr.ErrDenied, errors.New("b")), "denied"},
		"Unavailable": {"a mark is seen", apierr.Mark(apierr.ErrUnavailable, errors.New("b")), "unavailable"},
		"Conflict":    {"a mark below other wraps is seen", fmt.Errorf("x: %w", apierr.Mark(apierr.ErrConflict, errors.New("b"))), "conflict"},
		"Invalid":     {"a joined error is seen", errors.Join(errors.New("b"), apierr.ErrInvalid), "invalid"},
		"Quota":       {"a quota is no conflict, whatever status it came with", errors.Join(apierr.ErrConflict, apierr.ErrQuota), "quota"},
		"Canceled":    {"the caller gave up", fmt.Errorf("a: %w", context.Canceled), "canceled"},
		"Timeout":     {"the deadline passed", fmt.Errorf("a: %w", context.DeadlineExceeded), "timeout"},
		"NetTimeout":  {"a connection's own timeout is one too", &net.DNSError{Err: "slow", IsTimeout: true}, "timeout"},
		"NetRefused":  {"other network errors need a provider's mark", &net.DNSError{Err: "no such host"}, "error"},
		"Untrusted": {
			"a certificate that is not trusted is no outage, though the provider marks it as one",
			apierr.Mark(apierr.ErrUnavailable, &url.Error{Op: "Get", Err: &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}}), "untrusted",
		},
		"UntrustedHost":    {"the certificate of another host", fmt.Errorf("a: %w", x509.HostnameError{Certificate: &x509.Certificate{}, Host: "b"}), "untrusted"},
		"UntrustedExpired": {"an expired one", fmt.Errorf("a: %w", x509.CertificateInvalidError{Reason: x509.Expired}), "untrusted"},
		"CanceledWins": {
			"a canceled call is no outage, whatever the transport reports",
			apierr.Mark(apierr.ErrUnavailable, context.Canceled), "canceled",
		},
		"TimeoutWins": {
			"a late response is a timeout even if the provider marks it as unavailable",
			apierr.Mark(apierr.ErrUnavailable, &net.DNSError{IsTimeout: true}), "timeout",
		},
		"ThrottledTimeoutIsTold": {
			"what the cloud said beats the shape of the connection error",
			apierr.Mark(apierr.ErrThrottled, &net.DNSError{IsTimeout: true}), "throttled",
		},
		"DeniedBeatsNotFound": {
			"one region without, one that denies access: not found is not certain",
			errors.Join(apierr.ErrNotFound, apierr.ErrDenied), "denied",
		},
		"UnavailableBeatsNotFound": {
			"one place without, one that is down: not found is not certain",
			errors.Join(apierr.ErrNotFound, apierr.ErrUnavailable), "unavailable",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := apierr.Code(tc.err); got != tc.want {
				t.Errorf("%s: Code(%v) = %q, want %q", tc.reason, tc.err, got, tc.want)
			}
		})
	}
}

// Whatever is wrapped, marked and joined in whatever order: the text of a mark
// is its cause's, every sentinel put in is found again, and the code is known.
func TestAnyNesting(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		err := errors.New("cause")
		put := map[error]bool{}
		for range rapid.IntRange(0, 6).Draw(t, "depth") {
			before := err
			sentinel := rapid.SampledFrom(sentinels).Draw(t, "sentinel")
			switch rapid.IntRange(0, 2).Draw(t, "how") {
			case 0:
				err = apierr.Mark(sentinel, err)
				put[sentinel] = true
				if err.Error() != before.Error() {
					t.Fatalf("mark changed %q to %q", before, err)
				}
			case 1:
				err = fmt.Errorf("layer: %w", err)
			case 2:
				err = errors.Join(err, sentinel)
				put[sentinel] = true
			}
		}
		for _, s := range sentinels {
			if errors.Is(err, s) != put[s] {
				t.Fatalf("errors.Is(%v, %v) = %t, want %t", err, s, errors.Is(err, s), put[s])
			}
		}
		if got := apierr.IsMarked(err); got != (len(put) > 0) {
			t.Fatalf("IsMarked(%v) = %t with %d sentinels", err, got, len(put))
		}
		code := apierr.Code(err)
		if !slices.Contains(apierr.Codes(), code) {
			t.Fatalf("unknown code %q", code)
		}
		if (code == apierr.CodeError) != (len(put) == 0) {
			t.Fatalf("code %q with %d sentinels", code, len(put))
		}
	})
}
