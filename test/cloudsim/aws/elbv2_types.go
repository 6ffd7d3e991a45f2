package aws

import (
	"maps"
	"slices"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simstate"
)

// NetworkLoadBalancer is the state of a network load balancer.
type NetworkLoadBalancer struct {
	Name           string
	ARN            string
	DNSName        string
	Scheme         string
	VPC            string
	State          string // provisioning, active or active_impaired
	Mappings       []SubnetMapping
	SecurityGroups []string
	Listeners      []NetworkListener // by port
	TargetGroups   []TargetGroup     // those that its listeners forward to, by name
	Attributes     map[string]string
	Tags           map[string]string
}

// SubnetMapping is the subnet of a network load balancer in one zone.
type SubnetMapping struct {
	Subnet      string
	Zone        string
	Allocation  string // elastic IP
	PrivateIPv4 string
}

// NetworkListener is one front port.
type NetworkListener struct {
	ARN          string
	Port         int32
	Protocol     string
	TargetGroup  string // name
	Certificates []string
	Policy       string
	ALPN         []string
	Tags         map[string]string
}

// TargetGroup is where listeners forward to.
type TargetGroup struct {
	Name        string
	ARN         string
	VPC         string
	Protocol    string
	Port        int32
	TargetType  string
	HealthCheck TargetHealthCheck
	Targets     []Target // without those that are draining, by id and port
	Draining    []Target
	Attributes  map[string]string
	Tags        map[string]string
}

// TargetHealthCheck is how targets are probed; times are seconds.
type TargetHealthCheck struct {
	Protocol           string
	Port               string
	Path               string
	Matcher            string
	Interval           int32
	Timeout            int32
	HealthyThreshold   int32
	UnhealthyThreshold int32
}

// Target is one instance and port.
type Target struct {
	ID   string
	Port int32
}

// network is the state of a network load balancer.
type network struct {
	simstate.Created
	name, arn, dns, scheme, vpc string
	mappings                    []SubnetMapping
	groups                      []string
	grouped                     bool // made with security groups
	attributes, tags            map[string]string
	active                      time.Time // when it is, or will be
	impaired                    bool
}

// listener is the state of a listener of a network load balancer.
type listener struct {
	simstate.Created
	arn, balancer string // ARNs
	port          int32
	protocol      string
	group         string // ARN
	certificates  []string
	policy        string
	alpn          []string
	tags          map[string]string
}

// targetGroup is the state of a target group.
type targetGroup struct {
	simstate.Created
	name, arn, vpc   string
	protocol         string
	port             int32
	targetType       string
	check            TargetHealthCheck
	attributes, tags map[string]string
	targets          map[Target]*registration
	released         time.Time // when it is no longer in use by a listener that is gone
}

// registration is the state of a target in a group.
type registration struct {
	since    time.Time
	draining bool
	until    time.Time // end of draining
}

func (l *listener) clone() *listener {
	out := *l
	out.certificates = slices.Clone(l.certificates)
	out.alpn = slices.Clone(l.alpn)
	out.tags = maps.Clone(l.tags)

	return &out
}

// zones returns the zones of a network load balancer.
func (n *network) zones() []string {
	zones := make([]string, 0, len(n.mappings))
	for _, mapping := range n.mappings {
		zones = append(zones, mapping.Zone)
	}

	return zones
}
