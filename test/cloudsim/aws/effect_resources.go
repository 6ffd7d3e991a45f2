package aws

import (
	"net/http"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// RejectResources is the effect that rejects a call of CreateTags or DeleteTags
// with one of the resources in it, as EC2 rejects the whole call because of
// one resource. The message is the same whichever it is: not every error of EC2
// names the resource, TagLimitExceeded for example does not. Other calls pass.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
func RejectResources(code, message string, resources ...string) simserver.Fault {
	reject := Error(http.StatusBadRequest, code, message)

	return func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
		for name, values := range r.Form {
			if strings.HasPrefix(name, "ResourceId.") && slices.Contains(resources, values[0]) {
				reject(w, r, apply)

				return
			}
		}
		apply.ServeHTTP(w, r)
	}
}
