package nodes

import (
	"fmt"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
)

// InstanceID returns the EC2 instance of a provider ID, or false if it
// contains none.
func InstanceID(providerID string) (id string, ok bool) {
	id, err := inventory.ParseProviderID(providerID)

	return id, err == nil && !inventory.IsFargate(id)
}

// isResourceName reports whether a host name contains the ID of its instance.
func isResourceName(nodeName string) bool { return strings.HasPrefix(nodeName, "i-") }

// resourceID returns the instance ID in a host name, with or without a domain.
func resourceID(nodeName string) (string, error) {
	id, _, _ := strings.Cut(nodeName, ".")
	if !inventory.IsInstanceID(id) {
		return "", fmt.Errorf("node name %q does not begin with the ID of an instance", nodeName)
	}

	return id, nil
}
