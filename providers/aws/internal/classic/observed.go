package classic

import (
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// LoadBalancer is a load balancer as AWS describes it. It has our name, but may
// not be ours. Fields that AWS did not return are empty.
type LoadBalancer struct {
	Name string
	// Cluster is the cluster of the caller.
	Cluster   cluster.ID
	DNSName   string
	VPC       string
	Scheme    string
	Listeners []Listener // by port
	Subnets   []string
	Zones     []string
	// SecurityGroups are IDs.
	SecurityGroups []string
	HealthCheck    HealthCheck
	Attributes     Attributes
	// Tags are nil if they could not be read.
	Tags      map[string]string
	Instances []string
	// Policies are the names of the existing policies, used or not.
	Policies []string
	// BackendPolicies are the names of the policies in use, by instance port.
	BackendPolicies map[int32][]string
}

// internal is the scheme of a load balancer inside the VPC.
const internal = "internal"

// NotOwned returns why the load balancer with our name must not be changed: it
// belongs to another cluster. Otherwise it is nil.
func (lb *LoadBalancer) NotOwned() error {
	if lb == nil {
		return nil
	}

	return lb.Cluster.NotOwned("load balancer "+lb.Name, lb.Tags)
}

// Hostname returns the hostname of the Service. It is empty if there is no load
// balancer of ours.
func (lb *LoadBalancer) Hostname() string {
	if lb == nil || lb.NotOwned() != nil {
		return ""
	}

	return lb.DNSName
}

// Reasons of warnings about settings that AWS does not change in a load
// balancer.
const (
	SchemeFixed  service.Reason = "LoadBalancerSchemeFixed"
	SubnetsFixed service.Reason = "LoadBalancerSubnetsFixed"
)

// Fixed warns of settings of the Service that cannot be applied to an existing
// load balancer.
func Fixed(m *Model, lb *LoadBalancer) []service.Warning {
	if m == nil || lb == nil || lb.NotOwned() != nil {
		return nil
	}
	var warnings []service.Warning
	if lb.Scheme != "" && (lb.Scheme == internal) != m.Internal {
		warnings = append(warnings, service.Warn(SchemeFixed,
			"Load balancer %s stays %s: AWS does not change the scheme of a load balancer; for annotation %s to take effect, delete and create the Service",
			lb.Name, lb.Scheme, request.AnnotationInternal))
	}
	if _, possible := m.move(lb); !possible {
		warnings = append(warnings, service.Warn(SubnetsFixed,
			"Load balancer %s stays in subnets %s: all are to be replaced, and AWS needs one that stays or one in another zone",
			lb.Name, strings.Join(lb.Subnets, ", ")))
	}

	return warnings
}
