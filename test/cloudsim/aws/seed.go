package aws

import (
	"fmt"
	"maps"
	"net/netip"
)

// Seed is an ordinary cluster's VPC: in every zone of the region a public and a
// private subnet, one table with an internet gateway for the public subnets and
// one that belongs to the cluster for the private ones.
type Seed struct {
	cloud *Cloud
	// ClusterID is the cluster's name in the tags.
	ClusterID string
	// VPC is the VPC's ID.
	VPC string
	// Zones are the names of the availability zones, without local zones.
	Zones []string
	// Public and Private are the subnets by zone, local zones included. A local
	// zone has no private subnet.
	Public, Private map[string]string
	// PublicTable, PrivateTable and MainTable are the route tables. The first two
	// are associated with subnets, the private one has the cluster's tag.
	PublicTable, PrivateTable, MainTable string
	// NodeGroup is the security group of the nodes, tagged as the cluster's own.
	NodeGroup string
	nodes     int
	pods      map[string]string // subnets of nodes with Pods by zone
}

// ClusterTag returns the key of the tag that assigns a resource to a cluster.
func ClusterTag(clusterID string) string { return "kubernetes.io/cluster/" + clusterID }

// Seed builds the VPC of a cluster. It may be called for several clusters.
func (c *Cloud) Seed(clusterID string) *Seed {
	s := &Seed{
		cloud: c, ClusterID: clusterID,
		Public: make(map[string]string), Private: make(map[string]string), pods: make(map[string]string),
	}
	c.mu.Lock()
	net := len(c.ec2.vpcs.byID)
	zones := c.opts.Zones
	c.mu.Unlock()
	cidr := netip.AddrFrom4([4]byte{10, byte(net), 0, 0})
	s.VPC = c.AddVPC(VPCSpec{
		CIDR: netip.PrefixFrom(cidr, 16).String(), IPv6CIDR: fmt.Sprintf("2001:db8:%x::/56", net+1),
		Tags: map[string]string{"Name": clusterID},
	})
	s.MainTable = c.MainRouteTable(s.VPC)
	bits, stride := 18, 64 // room for 10,000 nodes in three zones
	if len(zones) > 4 {
		bits, stride = 20, 16
	}
	var public, private []string
	for i, zone := range zones {
		shared := map[string]string{ClusterTag(clusterID): "shared", "kubernetes.io/role/elb": "1", "Name": "public-" + zone.Name}
		s.Public[zone.Name] = c.AddSubnet(SubnetSpec{
			VPC: s.VPC, Zone: zone.Name, CIDR: fmt.Sprintf("10.%d.%d.0/22", net, i*4),
			IPv6CIDR: fmt.Sprintf("2001:db8:%x:%x::/64", net+1, i), Tags: shared,
		})
		public = append(public, s.Public[zone.Name])
		if zone.kind() != availabilityZone {
			continue
		}
		s.Zones = append(s.Zones, zone.Name)
		shared = map[string]string{ClusterTag(clusterID): "shared", "kubernetes.io/role/internal-elb": "1", "Name": "private-" + zone.Name}
		s.Private[zone.Name] = c.AddSubnet(SubnetSpec{
			VPC: s.VPC, Zone: zone.Name, CIDR: fmt.Sprintf("10.%d.%d.0/%d", net, 64+(len(s.Zones)-1)*stride, bits),
			IPv6CIDR: fmt.Sprintf("2001:db8:%x:%x::/64", net+1, 0x80+i), Tags: shared,
		})
		private = append(private, s.Private[zone.Name])
	}
	s.PublicTable = c.AddRouteTable(RouteTableSpec{VPC: s.VPC, Subnets: public, Routes: []RouteSpec{
		{Destination: "0.0.0.0/0", Gateway: c.anID("igw")}, {Destination: "::/0", Gateway: c.anID("igw")},
	}})
	s.PrivateTable = c.AddRouteTable(RouteTableSpec{
		VPC: s.VPC, Subnets: private, Tags: map[string]string{ClusterTag(clusterID): "owned"},
		Routes: []RouteSpec{{Destination: "0.0.0.0/0", Gateway: c.anID("nat")}},
	})
	s.NodeGroup = c.AddSecurityGroup(SecurityGroupSpec{
		VPC: s.VPC, Name: "nodes." + clusterID, Description: "Nodes of " + clusterID,
		Tags: map[string]string{ClusterTag(clusterID): "owned"},
	})
	c.AddRule(s.NodeGroup, Rule{Protocol: anyProtocol, Source: s.NodeGroup, Description: "nodes among themselves"})

	return s
}

func (c *Cloud) anID(prefix string) string {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.newID(prefix)
}

// AddNodes makes n running instances, spread over the private subnets, with the
// tag and the security group of the cluster, and returns their IDs.
func (s *Seed) AddNodes(n int) []string {
	ids := make([]string, 0, n)
	for range n {
		ids = append(ids, s.AddNode(InstanceSpec{}))
	}

	return ids
}

// AddNode makes an instance as AddNodes does; the spec has precedence.
func (s *Seed) AddNode(spec InstanceSpec) string {
	zone := s.Zones[s.nodes%len(s.Zones)]
	s.nodes++
	switch {
	case spec.Subnet == "" && spec.Pods:
		spec.Subnet = s.podSubnet(zone)
	case spec.Subnet == "":
		spec.Subnet = s.Private[zone]
	}
	if spec.Groups == nil {
		spec.Groups = []string{s.NodeGroup}
	}
	tags := map[string]string{ClusterTag(s.ClusterID): "owned", "Name": fmt.Sprintf("node-%d", s.nodes)}
	maps.Copy(tags, spec.Tags)
	spec.Tags = tags

	return s.cloud.AddInstance(spec)
}

// podSubnet is the subnet of nodes with Pods in a zone. It has a secondary range of the VPC of its
// own: a VPC can have five ranges of 65,536 addresses
// (https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html).
func (s *Seed) podSubnet(zone string) string {
	if s.pods[zone] == "" {
		cidr := fmt.Sprintf("100.%d.0.0/16", 64+len(s.pods))
		s.cloud.AddCIDR(s.VPC, cidr)
		s.pods[zone] = s.cloud.AddSubnet(SubnetSpec{VPC: s.VPC, Zone: zone, CIDR: cidr, Tags: map[string]string{"Name": "pods-" + zone}})
	}

	return s.pods[zone]
}
