package openstack

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ServiceSpec is a Kubernetes Service of type LoadBalancer as the controller of
// cloud-provider-openstack leaves it behind.
type ServiceSpec struct {
	// Cluster is the name of the cluster; default kubernetes.
	Cluster string
	// Namespace is the namespace; default default.
	Namespace string
	// Name is the name of the Service.
	Name string
	// UID is the UID of the Service. Only Group needs it.
	UID string
	// Region is the region's name; default the first one.
	Region string
	// Subnet is the ID of the subnet of the address and of the members.
	Subnet string
	// Ports are the ports of the Service.
	Ports []ServicePort
	// Nodes are the addresses of the nodes by name.
	Nodes map[string]string
	// Ranges are loadBalancerSourceRanges; default 0.0.0.0/0.
	Ranges []string
	// HealthCheckNodePort is that of externalTrafficPolicy Local; 0 for Cluster.
	HealthCheckNodePort int
	// NoMonitors leaves out the health monitors.
	NoMonitors bool
	// Serial is provider-requires-serial-api-calls: each member is made alone.
	Serial bool
	// FloatingNetwork is the ID of the network of its floating IP; empty for none.
	FloatingNetwork string
	// LegacyName is the name that very old releases gave the load balancer: an a and
	// the UID of the Service without dashes. Empty for that of today.
	LegacyName string
	// NoTags are releases, or clouds, without tags.
	NoTags bool
	// Shared is the ID of the load balancer of another Service that this one uses, too;
	// empty if it has its own.
	Shared string
	// Updated means that the nodes have changed since: the monitors of a Service that
	// shares have the name of the load balancer then.
	Updated bool
	// Group is manage-security-groups: the ports of the nodes have a group of the Service.
	Group bool
	// PortTags are releases that gave these ports a tag with the ID of the group.
	PortTags bool
}

// ServicePort is a port of a Service.
type ServicePort struct {
	// Protocol is TCP, UDP or SCTP.
	Protocol string
	// Port is the one of the Service, NodePort that of the nodes.
	Port, NodePort int
}

// AddServiceLoadBalancer adds the load balancer of a Service with the names, texts and
// tags of cloud-provider-openstack, its floating IP and its security group, and returns
// the ID of the load balancer (https://github.com/kubernetes/cloud-provider-openstack, docs/
// openstack-cloud-controller-manager/expose-applications-using-loadbalancer-type-service.md).
func (c *Cloud) AddServiceLoadBalancer(spec ServiceSpec) string {
	spec.Cluster, spec.Namespace = cmp.Or(spec.Cluster, "kubernetes"), cmp.Or(spec.Namespace, "default")
	about := "Kubernetes external service " + spec.Namespace + "/" + spec.Name + " from cluster " + spec.Cluster
	id := spec.Shared
	if id == "" {
		id = c.AddLoadBalancer(LoadBalancerSpec{
			Name: cmp.Or(spec.LegacyName, spec.balancer()), Description: about, Region: spec.Region, Subnet: spec.Subnet, Tags: spec.tags(),
			Listeners: c.listenersOf(spec),
		})
	} else {
		c.shareLoadBalancer(id, spec)
	}
	if spec.FloatingNetwork != "" {
		c.AddFloatingIP(FloatingIPSpec{
			Network: spec.FloatingNetwork, Port: c.LoadBalancer(id).VIPPort, Description: "Floating IP for " + about,
		})
	}
	if spec.Group {
		c.addServiceGroup(spec)
	}

	return id
}

// balancer is the name of the load balancer, and the tag of the Service.
func (s ServiceSpec) balancer() string {
	return cut("kube_service_" + s.Cluster + "_" + s.Namespace + "_" + s.Name)
}

func (s ServiceSpec) tags() []string {
	if s.NoTags {
		return nil
	}

	return []string{s.balancer()}
}

// listenersOf returns the listeners of a Service. Each allows the ranges where the API has
// them, also if these are all addresses.
func (c *Cloud) listenersOf(spec ServiceSpec) []ListenerSpec {
	list := make([]ListenerSpec, len(spec.Ports))
	for i, port := range spec.Ports {
		list[i] = ListenerSpec{
			Name: spec.part("listener", i), Protocol: port.Protocol, Port: port.Port, Tags: spec.tags(), Pool: spec.pool(i),
		}
		if spec.Updated && spec.Shared != "" {
			list[i].Pool.MonitorName = cut(fmt.Sprintf("monitor_%d_%s", i, c.LoadBalancer(spec.Shared).Name))
		}
		if c.opts.OctaviaMinor >= sinceCIDRs && c.opts.Profile != OVN {
			list[i].AllowedCIDRs = spec.ranges()
		}
	}

	return list
}

// part is the name of the part for a port.
func (s ServiceSpec) part(kind string, i int) string {
	return cut(fmt.Sprintf("%s_%d_%s", kind, i, s.balancer()))
}

func (s ServiceSpec) ranges() []string {
	if len(s.Ranges) == 0 {
		return []string{"0.0.0.0/0"}
	}

	return s.Ranges
}

// pool returns the pool for a port. Members that are made alone have other names and no
// subnet.
func (s ServiceSpec) pool(i int) *LBPoolSpec {
	port := s.Ports[i]
	p := &LBPoolSpec{Name: s.part("pool", i), MonitorName: s.part("monitor", i)}
	local := s.HealthCheckNodePort != 0
	if !s.NoMonitors {
		p.Monitor = map[string]string{"TCP": "TCP", "UDP": "UDP-CONNECT", "SCTP": "SCTP"}[port.Protocol]
		if local {
			p.Monitor, p.MonitorPath = "HTTP", "/healthz"
		}
	}
	for _, node := range sortedKeys(s.Nodes) {
		member := LBMemberSpec{Name: node, Address: s.Nodes[node], Port: port.NodePort, Subnet: s.Subnet}
		if s.Serial {
			member.Name, member.Subnet = cut(fmt.Sprintf("member_%s_%s_%d", node, member.Address, port.NodePort)), ""
		} else if local {
			member.MonitorPort = s.HealthCheckNodePort
		}
		p.Members = append(p.Members, member)
	}

	return p
}

// shareLoadBalancer adds the parts of a Service to the load balancer of another one.
func (c *Cloud) shareLoadBalancer(id string, spec ServiceSpec) {
	listeners := c.listenersOf(spec)
	c.inspect(func() {
		r, lb := c.lbOf(id)
		k := &call{
			cloud: c, region: r, target: target{region: r.name}, service: &service{},
			caller: &caller{projectID: lb.projectID, roles: []string{RoleAdmin}},
		}
		for _, l := range listeners {
			k.givenListener(lb, l)
		}
		lb.settings["tags"] = unique(slices.Concat(lb.texts("tags"), spec.tags()))
		for _, o := range r.octavia.parts(lb) {
			o.status = lbActive
		}
		lb.serving = r.octavia.lbServe(lb)
		c.lbGroup(r, lb)
		r.octavia.keep(lb)
	})
}

// addServiceGroup adds the security group of a Service, whose only rules are those for its
// node ports, to the ports of the nodes.
func (c *Cloud) addServiceGroup(spec ServiceSpec) {
	r := c.region(spec.Region)
	inside := r.neutron.subnets.get(spec.Subnet)
	var rules []SecurityRule
	if n := spec.HealthCheckNodePort; n != 0 {
		rules = append(rules, SecurityRule{Protocol: "tcp", From: n, To: n, Prefix: inside.cidr.String()})
	}
	from := []string{inside.cidr.String()}
	if c.opts.Profile == OVN {
		from = spec.ranges() // members see the addresses of clients
	}
	for _, port := range spec.Ports {
		for _, prefix := range from {
			rules = append(rules, SecurityRule{Protocol: strings.ToLower(port.Protocol), From: port.NodePort, To: port.NodePort, Prefix: prefix})
		}
	}
	id := c.AddSecurityGroup(SecurityGroupSpec{
		Name:        cut("lb-sg-" + spec.UID + "-" + spec.Namespace + "-" + spec.Name),
		Description: "Security Group for " + spec.Namespace + "/" + spec.Name + " Service LoadBalancer in cluster " + spec.Cluster,
		Region:      spec.Region, Rules: rules, NoEgress: true,
	})
	c.inspect(func() {
		for _, p := range r.neutron.ports.where(func(p *port) bool { return p.serves(spec, inside.id) }) {
			p.groups = sorted(append(slices.Clone(p.groups), id))
			if spec.PortTags {
				p.tags = sorted(append(slices.Clone(p.tags), id))
			}
			p.touch(c.now())
			r.neutron.keepAgain(p.id)
		}
	})
}

// serves reports whether a port has the address of a node of a Service in a subnet.
func (p *port) serves(spec ServiceSpec, subnet string) bool {
	return slices.ContainsFunc(p.fixedIPs, func(f fixedIP) bool {
		return f.subnetID == subnet && slices.Contains(slices.Collect(maps.Values(spec.Nodes)), f.ip.String())
	})
}

// cut is a text of at most 255 bytes.
func cut(text string) string { return strings.ToValidUTF8(text[:min(len(text), 255)], "") }
