package session

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// pollMax is the longest that a poll may wait for a change.
const pollMax = 10 * time.Minute

// retryDelays are those between two tries of a read: 200 ms, doubled up to 2 s, each
// made shorter or longer by up to a half.
var retryDelays = wait.Backoff{
	Duration: 100 * time.Millisecond, Factor: 2, Jitter: 2, Cap: time.Second, Steps: math.MaxInt,
}

// The services calls are counted under.
const (
	serviceVIM     = "vim"
	serviceSTS     = "sts"
	serviceREST    = "rest"
	serviceManager = "session-manager"
)

// countFunc counts a call on the wire. The function that it returns is called at its end.
type countFunc func(service, operation string) func(err error)

// caller sends the SOAP calls of one client: each counted, each with a deadline, and
// reads again if the network fails.
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
	delays := retryDelays
	for try := 1; ; try++ {
		err := c.once(ctx, method, req, res)
		if try >= c.tries || !isRead(method) || !isTransient(ctx, err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(delays.Step()):
		}
		// A truncated response must not be the beginning of the next one.
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

// statusKey is the context key of the HTTP status of a call.
type statusKey struct{}

// statusRecorder stores the HTTP status of each response for its call.
type statusRecorder struct {
	base http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (n statusRecorder) RoundTrip(req *http.Request) (*http.Response, error) {
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

// isRead reports whether a method may be sent twice. The request of a page of results
// may not: each can be fetched only once. A poll could, but the poller has to know that
// one was interrupted, so that the next does not wait as long.
func isRead(method string) bool {
	return slices.ContainsFunc([]string{"Retrieve", "Find", "Query", "CurrentTime"}, func(start string) bool {
		return strings.HasPrefix(method, start)
	})
}

// pollTime returns how long vCenter may take to respond to a poll, in addition to the
// time of a call: to collect the changes may take longer than the poll is to wait. The
// poller has a deadline of its own.
func pollTime(req soap.HasFault) time.Duration {
	switch req.(type) {
	case *methods.WaitForUpdatesExBody, *methods.WaitForUpdatesBody:
		return pollMax
	default:
		return 0
	}
}

// isTransient reports whether a call may succeed if it is repeated: it failed by a
// network error other than a time-out and an untrusted certificate.
func isTransient(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) || isUntrusted(err) {
		return false
	}
	if status, ok := errors.AsType[*statusError](err); ok {
		return status.code == http.StatusBadGateway ||
			status.code == http.StatusServiceUnavailable ||
			status.code == http.StatusGatewayTimeout
	}

	return isNetwork(err)
}

// isUntrusted reports whether the certificate of the server was refused.
func isUntrusted(err error) bool {
	return apierr.Has[*tls.CertificateVerificationError](err) || apierr.Has[x509.UnknownAuthorityError](err) ||
		apierr.Has[*thumbprintError](err)
}
