package client

import (
	"fmt"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/uuid"
)

// checkID returns an error for what is no UUID: services respond that it does not exist,
// whatever it is, and with a slash it would be another path.
func checkID(what, id string) error {
	if uuid.IsID(id) {
		return nil
	}

	return apierr.Mark(apierr.ErrInvalid, fmt.Errorf("%q is no ID of a %s", id, what))
}
