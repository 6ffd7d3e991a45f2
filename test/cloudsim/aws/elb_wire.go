package aws

import (
	"maps"
	"slices"
	"time"
)

// The responses of the classic API follow, under its own names.

type lbClassicListXML struct {
	Descriptions []lbClassicXML `xml:"LoadBalancerDescriptions>member"`
	NextMarker   *string        `xml:",omitempty"`
}

type lbClassicXML struct {
	LoadBalancerName          string
	DNSName                   string
	CanonicalHostedZoneName   string `xml:",omitempty"`
	CanonicalHostedZoneNameID string
	ListenerDescriptions      []lbListenerDescriptionXML `xml:"ListenerDescriptions>member"`
	Policies                  lbClassicPoliciesXML
	BackendServerDescriptions []lbBackendXML      `xml:"BackendServerDescriptions>member"`
	AvailabilityZones         []string            `xml:"AvailabilityZones>member"`
	Subnets                   []string            `xml:"Subnets>member"`
	VPC                       string              `xml:"VPCId"`
	Instances                 []lbInstanceXML     `xml:"Instances>member"`
	HealthCheck               *ClassicHealthCheck `xml:",omitempty"`
	SourceSecurityGroup       *lbSourceGroupXML   `xml:",omitempty"`
	SecurityGroups            []string            `xml:"SecurityGroups>member"`
	CreatedTime               string
	Scheme                    string
}

type lbListenerDescriptionXML struct {
	Listener    lbListenerXML
	PolicyNames []string `xml:"PolicyNames>member"`
}

type lbListenerXML struct {
	Protocol         string
	LoadBalancerPort int32
	InstanceProtocol string
	InstancePort     int32
	Certificate      string `xml:"SSLCertificateId,omitempty"`
}

type lbClassicPoliciesXML struct {
	OtherPolicies []string `xml:"OtherPolicies>member"`
}

type lbBackendXML struct {
	InstancePort int32
	PolicyNames  []string `xml:"PolicyNames>member"`
}

type lbInstanceXML struct {
	ID string `xml:"InstanceId"`
}

type lbInstancesXML struct {
	Instances []lbInstanceXML `xml:"Instances>member"`
}

type lbConfiguredXML struct {
	HealthCheck ClassicHealthCheck
}

type lbSourceGroupXML struct {
	OwnerAlias string
	GroupName  string
}

type lbSubnetsXML struct {
	Subnets []string `xml:"Subnets>member"`
}

type lbGroupsXML struct {
	SecurityGroups []string `xml:"SecurityGroups>member"`
}

type lbDNSNameXML struct {
	DNSName string
}

// timeXML is how the APIs write times.
func timeXML(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// classicWire returns a load balancer as DescribeLoadBalancers shows it.
func (c *Cloud) classicWire(b *classicBalancer) lbClassicXML {
	out := lbClassicXML{
		LoadBalancerName: b.Name, DNSName: b.DNSName, CanonicalHostedZoneNameID: "Z1H1FL5HABSF5",
		AvailabilityZones: b.Zones, Subnets: b.Subnets, VPC: b.VPC, SecurityGroups: b.SecurityGroups,
		Instances:   instanceList(b.Instances),
		CreatedTime: timeXML(b.At), Scheme: b.Scheme,
		Policies: lbClassicPoliciesXML{slices.Sorted(maps.Keys(b.Policies))},
	}
	if b.Scheme == SchemeInternetFacing {
		out.CanonicalHostedZoneName = b.DNSName
	}
	for _, l := range b.Listeners {
		out.ListenerDescriptions = append(out.ListenerDescriptions, lbListenerDescriptionXML{
			Listener:    lbListenerXML{l.Protocol, l.Port, l.InstanceProtocol, l.InstancePort, l.Certificate},
			PolicyNames: l.Policies,
		})
	}
	for _, port := range slices.Sorted(maps.Keys(b.BackendPolicies)) {
		out.BackendServerDescriptions = append(out.BackendServerDescriptions, lbBackendXML{port, b.BackendPolicies[port]})
	}
	if c.sparse {
		return out
	}
	out.HealthCheck = &b.HealthCheck
	if len(b.SecurityGroups) > 0 {
		if g := c.group(b.SecurityGroups[0]); g != nil {
			out.SourceSecurityGroup = &lbSourceGroupXML{OwnerAlias: c.opts.AccountID, GroupName: g.name}
		}
	}

	return out
}

func instanceList(ids []string) []lbInstanceXML {
	out := make([]lbInstanceXML, 0, len(ids))
	for _, id := range ids {
		out = append(out, lbInstanceXML{id})
	}

	return out
}
