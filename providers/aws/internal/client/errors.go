package client

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// Code returns the error code of the AWS API, such as InvalidInstanceID.NotFound, or
// empty for an error without one, and for errors of credentials.
func Code(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok && !isCredentials(err) {
		return api.ErrorCode()
	}

	return ""
}

// unknownCode is the SDK's code for a response without an error code: its status
// counts.
const unknownCode = "UnknownError"

// codeMeanings are the meanings of error codes, where the name of the code does not
// show it or is misleading.
var codeMeanings = []struct {
	meaning error
	codes   sets.Set[string]
}{
	{apierr.ErrDenied, sets.New(
		"AuthFailure", "AccessDenied", "AccessDeniedException", "Blocked", "ExpiredToken", "ExpiredTokenException",
		"IncompleteSignature", "InvalidAccessKeyId", "InvalidClientTokenId", "InvalidSignatureException",
		"InvalidIdentityToken", "IDPRejectedClaim", "MissingAuthenticationToken", "NotAuthorized", "OptInRequired",
		"PendingVerification", "RegionDisabledException", "RequestExpired", "RequestTimeTooSkewed",
		"SignatureDoesNotMatch", "SubscriptionRequired", "UnauthorizedOperation", "UnauthorizedAccess",
		"UnrecognizedClientException",
	)},
	{apierr.ErrUnavailable, sets.New(
		"IDPCommunicationError", "InternalError", "InternalFailure", "InternalServiceError", "RequestTimeout",
		"RequestTimeoutException", "ServiceUnavailable", "ServiceUnavailableException", "Unavailable",
	)},
	{apierr.ErrNotFound, sets.New("AllocationIdNotFound")},
	{apierr.ErrThrottled, sets.New("DependencyThrottle")},
	{apierr.ErrConflict, sets.New(
		"ConcurrentModification", "DependencyViolation", "IdempotentParameterMismatch", "IncorrectInstanceState",
		"IncorrectState", "InsufficientFreeAddressesInSubnet", "InvalidState", "OperationInProgress",
		"OperationNotPermitted", // deletion protection, the main route
		"Resource.AlreadyAssociated", "TargetGroupAssociationLimit",
	)},
	{apierr.ErrInvalid, sets.New(
		"DuplicateTagKeys", "FilterLimitExceeded", "IncompatibleProtocols", "InvalidInstanceID", "OutOfService",
		"UnknownParameter", "VPCIdNotSpecified", "ValidationError", "ValidationException",
	)},
}

// codeRules map patterns of error codes to their meaning. The first match
// counts.
var codeRules = []struct {
	fits    func(code string) bool
	meaning error
}{
	{ends("NotFound", "NotFoundException"), apierr.ErrNotFound},
	{ends("Duplicate", "AlreadyExists", "InUse"), apierr.ErrConflict},
	{starts("Duplicate"), apierr.ErrConflict},
	// Quotas: resources must be deleted before more can be created.
	{starts("TooMany"), apierr.ErrConflict},
	{ends("LimitExceeded", "QuotaExceeded"), apierr.ErrConflict},
	{starts("Invalid", "Malformed", "Missing", "Unsupported"), apierr.ErrInvalid},
}

func ends(suffixes ...string) func(string) bool {
	return func(code string) bool {
		return slices.ContainsFunc(suffixes, func(suffix string) bool { return strings.HasSuffix(code, suffix) })
	}
}

func starts(prefixes ...string) func(string) bool {
	return func(code string) bool {
		return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(code, prefix) })
	}
}

// classify marks an error of the SDK with its meaning. Errors of a canceled
// caller and unknown errors are returned unchanged.
func classify(service Service, err error) error {
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, apierr.ErrThrottled):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return apierr.Mark(apierr.ErrUnavailable, err)
	case isCredentials(err):
		return apierr.Mark(meaningOfCredentials(err), err)
	case throttled(err):
		return apierr.Mark(apierr.ErrThrottled, err)
	}
	if meaning := meaningOf(service, err); meaning != nil {
		return apierr.Mark(meaning, err)
	}

	return err
}

// meaningOfCredentials returns the meaning of an error of the credentials: the
// service that issues them is unavailable, or it denies them.
func meaningOfCredentials(err error) error {
	if isThrottlingError(err) || status(err) >= http.StatusInternalServerError || status(err) == 0 && isNetwork(err) {
		return apierr.ErrUnavailable
	}

	return apierr.ErrDenied
}

func meaningOf(service Service, err error) error {
	code := Code(err)
	for _, m := range codeMeanings {
		if m.codes.Has(code) {
			return m.meaning
		}
	}
	number := status(err)
	if number >= http.StatusInternalServerError {
		return apierr.ErrUnavailable
	}
	if code != unknownCode {
		for _, rule := range codeRules {
			if rule.fits(code) {
				return rule.meaning
			}
		}
	}
	if number != 0 {
		return meaningOfStatus(service, number, code)
	}
	if _, ok := errors.AsType[smithy.InvalidParamsError](err); ok {
		return apierr.ErrInvalid
	}
	if isNetwork(err) {
		return apierr.ErrUnavailable
	}

	return nil
}

// meaningOfStatus returns the meaning of a response whose error code is
// unknown.
func meaningOfStatus(service Service, number int, code string) error {
	meaning := apierr.FromStatus(number)
	switch {
	case meaning != nil && (number != http.StatusNotFound || service == ServiceIMDS):
		return meaning
	case number >= http.StatusBadRequest && code != "" && code != unknownCode:
		return apierr.ErrInvalid
	default:
		// The response is from a proxy: it proves nothing about what exists.
		return apierr.ErrUnavailable
	}
}

// isNetwork reports whether there was no usable response.
func isNetwork(err error) bool {
	return apierr.IsTransport(err) || apierr.Has[*smithyhttp.RequestSendError](err) ||
		apierr.Has[*smithy.DeserializationError](err) // an incomplete response, or the page of a proxy
}
