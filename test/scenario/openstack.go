package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
)

func openstackProvider() Provider {
	return Provider{
		Name:   "openstack",
		Demo:   func() (Cloud, error) { return startOpenStack(openstackDemo(), 0) },
		Fleet:  func(n int, latency time.Duration) (Cloud, error) { return startOpenStack(openstackFleet(n), latency) },
		Budget: Budget{Initialize: 30, Steady: 10, Lifecycle: 3, Services: 120 * time.Second},
		LoadBalancers: []LoadBalancer{
			{Name: "external", Create: 20},
			{Name: "internal", Create: 20, Annotations: map[string]string{"service.beta.kubernetes.io/openstack-internal-load-balancer": "true"}},
			{Name: "shared", Shares: "external", SharedBy: "loadbalancer.openstack.org/load-balancer-id"},
		},
	}
}

const (
	// openstackNetwork is the network of all servers.
	openstackNetwork = "cluster"
	// OpenStackPublic is the ID of the external network.
	OpenStackPublic = "0f0c6a0e-8f6a-4c5e-9d43-5a4b1f1c3a11"
)

// openstackZones are the availability zones in which servers are.
func openstackZones() []string { return []string{"az-1", "az-2", "az-3"} }

// openstackDemo lists five servers.
func openstackDemo() []openstack.ServerSpec {
	server := func(name, ip, flavor, zone string) openstack.ServerSpec {
		return openstack.ServerSpec{
			Name: name, Flavor: flavor, Zone: zone, Networks: []openstack.ServerNetwork{{Name: openstackNetwork, IPs: []string{ip}}},
		}
	}

	return []openstack.ServerSpec{
		server("control-1", "10.0.0.11", "m1.medium", "az-1"),
		server("worker-1", "10.0.0.21", "m1.large", "az-1"),
		server("worker-2", "10.0.0.22", "m1.large", "az-2"),
		server("worker-3", "10.0.0.23", "m1.large", "az-3"),
		server("worker-4", "10.0.0.24", "SCS-4V:16:50", "az-3"),
	}
}

// openstackFleet lists n servers in all zones.
func openstackFleet(n int) []openstack.ServerSpec {
	all := make([]openstack.ServerSpec, n)
	zones := openstackZones()
	for i := range all {
		all[i] = openstack.ServerSpec{
			Name: fmt.Sprintf("node-%04d", i+1), Flavor: "m1.large", Zone: zones[i%len(zones)],
			Networks: []openstack.ServerNetwork{{Name: openstackNetwork, IPs: []string{openstackIP(i)}}},
		}
	}

	return all
}

// openstackIP is the address of a server of the fleet, in 10.0.0.0/16.
func openstackIP(i int) string { return fmt.Sprintf("10.0.%d.%d", 1+i/250, 2+i%250) }

// openstackCloud is one simulated region.
type openstackCloud struct {
	*openstack.Cloud

	machines []Machine
	ids      map[string]string // servers by the names of their nodes
	foreign  int
	replaced int
}

var (
	_ Cloud        = (*openstackCloud)(nil)
	_ Shared       = (*openstackCloud)(nil)
	_ ServiceCloud = (*openstackCloud)(nil)
)

func startOpenStack(servers []openstack.ServerSpec, latency time.Duration) (Cloud, error) {
	cloud, err := openstack.Start(openstack.Options{
		// What an operator raises on request, for as many servers and Services as are measured.
		Quotas: openstack.Quotas{FloatingIPs: 500, Ports: 20_000},
	})
	if err != nil {
		return nil, fmt.Errorf("start simulated OpenStack: %w", err)
	}
	inside := cloud.AddNetwork(openstack.NetworkSpec{Name: openstackNetwork})
	subnet := cloud.AddSubnet(openstack.SubnetSpec{Network: inside, CIDR: "10.0.0.0/16"})
	external := cloud.AddNetwork(openstack.NetworkSpec{ID: OpenStackPublic, Name: "public", External: true, Project: openstack.ProjectOther})
	cloud.AddSubnet(openstack.SubnetSpec{Network: external, CIDR: "203.0.112.0/22"})
	cloud.AddRouter(openstack.RouterSpec{Name: "router", External: external, Subnets: []string{subnet}})
	c := &openstackCloud{Cloud: cloud, ids: map[string]string{}}
	for _, server := range servers {
		c.add(server)
	}
	cloud.Interceptor().SetLatency(latency)

	return c, nil
}

// add starts a server and notes what its node is to have.
func (c *openstackCloud) add(server openstack.ServerSpec) {
	id := c.AddServer(server)
	c.ids[server.Name] = id
	c.machines = append(c.machines, Machine{
		Node:       controlplane.NodeSpec{Name: server.Name, SystemUUID: id},
		ProviderID: "openstack:///" + id,
		Zone:       server.Zone,
		Region:     c.Regions()[0],
		Address:    server.Networks[0].IPs[0],
	})
}

func (c *openstackCloud) Description() string {
	return fmt.Sprintf("Keystone at %s, region %s with %d availability zones, %d servers",
		c.AuthURL(), c.Regions()[0], len(openstackZones()), len(c.machines))
}

func (c *openstackCloud) Config() string {
	user := c.AuthOptions(openstack.UserCCM)
	var b strings.Builder
	fmt.Fprintf(&b, "[Global]\nprovider = openstack\nauth-url = %q\nregion = %q\n", c.AuthURL(), c.Regions()[0])
	fmt.Fprintf(&b, "username = %q\npassword = %q\ndomain-id = %q\ntenant-id = %q\n", user.Username, user.Password, user.DomainID, user.TenantID)

	return b.String()
}

// Environment is empty: a cloud-config is enough.
func (c *openstackCloud) Environment() []string { return nil }

func (c *openstackCloud) Machines() []Machine { return c.machines }

// AddForeign implements Shared with servers in the same project.
func (c *openstackCloud) AddForeign(n int) error {
	for range n {
		c.foreign++
		c.AddServer(openstack.ServerSpec{
			Name:     fmt.Sprintf("foreign-%d", c.foreign),
			Networks: []openstack.ServerNetwork{{Name: openstackNetwork, IPs: []string{fmt.Sprintf("10.0.%d.%d", 100+c.foreign/250, 2+c.foreign%250)}}},
		})
	}

	return nil
}

func (c *openstackCloud) Replace(n int) (deleted, added []Machine, err error) {
	deleted, c.machines = c.machines[:n:n], slices.Clone(c.machines[n:])
	for _, m := range deleted {
		c.DeleteServer(c.ids[m.Node.Name])
		c.replaced++
		c.add(openstack.ServerSpec{
			Name: fmt.Sprintf("new-%05d", c.replaced), Flavor: "m1.large", Zone: m.Zone,
			Networks: []openstack.ServerNetwork{{Name: openstackNetwork, IPs: []string{m.Address}}},
		})
	}

	return deleted, c.machines[len(c.machines)-n:], nil
}

func (c *openstackCloud) Calls() Calls { return Calls{Counted: c.Interceptor().Calls()} }

func (c *openstackCloud) SetPower(name string, on bool) error {
	status := "SHUTOFF"
	if on {
		status = "ACTIVE"
	}
	c.SetServerStatus(c.ids[name], status)

	return nil
}

func (c *openstackCloud) SetReachable(reachable bool) error {
	if reachable {
		return c.Server().Up()
	}
	c.Server().Down()

	return nil
}

func (c *openstackCloud) Made() []string { return c.Leaks() }

func (c *openstackCloud) Writes() Calls { return Calls{Counted: c.Cloud.Writes()} }

// SetProvisioning makes load balancers take that long to become ACTIVE. No other change
// takes any time.
func (c *openstackCloud) SetProvisioning(d time.Duration) {
	c.SetDelays(openstack.Delays{LoadBalancerCreate: d}) // demo and benchmark run in real time
}
