package network

import (
	"crypto/sha1" //nolint:gosec // the names of existing target groups are made with it; it protects nothing
	"encoding/hex"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
)

// Names of things cut a namespace and a name to this length.
const shortLength = 8

// LoadBalancerKey is the key under which a step learns the ARN of the load
// balancer.
func LoadBalancerKey(name string) string { return "load-balancer " + name }

// HostnameKey is the key under which a step learns the DNS name of a load
// balancer that it made.
func HostnameKey(name string) string { return "hostname " + name }

// targetGroupKey is the key under which a step learns the ARN of a target group.
func targetGroupKey(name string) string { return "target-group " + name }

// TargetGroupPrefix begins the names of all target groups of a Service, and
// maybe of others.
func TargetGroupPrefix(service types.NamespacedName) string {
	return "k8s-" + short(service.Namespace) + "-" + short(service.Name) + "-"
}

// targetGroupName makes the name of a target group. It never changes: existing
// target groups are found by it.
func targetGroupName(id cluster.ID, service types.NamespacedName, port int32, group TargetGroup) string {
	return TargetGroupPrefix(service) + digest(id, service, port, group, "")
}

// spareName makes the second name of a target group.
func spareName(id cluster.ID, service types.NamespacedName, port int32, group TargetGroup) string {
	return TargetGroupPrefix(service) + digest(id, service, port, group, "spare")
}

func digest(id cluster.ID, service types.NamespacedName, port int32, group TargetGroup, salt string) string {
	check := group.HealthCheck
	text := id.Name + service.Namespace + service.Name +
		fmt.Sprintf("%d%d%sinstance%s%d", port, group.Port, group.Protocol, check.Protocol, check.Interval) + salt
	sum := sha1.Sum([]byte(text)) //nolint:gosec // as above
	return hex.EncodeToString(sum[:])[:10]
}

// short is what is left of a name without dashes and dots, cut.
func short(name string) string {
	kept := strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
			return r
		default:
			return -1
		}
	}, name)
	return kept[:min(len(kept), shortLength)]
}
