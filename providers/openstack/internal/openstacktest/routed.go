package openstacktest

import "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"

// AddRoutedNetwork adds a network with the subnets 10.9.0.0/16 and fd00:9::/64, and returns
// the ID of their router.
func (c *Cloud) AddRoutedNetwork(name string) (router string) {
	id := c.AddNetwork(openstack.NetworkSpec{Name: name})
	var subnets []string
	for cidr, gateway := range map[string]string{"10.9.0.0/16": "10.9.0.1", "fd00:9::/64": "fd00:9::ffff"} {
		subnets = append(subnets, c.AddSubnet(openstack.SubnetSpec{Network: id, CIDR: cidr, Gateway: gateway}))
	}

	return c.AddRouter(openstack.RouterSpec{Name: "router", Subnets: subnets})
}

// NetworkOf returns the ID of the network of a router.
func (c *Cloud) NetworkOf(router string) string {
	p, _ := c.Port(c.ServerPorts(router)[0])

	return p.Network
}
