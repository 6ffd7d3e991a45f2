package session

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
)

const (
	// pollMax is the longest that a poll may wait for a change.
	pollMax = 10 * time.Minute
	// retryFirst and retryMax bound the pauses between two tries of a read.
	retryFirst = 200 * time.Millisecond
	retryMax   = 2 * time.Second
)

// The services calls are counted under.
const (
	serviceVIM     = "vim"
	serviceSTS     = "sts"
	serviceREST    = "rest"
	serviceManager = "session-manager"
)

// countFunc notes a call on the wire. What it returns notes its end.
type countFunc func(service, operation string) func(err error)

// caller sends the SOAP calls of one client: each counted, each with a deadline,
// reads again when the network fails.
type caller struct {
	client  *soap.Client
	service string
	count   countFunc
	timeout time.Duration
	tries   int
}

var _ soap.RoundTripper = (*caller)(nil)

// RoundTrip implements [soap.RoundTripper].
func (c *caller) RoundTrip(ctx context.Context, req, res soap.HasFault) error {
	method := methodOf(req)
	pause := retryFirst
	for try := 1; ; try++ {
		err := c.once(ctx, method, req, res)
		if try >= c.tries || !isRead(method) || !isPassing(ctx, err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause/2 + rand.N(pause)):
		}
		pause = min(2*pause, retryMax)
		// Half an answer must not be the beginning of the next one.
		reflect.ValueOf(res).Elem().SetZero()
	}
}

func (c *caller) once(ctx context.Context, method string, req, res soap.HasFault) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout+pollTime(req))
	defer cancel()
	status := 0
	done := c.count(c.service, method)
	err := c.client.RoundTrip(context.WithValue(ctx, statusKey{}, &status), req, res)
	if err != nil && status != 0 && status != http.StatusOK && status != http.StatusInternalServerError {
		err = &statusError{code: status, err: err}
	}
	err = classify(err)
	done(err)

	return err
}

// statusKey is where a call finds a place for its HTTP status.
type statusKey struct{}

// statusNoter notes the HTTP status of each answer for the call that wants it.
type statusNoter struct {
	base http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (n statusNoter) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := n.base.RoundTrip(req)
	if status, ok := req.Context().Value(statusKey{}).(*int); ok && err == nil {
		*status = res.StatusCode
	}

	return res, err
}

// methodOf is the name of a SOAP method, such as FindByUuid.
func methodOf(req soap.HasFault) string {
	return strings.TrimSuffix(reflect.TypeOf(req).Elem().Name(), "Body")
}

// isRead reports whether a method may be sent twice. A page of results may not: it
// can be fetched only once. A poll may, but the poller has to know that one was
// cut, so as not to wait for so long again.
func isRead(method string) bool {
	for _, start := range []string{"Retrieve", "Find", "Query", "CurrentTime"} {
		if strings.HasPrefix(method, start) {
			return true
		}
	}

	return false
}

// pollTime is how long vCenter itself may take to answer a poll, on top of the time
// for a call: to find out what has changed may take longer than the poll is meant
// to wait. The poller has a deadline of its own.
func pollTime(req soap.HasFault) time.Duration {
	switch req.(type) {
	case *methods.WaitForUpdatesExBody, *methods.WaitForUpdatesBody:
		return pollMax
	default:
		return 0
	}
}

// isPassing reports whether a call failed in a way that the next moment may mend: a
// network error other than a time-out and other than a lack of trust.
func isPassing(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) || isTrust(err) {
		return false
	}
	if status, ok := errors.AsType[*statusError](err); ok {
		return status.code == http.StatusBadGateway ||
			status.code == http.StatusServiceUnavailable ||
			status.code == http.StatusGatewayTimeout
	}

	return isNetwork(err)
}

// isTrust reports whether the certificate of the server was refused.
func isTrust(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return true
	}
	_, ok := errors.AsType[*thumbprintError](err)

	return ok
}
