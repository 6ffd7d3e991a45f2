// Package providerid reads and writes the spec.providerID of Nodes on AWS.
//
// What it promises: the written form never changes, every form that was ever
// written by a cloud controller manager for AWS is read, and whatever else a
// Node carries is an error, never a missing instance. It is pure.
package providerid

import (
	"fmt"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/providerid"
)

// Scheme begins every providerID on AWS.
const Scheme = "aws"

const (
	instancePrefix = "i-"
	fargatePrefix  = "fargate-"
)

// Format is the providerID of an instance: aws:///<zone>/<instance>.
func Format(zone, instance string) string {
	return providerid.Format(Scheme, "/"+zone+"/"+instance)
}

// Parse gives the ID of the instance or of the Fargate pod that a providerID
// names. That is the last part of the path behind aws://, or an instance ID
// alone.
func Parse(providerID string) (string, error) {
	if scheme, ok := providerid.Scheme(providerID); !ok {
		if isInstance(providerID) {
			return providerID, nil
		}
	} else if scheme == Scheme {
		_, path, _ := strings.Cut(providerid.Rest(providerID), "/")
		path = strings.Trim(path, "/")
		if id := path[strings.LastIndex(path, "/")+1:]; isInstance(id) || IsFargate(id) {
			return id, nil
		}
	}
	return "", apierr.Mark(apierr.ErrInvalid, fmt.Errorf("providerID %q names no EC2 instance", providerID))
}

// IsFargate says whether an ID that [Parse] gave is that of a Fargate pod,
// which is no instance.
func IsFargate(id string) bool { return strings.HasPrefix(id, fargatePrefix) }

// isInstance accepts what can be an instance ID and is no path.
func isInstance(id string) bool {
	return strings.HasPrefix(id, instancePrefix) && !strings.Contains(id, "/")
}
