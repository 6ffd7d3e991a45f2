package openstack

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
)

// LoadBalancerSpec is a load balancer to add, ACTIVE with all its parts. Subnet is
// needed.
type LoadBalancerSpec struct {
	// Name is the name, which need not be unique.
	Name string
	// Description is the description.
	Description string
	// Region is the region's name; default the first one.
	Region string
	// Project is the name of its project; default [ProjectCCM].
	Project string
	// Provider is the provider; default that of the cloud.
	Provider string
	// Subnet is the ID of the subnet of its address.
	Subnet string
	// Address is the virtual IP address; default the next free one.
	Address string
	// Tags are its tags.
	Tags []string
	// VIPGroups are the IDs of the security groups of its address, which need version 2.29.
	VIPGroups []string
	// Listeners are the listeners, with their pools.
	Listeners []ListenerSpec
}

// ListenerSpec is a listener with its pool. Protocol and Port are needed.
type ListenerSpec struct {
	// Name is the name of the listener.
	Name string
	// Protocol is one of Octavia's: TCP, UDP, HTTP.
	Protocol string
	// Port is the port.
	Port int
	// Tags are the tags of the listener.
	Tags []string
	// AllowedCIDRs are the prefixes that it allows; none for all.
	AllowedCIDRs []string
	// Settings are further attributes, as in responses: "connection_limit": 5.
	Settings map[string]any
	// Pool is its default pool; nil for none.
	Pool *LBPoolSpec
}

// LBPoolSpec is a pool with its members.
type LBPoolSpec struct {
	// Name is the name of the pool.
	Name string
	// Protocol is one of Octavia's; default that of the listener.
	Protocol string
	// Algorithm is lb_algorithm; default ROUND_ROBIN, and SOURCE_IP_PORT for OVN.
	Algorithm string
	// SourceIP adds session persistence by the client's address.
	SourceIP bool
	// Members are the members.
	Members []LBMemberSpec
	// Monitor is the type of the health monitor; empty for none.
	Monitor string
	// MonitorName is the name of the health monitor.
	MonitorName string
	// MonitorPath is what a health monitor of type HTTP requests; default /.
	MonitorPath string
}

// LBMemberSpec is a member. Address and Port are needed.
type LBMemberSpec struct {
	// Name is the name of the member.
	Name string
	// Address and Port are where it is.
	Address string
	Port    int
	// Subnet is the ID of its subnet; empty for none.
	Subnet string
	// MonitorPort is where its health is checked; 0 for Port.
	MonitorPort int
	// Settings are further attributes, as in responses: "weight": 5.
	Settings map[string]any
}

// AddLoadBalancer adds a load balancer with its port in Neutron, and returns its ID.
// It panics when Octavia would refuse it.
func (c *Cloud) AddLoadBalancer(spec LoadBalancerSpec) string {
	var id string
	c.inspect(func() {
		r := c.region(spec.Region)
		project := c.keystone.project(cmp.Or(spec.Project, ProjectCCM)).id
		k := &call{
			cloud: c, region: r, target: target{region: r.name}, service: &service{},
			caller: &caller{projectID: project, roles: []string{RoleAdmin}},
		}
		lb := k.givenLoadBalancer(project, spec)
		for _, l := range spec.Listeners {
			k.givenListener(lb, l)
		}
		for _, o := range r.octavia.parts(lb) {
			o.status = lbActive
		}
		lb.given, lb.serving = true, r.octavia.lbServe(lb)
		c.lbGroup(r, lb)
		r.octavia.keep(lb)
		id = lb.id
	})

	return id
}

func (k *call) givenLoadBalancer(project string, spec LoadBalancerSpec) *lbObject {
	lb := k.lbNew(lbLoadBalancers, project, object{
		"name": spec.Name, "description": spec.Description, "tags": slices.Clone(spec.Tags),
		"vip_sg_ids": append([]string{}, spec.VIPGroups...), "provider": cmp.Or(spec.Provider, k.cloud.providersOf(k.region.octavia)[0]),
	})
	lb.lb = lb.id
	n := k.region.neutron.subnets.get(spec.Subnet)
	if n == nil {
		panic("openstack: no subnet " + spec.Subnet)
	}
	v := &vipChoice{network: n.networkID, subnet: n.id}
	if spec.Address != "" {
		v.address = netip.MustParseAddr(spec.Address)
	}
	must(k.lbTakeVIP(lb, v))

	return lb
}

func (k *call) givenListener(lb *lbObject, spec ListenerSpec) {
	values := object{"name": spec.Name, "protocol": spec.Protocol, "protocol_port": spec.Port, "tags": slices.Clone(spec.Tags)}
	if spec.AllowedCIDRs != nil {
		values["allowed_cidrs"] = slices.Clone(spec.AllowedCIDRs)
	}
	maps.Copy(values, spec.Settings)
	if spec.Pool != nil {
		values["default_pool_id"] = k.givenPool(lb, spec).id
	}
	_, err := k.lbAddListener(lb, values)
	must(err)
}

func (k *call) givenPool(lb *lbObject, l ListenerSpec) *lbObject {
	spec := l.Pool
	algorithm := "ROUND_ROBIN"
	if lb.text("provider") == providerOVN {
		algorithm = "SOURCE_IP_PORT"
	}
	values := object{
		"name": spec.Name, "protocol": cmp.Or(spec.Protocol, l.Protocol), "lb_algorithm": cmp.Or(spec.Algorithm, algorithm),
	}
	if spec.SourceIP {
		values["session_persistence"] = lbPersistence.complete(object{"type": "SOURCE_IP"})
	}
	p, err := k.lbAddPool(lb, values)
	must(err)
	if spec.Monitor != "" {
		monitor := object{"name": spec.MonitorName, "type": spec.Monitor, "delay": 5, "timeout": 3, "max_retries": 1}
		if spec.MonitorPath != "" {
			monitor["url_path"] = spec.MonitorPath
		}
		_, err := k.lbAddMonitor(p, monitor)
		must(err)
	}
	for _, m := range spec.Members {
		values := object{"name": m.Name, "address": m.Address, "protocol_port": m.Port}
		if m.Subnet != "" {
			values["subnet_id"] = m.Subnet
		}
		if m.MonitorPort != 0 {
			values["monitor_port"] = m.MonitorPort
		}
		maps.Copy(values, m.Settings)
		_, err := k.lbAddMember(p, values, k.lbPairs(p))
		must(err)
	}

	return p
}

// AddL7Policy adds a policy to a listener that leads to a pool, as users do, and
// returns its ID. The pool cannot be deleted while it is there.
func (c *Cloud) AddL7Policy(listener, pool string) string {
	var id string
	c.inspect(func() {
		l := c.partOf(listener)
		for _, r := range c.regions {
			if r.octavia.listeners.get(listener) != l {
				continue
			}
			k := &call{cloud: c, region: r, caller: &caller{projectID: l.projectID, roles: []string{RoleAdmin}}}
			policy, err := k.lbAddPolicy(l, object{"action": "REDIRECT_TO_POOL", "redirect_pool_id": pool})
			must(err)
			policy.status = lbActive
			id = policy.id
		}
	})

	return id
}

// RemoveL7Policy removes a policy at once.
func (c *Cloud) RemoveL7Policy(id string) {
	c.inspect(func() {
		policy := c.partOf(id)
		r, _ := c.lbOf(policy.lb)
		r.octavia.remove(policy)
	})
}

func must(err error) {
	if err != nil {
		panic("openstack: " + err.Error())
	}
}

// LoadBalancer is a load balancer as it is.
type LoadBalancer struct {
	ID, Name, Description, Project string
	// Status is provisioning_status, Operating is operating_status.
	Status, Operating string
	// VIPAddress and VIPPort are the address and the ID of its port.
	VIPAddress, VIPPort string
	Provider            string
	Tags                []string
	// Listeners, Pools are the IDs of its parts.
	Listeners, Pools []string
}

// LoadBalancer returns a load balancer. It panics when there is none.
func (c *Cloud) LoadBalancer(id string) LoadBalancer {
	var out LoadBalancer
	c.inspect(func() { _, lb := c.lbOf(id); out = c.lbCopy(lb) })

	return out
}

// LoadBalancers returns all load balancers of all regions, oldest first.
func (c *Cloud) LoadBalancers() []LoadBalancer {
	var all []LoadBalancer
	c.inspect(func() {
		for _, r := range c.regions {
			for _, lb := range r.octavia.loadBalancers.all() {
				all = append(all, c.lbCopy(lb))
			}
		}
	})

	return all
}

func (c *Cloud) lbCopy(lb *lbObject) LoadBalancer {
	return LoadBalancer{
		ID: lb.id, Name: lb.text("name"), Description: lb.text("description"), Project: c.keystone.projectName(lb.projectID),
		Status: lb.status, Operating: lb.operating, VIPAddress: lb.text("vip_address"), VIPPort: lb.text("vip_port_id"),
		Provider: lb.text("provider"), Tags: slices.Clone(lb.texts("tags")),
		Listeners: slices.Clone(lb.listeners), Pools: slices.Clone(lb.pools),
	}
}

// Listener returns all attributes of a listener as responses have them.
func (c *Cloud) Listener(id string) map[string]any {
	var out map[string]any
	c.inspect(func() {
		l := c.partOf(id)
		r, _ := c.lbOf(l.lb)
		out = (&call{cloud: c, region: r}).lbDocument(l)
	})

	return out
}

// lbOf returns a load balancer of any region. It panics when there is none.
func (c *Cloud) lbOf(id string) (*region, *lbObject) {
	for _, r := range c.regions {
		if lb := r.octavia.loadBalancers.get(id); lb != nil {
			return r, lb
		}
	}
	panic("openstack: no load balancer " + id)
}
