package aws

import (
	"errors"
	"net/http"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// apiError is an error response.
type apiError struct {
	Status  int
	Code    string
	Message string
}

// Error implements error.
func (e *apiError) Error() string { return e.Code + ": " + e.Message }

// internal is the error response to an unexpected error.
func internal(err error) *apiError {
	return &apiError{http.StatusInternalServerError, "InternalFailure", err.Error()}
}

func asAPIError(err error) *apiError {
	if e, ok := errors.AsType[*apiError](err); ok {
		return e
	}

	return internal(err)
}

// Error is the effect that responds with an error in the format of the called
// API; nothing is applied.
func Error(status int, code, message string) simserver.Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		writeError(w, r, &apiError{status, code, message})
	}
}

// Throttled is the effect that responds as the called API does when it is called
// too often: RequestLimitExceeded of EC2, ThrottlingException of network load
// balancing, Throttling of the others.
func Throttled() simserver.Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		problem := &apiError{http.StatusTooManyRequests, "Throttling", "Rate exceeded"}
		if service := serviceOf(r); service != nil {
			problem = service.throttled
		}
		writeError(w, r, problem)
	}
}

// Denied is the effect that responds as the called API does when the caller's
// policy lacks the action.
func Denied() simserver.Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		problem := &apiError{http.StatusForbidden, "UnauthorizedOperation", "You are not authorized to perform this operation."}
		if service := serviceOf(r); service == nil || service.query {
			problem = &apiError{http.StatusForbidden, "AccessDenied", "User is not authorized to perform this action."}
		}
		writeError(w, r, problem)
	}
}

func serviceOf(r *http.Request) *api {
	service, _ := r.Context().Value(apiKey{}).(*api)

	return service
}

// writeError responds in the API's format, or in plain text for instance
// metadata.
func writeError(w http.ResponseWriter, r *http.Request, problem *apiError) {
	if service := serviceOf(r); service != nil {
		service.renderError(w, problem)

		return
	}
	http.Error(w, problem.Message, problem.Status)
}
