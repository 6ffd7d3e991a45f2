package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// response is the error that the SDK returns for a response of an API.
func response(status int, code string) error {
	var err error
	if code != "" {
		err = &smithy.GenericAPIError{Code: code, Message: "message"}
	}

	return &retry.MaxAttemptsError{Attempt: 3, Err: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: err,
	}}
}

// TestCodes (FW-ERROR-1) goes through what the error codes of AWS mean.
func TestCodes(t *testing.T) {
	t.Parallel()
	meanings := map[error][]string{
		apierr.ErrThrottled: {
			"RequestLimitExceeded", "Throttling", "ThrottlingException", "TooManyRequests", "TooManyRequestsException", // AWS-API-2
			"RequestThrottled", "RequestThrottledException", "ThrottledException", "EC2ThrottledException", "SlowDown",
			"BandwidthLimitExceeded", "PriorRequestNotComplete", "DependencyThrottle",
		},
		apierr.ErrDenied: {
			"AuthFailure", "UnauthorizedOperation", "UnauthorizedAccess", "AccessDenied", "AccessDeniedException", "Blocked",
			"PendingVerification", "OptInRequired", "ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId",
			"MissingAuthenticationToken", "IncompleteSignature", "SignatureDoesNotMatch", "InvalidSignatureException",
			"RequestExpired", "UnrecognizedClientException", "InvalidIdentityToken", "RegionDisabledException",
		},
		apierr.ErrNotFound: {
			"InvalidInstanceID.NotFound", "InvalidGroup.NotFound", "InvalidPermission.NotFound", "InvalidSubnetID.NotFound",
			"InvalidVpcID.NotFound", "InvalidRoute.NotFound", "InvalidRouteTableID.NotFound", "InvalidNetworkInterfaceID.NotFound",
			"InvalidSecurityGroupID.NotFound", "InvalidAllocationID.NotFound", "AllocationIdNotFound",
			"LoadBalancerNotFound", "AccessPointNotFound", "ListenerNotFound", "PolicyNotFound", "PolicyTypeNotFound",
			"CertificateNotFound", "LoadBalancerAttributeNotFound", "SubnetNotFound", "TargetGroupNotFound", "SSLPolicyNotFound",
			"ResourceNotFoundException",
		},
		apierr.ErrConflict: {
			"InvalidPermission.Duplicate", "InvalidGroup.Duplicate", "RouteAlreadyExists", "DependencyViolation",
			"InvalidGroup.InUse", "InvalidIPAddress.InUse", "IncorrectState", "IncorrectInstanceState", "OperationNotPermitted",
			"Resource.AlreadyAssociated", "InvalidState", "InsufficientFreeAddressesInSubnet", "IdempotentParameterMismatch",
			"DuplicateLoadBalancerName", "DuplicateListener", "DuplicatePolicyName", "DuplicateTargetGroupName",
			"ResourceInUse", "PriorityInUse", "TargetGroupAssociationLimit", "OperationInProgress",
			"TooManyLoadBalancers", "TooManyTargetGroups", "TooManyTags", "TooManyTargets", "TooManyListeners",
			"SecurityGroupLimitExceeded", "RulesPerSecurityGroupLimitExceeded", "SecurityGroupsPerInterfaceLimitExceeded",
			"RouteLimitExceeded", "TagLimitExceeded",
		},
		apierr.ErrInvalid: {
			"InvalidInstanceID.Malformed", "InvalidID", "InvalidGroupId.Malformed", "InvalidParameterValue",
			"InvalidParameterCombination", "MissingParameter", "UnknownParameter", "ValidationError", "ValidationException",
			"UnsupportedOperation", "UnsupportedProtocol", "InvalidTarget", "InvalidSubnet", "InvalidSecurityGroup",
			"InvalidScheme", "InvalidConfigurationRequest", "InvalidInstance", "IncompatibleProtocols", "FilterLimitExceeded",
			"MalformedQueryString", "DuplicateTagKeys", "InvalidAction", "UnknownErrorCode",
		},
		apierr.ErrUnavailable: {
			"InternalError", "InternalFailure", "ServiceUnavailable", "Unavailable", "RequestTimeout", "InternalServiceError",
		},
	}
	for meaning, codes := range meanings {
		for _, code := range codes {
			err := classify(ServiceEC2, response(http.StatusBadRequest, code))
			if !errors.Is(err, meaning) || apierr.Code(err) != apierr.Code(meaning) {
				t.Errorf("%s means %q, want %q", code, apierr.Code(err), meaning)
			}
			if api, ok := errors.AsType[smithy.APIError](err); !ok || api.ErrorCode() != code || Code(err) != code {
				t.Errorf("%s must still be found in the error: %v", code, err)
			}
		}
	}
}

// TestClassify checks the class of responses with an unknown code, and what no
// response means.
func TestClassify(t *testing.T) {
	t.Parallel()
	send := func(err error) error { return &smithyhttp.RequestSendError{Err: err} }
	cases := map[string]struct {
		reason  string
		service Service
		err     error
		want    string
	}{
		"none":              {"", ServiceEC2, nil, apierr.CodeOK},
		"503":               {"no code", ServiceEC2, response(503, "UnknownError"), apierr.CodeUnavailable},
		"500 unknown code":  {"the status has precedence over the name", ServiceEC2, response(500, "InvalidSomething"), apierr.CodeUnavailable},
		"503 throttled":     {"AWS-API-2: the code counts before the status", ServiceEC2, response(503, "RequestLimitExceeded"), apierr.CodeThrottled},
		"429":               {"AWS-API-2: without a code", ServiceEC2, response(429, ""), apierr.CodeThrottled},
		"403":               {"a proxy", ServiceEC2, response(403, "UnknownError"), apierr.CodeDenied},
		"404 of a proxy":    {"never means that a resource does not exist", ServiceEC2, response(404, "UnknownError"), apierr.CodeUnavailable},
		"404 without body":  {"never means that a resource does not exist", ServiceEC2, response(404, ""), apierr.CodeUnavailable},
		"404 of metadata":   {"the metadata has no codes", ServiceIMDS, response(404, ""), apierr.CodeNotFound},
		"401 of metadata":   {"the metadata has no codes", ServiceIMDS, response(401, ""), apierr.CodeDenied},
		"409":               {"", ServiceEC2, response(409, "UnknownError"), apierr.CodeConflict},
		"200":               {"half a response", ServiceEC2, &smithy.DeserializationError{Err: io.ErrUnexpectedEOF}, apierr.CodeUnavailable},
		"refused":           {"", ServiceEC2, send(&net.OpError{Op: "dial", Err: errors.New("refused")}), apierr.CodeUnavailable},
		"eof":               {"", ServiceEC2, send(io.EOF), apierr.CodeUnavailable},
		"late":              {"time-outs are unavailable, too", ServiceEC2, &aws.RequestCanceledError{Err: context.DeadlineExceeded}, apierr.CodeTimeout},
		"given up":          {"the caller canceled", ServiceEC2, &aws.RequestCanceledError{Err: context.Canceled}, apierr.CodeCanceled},
		"bad parameters":    {"the SDK rejects them", ServiceEC2, smithy.InvalidParamsError{Context: "x"}, apierr.CodeInvalid},
		"unknown error":     {"", ServiceEC2, errors.New("what"), apierr.CodeError},
		"no credentials":    {"a missing role does not mean a missing instance", ServiceEC2, &credentialsError{response(404, "RoleNotFound")}, apierr.CodeDenied},
		"STS down":          {"", ServiceEC2, &credentialsError{response(503, "ServiceUnavailable")}, apierr.CodeUnavailable},
		"STS gone":          {"", ServiceEC2, &credentialsError{send(io.EOF)}, apierr.CodeUnavailable},
		"STS throttles":     {"EC2 does not", ServiceEC2, &credentialsError{response(400, "Throttling")}, apierr.CodeUnavailable},
		"no role at all":    {"", ServiceEC2, &credentialsError{errors.New("no EC2 IMDS role found")}, apierr.CodeDenied},
		"credentials, late": {"", ServiceEC2, &credentialsError{context.DeadlineExceeded}, apierr.CodeTimeout},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := classify(tc.service, tc.err)
			if apierr.Code(got) != tc.want {
				t.Errorf("%s: %q, want %q: %v", tc.reason, apierr.Code(got), tc.want, got)
			}
			if tc.err != nil && got.Error() != tc.err.Error() {
				t.Errorf("%s: the text must stay: %v", tc.reason, got)
			}
			if tc.want == apierr.CodeTimeout && !errors.Is(got, apierr.ErrUnavailable) {
				t.Errorf("%s: a time-out is unavailable: %v", tc.reason, got)
			}
			if isCredentials(tc.err) && (Code(got) != "" || errors.Is(got, apierr.ErrNotFound)) {
				t.Errorf("%s: the error must not be a result of the query: %v", tc.reason, got)
			}
		})
	}
}

// TestRetryable covers AWS-API-2: every way of AWS to throttle is retried, and
// nothing that cannot get better.
func TestRetryable(t *testing.T) {
	t.Parallel()
	retryer := newRetryer(Tuning{}.withDefaults())
	for code := range throttleCodes {
		if !retryer.IsErrorRetryable(response(400, code)) {
			t.Errorf("AWS-API-2: %s must be retried", code)
		}
	}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"429":       {response(429, ""), true},
		"503":       {response(503, "x"), true},
		"denied":    {response(403, "UnauthorizedOperation"), false},
		"not found": {response(400, "InvalidInstanceID.NotFound"), false},
		"conflict":  {response(400, "DependencyViolation"), false},
		"late":      {fmt.Errorf("x: %w", &aws.RequestCanceledError{Err: context.DeadlineExceeded}), false},
	} {
		if got := retryer.IsErrorRetryable(tc.err); got != tc.want {
			t.Errorf("%s: retryable %v, want %v", name, got, tc.want)
		}
	}
	if got := retryer.MaxAttempts(); got != 3 {
		t.Errorf("AWS-API-8: %d attempts, want 3", got)
	}
}
