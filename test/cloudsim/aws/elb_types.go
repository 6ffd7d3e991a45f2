package aws

import (
	"maps"
	"slices"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simstate"
)

// Schemes of load balancers of both kinds.
const (
	SchemeInternetFacing = "internet-facing"
	SchemeInternal       = "internal"
)

// ClassicLoadBalancer is the state of a classic load balancer.
type ClassicLoadBalancer struct {
	Name           string
	DNSName        string
	Scheme         string
	VPC            string
	Subnets        []string
	Zones          []string
	SecurityGroups []string
	Listeners      []ClassicListener // by port
	HealthCheck    ClassicHealthCheck
	Attributes     ClassicAttributes
	Instances      []string                 // sorted
	Policies       map[string]ClassicPolicy // by name
	// BackendPolicies holds the policies of instance ports. A port stays here
	// when its listener goes, until its policies are taken away.
	BackendPolicies map[int32][]string
	Tags            map[string]string
}

// classicBalancer is the state of a classic load balancer.
type classicBalancer struct {
	ClassicLoadBalancer
	simstate.Created
	user       string // of its network interfaces
	registered map[string]time.Time
}

// ClassicListener is one front port.
type ClassicListener struct {
	Port             int32
	Protocol         string
	InstancePort     int32
	InstanceProtocol string
	Certificate      string
	Policies         []string
}

// ClassicHealthCheck is how instances are probed; times are seconds.
type ClassicHealthCheck struct {
	Target             string
	Interval           int32
	Timeout            int32
	HealthyThreshold   int32
	UnhealthyThreshold int32
}

// ClassicAttributes are the attributes of a classic load balancer.
type ClassicAttributes struct {
	CrossZone         bool
	IdleTimeout       int32
	Draining          bool
	DrainingTimeout   int32
	AccessLog         bool
	AccessLogInterval int32 // 0 until access logs are enabled
	AccessLogBucket   string
	AccessLogPrefix   string
	DesyncMitigation  string
}

// ClassicPolicy is a policy that was made for one load balancer.
type ClassicPolicy struct {
	Type       string
	Attributes map[string]string
}

// clone copies the load balancer so that the caller may keep and change it.
func (b *classicBalancer) clone() ClassicLoadBalancer {
	out := b.ClassicLoadBalancer
	out.Subnets = slices.Clone(b.Subnets)
	out.Zones = slices.Clone(b.Zones)
	out.SecurityGroups = slices.Clone(b.SecurityGroups)
	out.Instances = slices.Clone(b.Instances)
	out.Listeners = cloneListeners(b.Listeners)
	out.Policies = make(map[string]ClassicPolicy, len(b.Policies))
	for name, policy := range b.Policies {
		out.Policies[name] = ClassicPolicy{Type: policy.Type, Attributes: maps.Clone(policy.Attributes)}
	}
	out.BackendPolicies = make(map[int32][]string, len(b.BackendPolicies))
	for port, names := range b.BackendPolicies {
		out.BackendPolicies[port] = slices.Clone(names)
	}
	out.Tags = maps.Clone(b.Tags)

	return out
}

func cloneListeners(listeners []ClassicListener) []ClassicListener {
	out := slices.Clone(listeners)
	for i := range out {
		out[i].Policies = slices.Clone(out[i].Policies)
	}

	return out
}

// listener returns the listener of a front port, or nil.
func (b *classicBalancer) listener(port int32) *ClassicListener {
	for i := range b.Listeners {
		if b.Listeners[i].Port == port {
			return &b.Listeners[i]
		}
	}

	return nil
}

// backs reports whether a listener sends to the instance port.
func (b *classicBalancer) backs(instancePort int32) bool {
	return slices.ContainsFunc(b.Listeners, func(l ClassicListener) bool { return l.InstancePort == instancePort })
}
