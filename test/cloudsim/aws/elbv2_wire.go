package aws

import "cmp"

// The responses of the API of network load balancers follow, under its
// own names.

type lbNetworksXML struct {
	LoadBalancers []lbNetworkXML `xml:"LoadBalancers>member"`
	NextMarker    *string        `xml:",omitempty"`
}

type lbNetworkXML struct {
	LoadBalancerArn       string
	DNSName               string
	CanonicalHostedZoneID string `xml:"CanonicalHostedZoneId"`
	CreatedTime           string
	LoadBalancerName      string
	Scheme                string
	VPC                   string      `xml:"VpcId"`
	State                 *lbStateXML `xml:",omitempty"`
	Type                  string
	AvailabilityZones     []lbZoneXML `xml:"AvailabilityZones>member"`
	SecurityGroups        []string    `xml:"SecurityGroups>member"`
	AddressType           string      `xml:"IpAddressType"`
	Enforce               string      `xml:"EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic,omitempty"`
}

type lbStateXML struct {
	Code   string
	Reason string `xml:",omitempty"`
}

type lbZoneXML struct {
	ZoneName  string
	Subnet    string         `xml:"SubnetId"`
	Addresses []lbAddressXML `xml:"LoadBalancerAddresses>member"`
}

type lbAddressXML struct {
	Public             string `xml:"IpAddress,omitempty"`
	Allocation         string `xml:"AllocationId,omitempty"`
	PrivateIPv4Address string `xml:",omitempty"`
}

type lbGroupIDsXML struct {
	Enforce string   `xml:"EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic"`
	Groups  []string `xml:"SecurityGroupIds>member"`
}

type lbAttributesXML struct {
	Attributes []lbPairXML `xml:"Attributes>member"`
}

type lbTargetGroupsXML struct {
	TargetGroups []lbTargetGroupXML `xml:"TargetGroups>member"`
	NextMarker   *string            `xml:",omitempty"`
}

type lbTargetGroupXML struct {
	TargetGroupArn             string
	TargetGroupName            string
	Protocol                   string
	Port                       int32
	VPC                        string `xml:"VpcId"`
	HealthCheckEnabled         bool
	HealthCheckProtocol        string
	HealthCheckPort            string
	HealthCheckPath            string `xml:",omitempty"`
	HealthCheckIntervalSeconds int32
	HealthCheckTimeoutSeconds  int32
	HealthyThresholdCount      int32
	UnhealthyThresholdCount    int32
	Matcher                    *lbMatcherXML `xml:",omitempty"`
	LoadBalancerArns           []string      `xml:"LoadBalancerArns>member"`
	TargetType                 string
	AddressType                string `xml:"IpAddressType"`
}

type lbMatcherXML struct {
	Codes string `xml:"HttpCode"`
}

type lbListenersXML struct {
	Listeners  []lbNetworkListenerXML `xml:"Listeners>member"`
	NextMarker *string                `xml:",omitempty"`
}

type lbNetworkListenerXML struct {
	ListenerArn     string
	LoadBalancerArn string
	Port            int32
	Protocol        string
	Certificates    []lbCertificateXML `xml:"Certificates>member"`
	SslPolicy       string             `xml:",omitempty"`
	AlpnPolicy      []string           `xml:"AlpnPolicy>member"`
	DefaultActions  []lbActionXML      `xml:"DefaultActions>member"`
}

type lbCertificateXML struct {
	CertificateArn string
}

type lbActionXML struct {
	Type           string
	TargetGroupArn string
	ForwardConfig  lbForwardXML
}

type lbForwardXML struct {
	TargetGroups []lbGroupTupleXML `xml:"TargetGroups>member"`
}

type lbGroupTupleXML struct {
	TargetGroupArn string
}

type lbTargetHealthsXML struct {
	Descriptions []lbTargetHealthXML `xml:"TargetHealthDescriptions>member"`
}

type lbTargetHealthXML struct {
	Target          lbTargetXML
	HealthCheckPort string
	TargetHealth    lbHealthXML
}

type lbTargetXML struct {
	ID   string `xml:"Id"`
	Port int32
}

type lbHealthXML struct {
	State       string
	Reason      string `xml:",omitempty"`
	Description string `xml:",omitempty"`
}

func (c *Cloud) networkWire(n *network) lbNetworkXML {
	out := lbNetworkXML{
		LoadBalancerArn: n.arn, DNSName: n.dns, CanonicalHostedZoneID: "Z18D5FSROUN65G", CreatedTime: timeXML(n.At),
		LoadBalancerName: n.name, Scheme: n.scheme, VPC: n.vpc, Type: "network", AddressType: "ipv4",
		AvailabilityZones: c.zonesWire(n), SecurityGroups: n.groups,
	}
	if !c.sparse {
		out.State = &lbStateXML{Code: c.stateOf(n)}
	}
	if n.grouped {
		out.Enforce = "on"
	}

	return out
}

// stateOf returns the state code of a load balancer.
func (c *Cloud) stateOf(n *network) string {
	switch {
	case c.opts.Clock.Now().Before(n.active):
		return "provisioning"
	case n.impaired:
		return "active_impaired"
	}

	return "active"
}

func (c *Cloud) zonesWire(n *network) []lbZoneXML {
	zones := make([]lbZoneXML, 0, len(n.mappings))
	for _, m := range n.mappings {
		zone := lbZoneXML{ZoneName: m.Zone, Subnet: m.Subnet}
		if a := c.allocation(m.Allocation); a != nil {
			zone.Addresses = append(zone.Addresses, lbAddressXML{Public: a.publicIP.String(), Allocation: a.id})
		}
		if m.PrivateIPv4 != "" {
			zone.Addresses = append(zone.Addresses, lbAddressXML{PrivateIPv4Address: m.PrivateIPv4})
		}
		zones = append(zones, zone)
	}

	return zones
}

// groupWire is a target group that load balancers forward to.
func groupWire(g *targetGroup, balancers []string) lbTargetGroupXML {
	out := lbTargetGroupXML{
		TargetGroupArn: g.arn, TargetGroupName: g.name, Protocol: g.protocol, Port: g.port, VPC: g.vpc,
		HealthCheckEnabled: true, HealthCheckProtocol: g.check.Protocol, HealthCheckPort: g.check.Port, HealthCheckPath: g.check.Path,
		HealthCheckIntervalSeconds: g.check.Interval, HealthCheckTimeoutSeconds: g.check.Timeout,
		HealthyThresholdCount: g.check.HealthyThreshold, UnhealthyThresholdCount: g.check.UnhealthyThreshold,
		LoadBalancerArns: balancers, TargetType: g.targetType, AddressType: "ipv4",
	}
	if g.check.Matcher != "" {
		out.Matcher = &lbMatcherXML{g.check.Matcher}
	}

	return out
}

func (c *Cloud) listenerWire(l *listener) lbNetworkListenerXML {
	out := lbNetworkListenerXML{
		ListenerArn: l.arn, LoadBalancerArn: l.balancer, Port: l.port, Protocol: l.protocol, SslPolicy: l.policy, AlpnPolicy: l.alpn,
	}
	if !c.sparse {
		out.DefaultActions = []lbActionXML{{
			Type: "forward", TargetGroupArn: l.group, ForwardConfig: lbForwardXML{[]lbGroupTupleXML{{l.group}}},
		}}
	}
	for _, arn := range l.certificates {
		out.Certificates = append(out.Certificates, lbCertificateXML{arn})
	}

	return out
}

// byPort orders targets.
func byPort(a, b Target) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Port, b.Port)) }
