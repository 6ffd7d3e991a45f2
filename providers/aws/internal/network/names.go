package network

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
)

// LoadBalancerKey is the key under which a step learns the ARN of the load
// balancer.
func LoadBalancerKey(name string) string { return "load-balancer " + name }

// HostnameKey is the key under which a step learns the DNS name of a load
// balancer that it made.
func HostnameKey(name string) string { return "hostname " + name }

// targetGroupKey is the key under which a step learns the ARN of a target group.
func targetGroupKey(name string) string { return "target-group " + name }

// attributesKey is the key under which a step stores the ARN of a target group
// that has its attributes, targetsKey of one that has its targets.
func attributesKey(name string) string { return "target-group with attributes " + name }
func targetsKey(name string) string    { return "target-group with targets " + name }

// targetGroupName makes the name of a target group. It never changes: existing
// target groups are found by it.
func targetGroupName(id cluster.ID, service types.NamespacedName, port int32, group TargetGroup) string {
	return request.NamePrefix(service) + digest(id, service, port, group, "")
}

// spareName makes the second name of a target group.
func spareName(id cluster.ID, service types.NamespacedName, port int32, group TargetGroup) string {
	return request.NamePrefix(service) + digest(id, service, port, group, "spare")
}

func digest(id cluster.ID, service types.NamespacedName, port int32, group TargetGroup, salt string) string {
	check := group.HealthCheck
	text := id.Name + service.Namespace + service.Name +
		fmt.Sprintf("%d%d%sinstance%s%d", port, group.Port, group.Protocol, check.Protocol, check.Interval) + salt
	// It protects nothing: the names of existing target groups are made with it.
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])[:10]
}
