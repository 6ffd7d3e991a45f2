package request

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// namePart is how much of a namespace or a name is in the name of a thing.
	namePart = 8
	// hashPart is how much of a hash is.
	hashPart = 10
	// classicGroupPrefix begins the name of the security group of a classic load
	// balancer.
	classicGroupPrefix = "k8s-elb-"
)

// NamePrefix begins the names of things that are made for a Service with a
// network load balancer.
func NamePrefix(service types.NamespacedName) string {
	return "k8s-" + shorten(service.Namespace) + "-" + shorten(service.Name) + "-"
}

// NetworkGroupName is the name of the security group that is made for a network
// load balancer. ClusterName is the flag --cluster-name.
func NetworkGroupName(clusterName string, service types.NamespacedName, uid types.UID) string {
	sum := sha256.Sum256([]byte(clusterName + service.Name + service.Namespace + string(uid)))
	return NamePrefix(service) + hex.EncodeToString(sum[:])[:hashPart]
}

// ClassicGroupName is the name of the security group that is made for a classic
// load balancer.
func ClassicGroupName(loadBalancer string) string { return classicGroupPrefix + loadBalancer }

// shorten drops what is no letter or digit, and cuts the rest.
func shorten(text string) string {
	kept := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, text)
	return kept[:min(len(kept), namePart)]
}
