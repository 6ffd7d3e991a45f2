package request

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// namePart is the maximum length of a namespace or a name in the name of a
	// resource.
	namePart = 8
	// hashPart is the length of a hash in a name.
	hashPart = 10
	// classicGroupPrefix is the prefix of the name of the security group of a
	// classic load balancer.
	classicGroupPrefix = "k8s-elb-"
)

// NamePrefix returns the prefix of the names of resources that are created for
// a Service with a network load balancer.
func NamePrefix(service types.NamespacedName) string {
	return "k8s-" + shorten(service.Namespace) + "-" + shorten(service.Name) + "-"
}

// NetworkGroupName returns the name of the security group that is created for a
// network load balancer. ClusterName is the flag --cluster-name.
func NetworkGroupName(clusterName string, service types.NamespacedName, uid types.UID) string {
	sum := sha256.Sum256([]byte(clusterName + service.Name + service.Namespace + string(uid)))

	return NamePrefix(service) + hex.EncodeToString(sum[:])[:hashPart]
}

// ClassicGroupName returns the name of the security group that is created for a
// classic load balancer.
func ClassicGroupName(loadBalancer string) string { return classicGroupPrefix + loadBalancer }

// shorten removes everything but letters and digits, and truncates the rest.
func shorten(text string) string {
	kept := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}

		return -1
	}, text)

	return kept[:min(len(kept), namePart)]
}
