package network

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
)

// loadBalancerKey is the key under which a step stores the ARN of the load
// balancer.
func loadBalancerKey(name string) string { return "load-balancer " + name }

// HostnameKey is the key under which a step stores the DNS name of a load
// balancer that it made.
func HostnameKey(name string) string { return "hostname " + name }

// ListenerKey is the key under which a step stores the ARN of a load balancer that has
// a listener.
func ListenerKey(name string) string { return "load-balancer with a listener " + name }

// targetGroupKey is the key under which a step stores the ARN of a target group.
func targetGroupKey(name string) string { return "target-group " + name }

// attributesKey is the key under which a step stores the ARN of a target group
// whose attributes are set, targetsKey of one whose targets are registered.
func attributesKey(name string) string { return "target-group with attributes " + name }
func targetsKey(name string) string    { return "target-group with targets " + name }

// targetGroupName returns the name of a target group. It never changes:
// existing target groups are found by it.
func targetGroupName(id cluster.ID, service types.NamespacedName, port int32, group TargetGroup) string {
	return request.NamePrefix(service) + digest(id, service, port, group, "")
}

// spareSalt makes the second name different.
const spareSalt = "spare"

// spareName returns the second name of a target group.
func spareName(id cluster.ID, service types.NamespacedName, port int32, group TargetGroup) string {
	return request.NamePrefix(service) + digest(id, service, port, group, spareSalt)
}

// digestSize is the number of bytes of a digest in a name.
const digestSize = 5

func digest(id cluster.ID, service types.NamespacedName, port int32, group TargetGroup, salt string) string {
	text := owner(id, service) + strconv.Itoa(int(port)) + settings(group.Protocol, group.Port, group.HealthCheck) + salt
	// This is not for security: the names of existing target groups contain it.
	sum := sha1.Sum([]byte(text))

	return hex.EncodeToString(sum[:digestSize])
}

// owner and settings are the two parts of a name that do not depend on the port
// of the listener.
func owner(id cluster.ID, service types.NamespacedName) string {
	return id.Name + service.Namespace + service.Name
}

func settings(protocol elbv2types.ProtocolEnum, port int32, check HealthCheck) string {
	return fmt.Sprintf("%d%sinstance%s%d", port, protocol, check.Protocol, check.Interval)
}

// madeFor reports whether only target groups of this Service in this cluster
// with its settings can have the name. The port of the listener, which is also
// in the name, can be any.
func madeFor(id cluster.ID, service types.NamespacedName, group GroupState) bool {
	text, ok := strings.CutPrefix(group.Name, request.NamePrefix(service))
	want, err := hex.DecodeString(text)
	if !ok || err != nil || len(want) != digestSize || id.Name == "" || group.Type != elbv2types.TargetTypeEnumInstance {
		return false
	}
	input := []byte(owner(id, service))
	start, end := len(input), settings(group.Protocol, group.Port, group.HealthCheck)
	for port := range int64(math.MaxUint16) {
		input = append(strconv.AppendInt(input[:start], port+1, 10), end...)
		sum := sha1.Sum(input)
		spare := sha1.Sum(append(input, spareSalt...))
		if bytes.HasPrefix(sum[:], want) || bytes.HasPrefix(spare[:], want) {
			return true
		}
	}

	return false
}
