package classic

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// Model is the desired classic load balancer of a Service.
type Model struct {
	Name    string
	Cluster cluster.ID
	// Internal takes effect only when the load balancer is created.
	Internal  bool
	Listeners []Listener // in the order of the Service ports
	// Full means that AWS has not accepted new listeners beside others: those that are not wanted are
	// deleted first.
	Full    bool
	Subnets []Subnet
	// SecurityGroups are the desired groups, the primary one first.
	SecurityGroups []plan.Ref
	Tags           map[string]string
	HealthCheck    HealthCheck
	Attributes     Attributes
	// ProxyProtocol enables the PROXY protocol on all instance ports.
	ProxyProtocol bool
	// Instances are the IDs of the instances behind all listeners, sorted.
	// Resting are instances that AWS would not accept now, but that stay if
	// they are registered.
	Instances, Resting []string
}

// Subnet is the subnet of a load balancer in one zone.
type Subnet struct {
	ID, Zone string
}

// Listener is a front port and the instance port that it sends to. Protocols
// are in capital letters.
type Listener struct {
	Port             int32
	Protocol         string
	InstancePort     int32
	InstanceProtocol string
	Certificate      string
	// Policies are the names of its policies. Nil in a Model means any.
	Policies []string
}

// String describes the listener in a few words, without its policies.
func (l Listener) String() string {
	text := fmt.Sprintf("%d/%s to %d/%s", l.Port, l.Protocol, l.InstancePort, l.InstanceProtocol)
	if l.Certificate != "" {
		text += " with " + l.Certificate
	}

	return text
}

// same reports whether two listeners are the same except for their policies.
func (l Listener) same(o Listener) bool {
	return l.Port == o.Port && l.InstancePort == o.InstancePort &&
		strings.EqualFold(l.Protocol, o.Protocol) &&
		strings.EqualFold(l.InstanceProtocol, o.InstanceProtocol) &&
		strings.EqualFold(l.Certificate, o.Certificate)
}

// HealthCheck defines how instances are probed; times are seconds.
type HealthCheck struct {
	// Target is protocol, port and path, such as HTTP:80/healthz.
	Target             string
	Interval           int32
	Timeout            int32
	HealthyThreshold   int32
	UnhealthyThreshold int32
}

// String describes the health check in a few words.
func (h HealthCheck) String() string {
	return fmt.Sprintf("%s every %ds within %ds %d/%d",
		h.Target, h.Interval, h.Timeout, h.HealthyThreshold, h.UnhealthyThreshold)
}

// Attributes are the attributes of the load balancer. Settings of a disabled
// feature are zero, and so do not count.
type Attributes struct {
	CrossZone   bool
	IdleTimeout int32 // seconds
	Draining    bool
	// DrainingTimeout is in seconds.
	DrainingTimeout int32
	AccessLog       bool
	// AccessLogInterval is in minutes.
	AccessLogInterval int32
	AccessLogBucket   string
	AccessLogPrefix   string
}

// The defaults of AWS for a new load balancer.
const (
	defaultIdleTimeout       = 60
	defaultDrainingTimeout   = 300
	defaultAccessLogInterval = 60
)

// defaultAttributes are the attributes of a new load balancer.
func defaultAttributes() Attributes { return Attributes{IdleTimeout: defaultIdleTimeout} }

// normal makes attributes comparable.
func (a Attributes) normal() Attributes {
	a.IdleTimeout = cmp.Or(a.IdleTimeout, defaultIdleTimeout)
	switch {
	case !a.Draining:
		a.DrainingTimeout = 0
	case a.DrainingTimeout == 0:
		a.DrainingTimeout = defaultDrainingTimeout
	}
	switch {
	case !a.AccessLog:
		a.AccessLogInterval, a.AccessLogBucket, a.AccessLogPrefix = 0, "", ""
	case a.AccessLogInterval == 0:
		a.AccessLogInterval = defaultAccessLogInterval
	}

	return a
}

// String lists all attributes.
func (a Attributes) String() string {
	draining, log := "off", "off"
	if a.Draining {
		draining = fmt.Sprintf("%ds", a.DrainingTimeout)
	}
	if a.AccessLog {
		log = fmt.Sprintf("%s/%s every %dm", a.AccessLogBucket, a.AccessLogPrefix, a.AccessLogInterval)
	}

	return fmt.Sprintf("cross-zone %t, idle timeout %ds, draining %s, access log %s", a.CrossZone, a.IdleTimeout, draining, log)
}

// HostnameKey is the key under which a step stores the DNS name of a load
// balancer that it created.
func HostnameKey(name string) string { return "hostname " + name }

// listenerKey is the key under which a step stores that a listener was created,
// policyKey the one for a policy.
func listenerKey(balancer string, port int32) string {
	return fmt.Sprintf("listener %d of %s", port, balancer)
}
func policyKey(balancer, name string) string { return "policy " + name + " of " + balancer }

// The policies that are created for a load balancer. Their names never change.
const (
	proxyPolicy       = "k8s-proxyprotocol-enabled"
	negotiationPrefix = "k8s-SSLNegotiationPolicy-"
)

// policy is a policy to be created.
type policy struct {
	name, kind, attribute, value string
}

// policyNamed returns the policy for one of the names above.
func policyNamed(name string) policy {
	if name == proxyPolicy {
		return policy{name: name, kind: "ProxyProtocolPolicyType", attribute: "ProxyProtocol", value: "true"}
	}

	return policy{
		name: name, kind: "SSLNegotiationPolicyType",
		attribute: "Reference-Security-Policy", value: strings.TrimPrefix(name, negotiationPrefix),
	}
}
