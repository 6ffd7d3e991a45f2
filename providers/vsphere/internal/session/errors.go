package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"slices"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// ErrClosed is the error of every call after Close.
var ErrClosed = errors.New("session is closed")

// errShortLived is the cause of the delay after several short-lived sessions.
var errShortLived = apierr.Mark(apierr.ErrUnavailable, errors.New("vCenter ends each session right after the login"))

// faultMeanings has the meaning of each fault of the SOAP API.
var faultMeanings = []struct {
	meaning error
	faults  []types.BaseMethodFault
}{
	{apierr.ErrDenied, []types.BaseMethodFault{
		&types.NotAuthenticated{}, &types.InvalidLogin{}, &types.NoPermission{}, &types.RestrictedByAdministrator{},
		&types.PasswordExpired{}, &types.NoClientCertificate{},
	}},
	{apierr.ErrNotFound, []types.BaseMethodFault{&types.ManagedObjectNotFound{}, &types.NotFound{}}},
	{apierr.ErrConflict, []types.BaseMethodFault{
		&types.AlreadyExists{}, &types.DuplicateName{}, &types.ResourceInUse{}, &types.ConcurrentAccess{},
		&types.TaskInProgress{}, &types.InvalidState{}, &types.InvalidPowerState{},
	}},
	{apierr.ErrInvalid, []types.BaseMethodFault{
		&types.InvalidArgument{}, &types.InvalidName{}, &types.InvalidProperty{}, &types.InvalidRequest{},
		&types.InvalidType{}, &types.InvalidCollectorVersion{}, &types.MethodNotFound{}, &types.NotImplemented{},
		&types.NotSupported{},
	}},
	{apierr.ErrUnavailable, []types.BaseMethodFault{
		&types.HostCommunication{}, &types.HostNotConnected{}, &types.HostNotReachable{}, &types.HttpFault{},
		&types.RequestCanceled{}, &types.SystemError{}, &types.Timedout{}, &types.UnexpectedFault{},
	}},
}

// classify marks an error of the SDK with its meaning. Errors that have one, those
// of a canceled context and unknown ones remain as they are.
func classify(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || apierr.IsMarked(err) {
		return err
	}
	if errors.Is(err, ErrClosed) {
		return apierr.Mark(apierr.ErrUnavailable, err)
	}
	for _, m := range faultMeanings {
		if slices.ContainsFunc(m.faults, func(f types.BaseMethodFault) bool { return fault.Is(err, f) }) {
			return apierr.Mark(m.meaning, err)
		}
	}
	if code := restStatus(err); code != 0 {
		return apierr.Mark(meaningOfREST(code), err)
	}
	if isNetwork(err) {
		return apierr.Mark(apierr.ErrUnavailable, err)
	}

	return err
}

// meaningOfREST is what the HTTP status of a REST call that failed means.
func meaningOfREST(code int) error { return cmp.Or(apierr.FromStatus(code), apierr.ErrUnavailable) }

// statusError is a response to a SOAP call that is not SOAP, with its HTTP status. It
// comes from a proxy, so it never means that an object does not exist.
type statusError struct {
	code int
	err  error
}

func (e *statusError) Error() string { return e.err.Error() }

// Unwrap returns the meaning and the error itself.
func (e *statusError) Unwrap() []error {
	switch e.code {
	case http.StatusUnauthorized, http.StatusForbidden:
		return []error{apierr.ErrDenied, e.err}
	case http.StatusTooManyRequests:
		return []error{apierr.ErrThrottled, e.err}
	default:
		return []error{apierr.ErrUnavailable, e.err}
	}
}

// restStatus is the HTTP status that made a REST call fail, or zero. The type of
// the client's errors is not exported and its test does not look through
// wrapping, so each error of the chain is tested.
func restStatus(err error) int {
	code := 0
	walk(err, func(err error) {
		for candidate := http.StatusUnauthorized; code == 0 && candidate < 600; candidate++ {
			if rest.IsStatusError(err, candidate) {
				code = candidate
			}
		}
	})

	return code
}

// walk calls visit for err and everything it wraps.
func walk(err error, visit func(error)) {
	if err == nil {
		return
	}
	visit(err)
	switch wrapper := err.(type) { //nolint:errorlint // unwraps all errors
	case interface{ Unwrap() error }:
		walk(wrapper.Unwrap(), visit)
	case interface{ Unwrap() []error }:
		for _, inner := range wrapper.Unwrap() {
			walk(inner, visit)
		}
	}
}

// isNetwork reports whether there was no usable response.
func isNetwork(err error) bool {
	// The others are a truncated response, or the page of a proxy.
	return apierr.IsTransport(err) ||
		apierr.Has[*xml.SyntaxError](err) || apierr.Has[xml.UnmarshalError](err) || apierr.Has[*json.SyntaxError](err)
}

// isWrongPassword reports whether vCenter refused a login because of the password, or
// because the account is locked, which has the same fault. Other reasons, such as a
// missing permission, lock no account.
func isWrongPassword(err error) bool {
	status, ok := errors.AsType[*statusError](err)

	return fault.Is(err, &types.InvalidLogin{}) || restStatus(err) == http.StatusUnauthorized ||
		ok && status.code == http.StatusUnauthorized
}

// mayBeApplied reports whether a call that failed may have been received all the
// same: it was sent, and there was no response.
func mayBeApplied(err error) bool {
	if !errors.Is(classify(err), apierr.ErrUnavailable) || isUntrusted(err) {
		return false
	}
	responded := restStatus(err) != 0
	walk(err, func(err error) {
		_, isStatus := err.(*statusError) //nolint:errorlint // walk unwraps
		dial, isNet := err.(*net.OpError) //nolint:errorlint // walk unwraps
		responded = responded || isStatus || soap.IsSoapFault(err) || isNet && dial.Op == "dial"
	})

	return !responded
}

// isSessionEnded reports whether vCenter has ended the session of a call.
func isSessionEnded(err error) bool {
	return fault.Is(err, &types.NotAuthenticated{}) || restStatus(err) == http.StatusUnauthorized
}
