package nodes

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/providerid"
)

// ProviderName is the registered name and the scheme of provider IDs.
const ProviderName = "vsphere"

// uuidPattern is a UUID in lower case.
var uuidPattern = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

var errEmptyID = errors.New("nodeID is empty")

// formatProviderID makes the provider ID of a VM from its BIOS UUID, as vCenter
// writes it. A VM without a UUID has none.
func formatProviderID(uuid string) string {
	if uuid == "" {
		return ""
	}

	return providerid.Format(ProviderName, strings.ToLower(uuid))
}

// parseProviderID returns the UUID in a provider ID, in lower case. The scheme can
// be missing. What is no UUID is an error: looking for it would find nothing,
// and a Node whose VM is not found is deleted.
func parseProviderID(id string) (uuid string, err error) {
	if kind := providerid.Classify(ProviderName, id); kind == providerid.Foreign {
		return "", fmt.Errorf("provider ID %q is not of %s", id, ProviderName)
	}
	uuid = normalUUID(providerid.Rest(id))
	switch {
	case uuid == "":
		return "", fmt.Errorf("provider ID %q: %w", id, errEmptyID)
	case !uuidPattern.MatchString(uuid):
		return "", fmt.Errorf("provider ID %q is not %s", id, providerid.Format(ProviderName, "<uuid>"))
	}

	return uuid, nil
}

func normalUUID(text string) string {
	return strings.ToLower(strings.TrimSpace(text))
}

// swapUUID reverses the byte order of a UUID's first three groups: firmware
// and guests disagree about it. Twice returns the UUID. What is no UUID stays
// as it is.
//
//	56492e42-22ad-3911-6d72-59cc8f26bc90
//	422e4956-ad22-1139-6d72-59cc8f26bc90
func swapUUID(text string) string {
	u := normalUUID(text)
	if !uuidPattern.MatchString(u) {
		return text
	}

	return u[6:8] + u[4:6] + u[2:4] + u[0:2] + "-" + u[11:13] + u[9:11] + "-" + u[16:18] + u[14:16] + u[18:]
}
