package inventory

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/providerid"
)

// Scheme is the scheme of the provider IDs of AWS.
const Scheme = "aws"

const fargatePrefix = "fargate-"

// instancePattern matches the last part of an instance's provider ID. It is
// permissive: EC2 decides which IDs are well formed. It excludes characters
// that EC2 would interpret as a wildcard.
var instancePattern = regexp.MustCompile(`^i-[0-9A-Za-z_-]+$`)

// ParseProviderID returns the ID of an EC2 instance or the name of a Fargate
// node, which [IsFargate] recognizes, from a provider ID.
//
//	aws:///us-east-1a/i-0abc      i-0abc
//	aws:////i-0abc                i-0abc
//	aws://account/zone/i-0abc/    i-0abc
//	i-0abc                        i-0abc
//	aws:///zone/x/fargate-ip-…    fargate-ip-…
//
// Everything else is an error, in particular another scheme: a lookup would
// find nothing, and a Node whose instance is not found is deleted.
func ParseProviderID(text string) (id string, err error) {
	if providerid.Classify(Scheme, text) == providerid.Foreign {
		return "", fmt.Errorf("provider ID %q is not of %s", text, Scheme)
	}
	rest := strings.TrimRight(providerid.Rest(text), "/")
	id = rest[strings.LastIndexByte(rest, '/')+1:]
	if strings.Contains(rest, "://") || !instancePattern.MatchString(id) && !IsFargate(id) {
		return "", fmt.Errorf("provider ID %q is not %s", text, FormatProviderID("<zone>", "<instance>"))
	}

	return id, nil
}

// zoneRegion is the part of the name of an availability zone that is its
// region. The name of a local zone or Wavelength zone begins with its parent
// region (us-west-2-lax-1a, us-east-1-wl1-bos-wlz-1), see
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/using-regions-availability-zones.html
var zoneRegion = regexp.MustCompile(`^([a-zA-Z]+-)+\d+`)

// RegionOfZone returns the region of an availability zone, of a local zone or of
// a Wavelength zone. It is empty if the name does not contain it.
func RegionOfZone(zone string) string { return zoneRegion.FindString(zone) }

// RegionOf returns the region of a provider ID, from the zone in it. It is
// empty if the provider ID does not contain it.
func RegionOf(providerID string) string {
	parts := strings.Split(strings.TrimRight(providerid.Rest(providerID), "/"), "/")
	id, before := parts[len(parts)-1], parts[:len(parts)-1]
	if !IsFargate(id) && len(before) > 0 {
		before = before[len(before)-1:] // what comes before the zone may be any account
	}
	for _, part := range before {
		if region := RegionOfZone(part); region != "" {
			return region
		}
	}

	return ""
}

// FormatProviderID returns the provider ID of an instance.
func FormatProviderID(zone, id string) string {
	return providerid.Format(Scheme, "/"+zone+"/"+id)
}

// IsFargate reports whether a name in a provider ID is that of a Fargate node.
func IsFargate(id string) bool { return strings.HasPrefix(id, fargatePrefix) }

// IsInstanceID reports whether a text can be the ID of an EC2 instance.
func IsInstanceID(id string) bool { return instancePattern.MatchString(id) }
