package nodes

import (
	"errors"
	"fmt"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/providerid"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/uuid"
)

// ProviderName is the name of this provider, and the scheme of its provider IDs.
const ProviderName = "openstack"

var errNoServerID = errors.New("it has no ID of a server, which is a UUID")

// providerIDs formats and parses the provider IDs of Nodes:
//
//	openstack:///<ID>            written by default
//	openstack://<region>/<ID>    written if regional
//	/<ID>, <region>/<ID>         read, too
type providerIDs struct {
	// region is that of the cloud-config. It may be empty.
	region string
	// regional puts the region into provider IDs.
	regional bool
}

// format returns the provider ID of a server.
func (p providerIDs) format(id string) string {
	if p.regional {
		return providerid.Format(ProviderName, p.region+"/"+id)
	}

	return providerid.Format(ProviderName, "/"+id)
}

// parse returns the ID of the server in a provider ID. What is no UUID is an error, since
// Nova responds to every text that there is no such server, and a Node without a server
// is deleted. For the same reason, a server of another region is an error.
func (p providerIDs) parse(text string) (id string, err error) {
	rest := text
	if strings.Contains(text, "://") {
		var ours bool
		if rest, ours = strings.CutPrefix(text, ProviderName+"://"); !ours {
			return "", fmt.Errorf("provider ID %q does not begin with %s://", text, ProviderName)
		}
	}
	region, id, ok := strings.Cut(rest, "/")
	if !ok || strings.Contains(id, "/") {
		return "", fmt.Errorf("provider ID %q is not %s://<region>/<ID>, where the region can be empty", text, ProviderName)
	}
	if id = strings.ToLower(id); !uuid.IsServerID(id) {
		return "", fmt.Errorf("provider ID %q: %w", text, errNoServerID)
	}
	if region != "" && region != p.region {
		return "", instance.WithReason(instance.ReasonOtherRegion,
			fmt.Errorf("provider ID %q is of the region %q, not of the region %q of the cloud-config", text, region, p.region))
	}

	return id, nil
}

// accepts returns an error if a provider ID cannot be one of this cloud. A server of
// another region is one: parse returns that error, with its own reason.
func (p providerIDs) accepts(text string) error {
	_, err := p.parse(text)
	if instance.ReasonOf(err) == instance.ReasonOtherRegion {
		return nil
	}

	return err
}

// ValidRegion reports whether a region can be part of a provider ID.
func ValidRegion(region string) bool { return !strings.Contains(region, "/") }
