package client

import (
	"fmt"
	"regexp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// uuidPattern is a UUID, also without dashes, as projects have it.
var uuidPattern = regexp.MustCompile(`^[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}$`)

func isID(s string) bool { return uuidPattern.MatchString(s) }

// checkID returns an error for what is no UUID: services respond that it does not exist,
// whatever it is, and with a slash it would be another path.
func checkID(what, id string) error {
	if isID(id) {
		return nil
	}

	return apierr.Mark(apierr.ErrInvalid, fmt.Errorf("%q is no ID of a %s", id, what))
}
