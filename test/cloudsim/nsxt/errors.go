package nsxt

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// The modules that errors come from.
const (
	moduleCommon = "common-services"
	modulePolicy = "policy"
)

// Codes of errors that several rules use. Those without a source, and 101, 102, 401 and 604,
// have no stored one: clients should decide by the status.
const (
	codeValidation    = 255    // a field is not valid
	codeForeign       = 289    // another identity made the object
	codeRefusedLogin  = 403    // [operator] InvalidCredentials
	codeNotFound      = 600    // there is no such object
	codeBadPath       = 500012 // a path leads to no object
	codeInUse         = 500030 // [operator] ResourceInUse
	codePendingDelete = 500045 // [operator] NsxPendingDelete
	codeExists        = 500127 // [terraform] 1027
)

// apiError is an error response.
type apiError struct {
	status, code int
	module       string
	message      string
	header       http.Header
}

func (e *apiError) Error() string { return fmt.Sprintf("%d/%d: %s", e.status, e.code, e.message) }

// write sends the error in the form of the API.
func (e *apiError) write(w http.ResponseWriter) {
	maps.Copy(w.Header(), e.header)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.status)
	status := strings.ToUpper(strings.ReplaceAll(http.StatusText(e.status), " ", "_"))
	body := Object{"httpStatus": status, "module_name": e.module, "error_message": e.message}
	if e.code != 0 {
		body["error_code"] = e.code
	}
	_ = json.NewEncoder(w).Encode(body) // a client that is gone misses it
}

func invalid(format string, args ...any) *apiError {
	return &apiError{
		status: http.StatusBadRequest, code: codeValidation, module: moduleCommon,
		message: "Field level validation errors: " + fmt.Sprintf(format, args...),
	}
}

func notFound(path string) *apiError {
	return &apiError{status: http.StatusNotFound, code: codeNotFound, module: moduleCommon, message: "There is no object " + path + "."}
}

func badPath(path string) *apiError {
	return &apiError{
		status: http.StatusBadRequest, code: codeBadPath, module: modulePolicy,
		message: fmt.Sprintf("The path=[%s] is not valid.", path),
	}
}

// errorMessages are those of errors that [Fault] can return, by status and code, all in
// the table of nsx-operator or in [API] all_errors.
var errorMessages = map[[2]int]string{
	{400, 60508}:  "The search index is being rebuilt.",
	{400, 60514}:  "The search took too long.",
	{400, 60515}:  "The search index is out of sync.",
	{403, 98}:     "The XSRF token is not valid.",
	{403, 403}:    "The credentials are wrong, or the account is locked.",
	{403, 505}:    "There is no valid license for this feature.",
	{429, 0}:      "The client exceeded the request rate.",
	{500, 98}:     "A service cannot be reached.",
	{500, 99}:     "The client certificate is not trusted.",
	{500, 607}:    "The transaction was aborted.",
	{503, 60576}:  "The page is too large.",
	{400, 500042}: "The provider is not ready.",
}

// newError returns the error with a status and a code.
func newError(status, code int) *apiError {
	message, ok := errorMessages[[2]int{status, code}]
	if !ok {
		message = "Error " + strconv.Itoa(code) + "."
	}

	return &apiError{status: status, code: code, module: moduleCommon, message: message}
}

// Fault responds with an error of the API; nothing is applied. Code 0 leaves the code out.
func Fault(status, code int) simserver.Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { newError(status, code).write(w) }
}

// Redirect responds with 301 or 307 and the same path at another address, given with its
// scheme ([API] all_errors).
func Redirect(status int, address string) simserver.Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.Header().Set("Location", address+r.URL.RequestURI())
		w.WriteHeader(status)
	}
}
