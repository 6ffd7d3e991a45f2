package aws

import (
	"net/netip"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simstate"
)

var interfaceFields = fieldsOf[*networkInterface]{
	"network-interface-id": func(_ *Cloud, n *networkInterface) []string { return one(n.id) },
	"private-ip-address":   func(_ *Cloud, n *networkInterface) []string { return texts(n.addrs) },
	"vpc-id":               func(_ *Cloud, n *networkInterface) []string { return one(n.vpc) },
	"attachment.status": func(_ *Cloud, n *networkInterface) []string {
		if n.attachment == nil {
			return nil
		}

		return one(n.attachment.status)
	},
}

// describeNetworkInterfaces implements DescribeNetworkInterfaces.
func (c *Cloud) describeNetworkInterfaces(p params) (any, error) {
	found, next, err := describe(c, p, kindOf[*networkInterface]{
		resources: &c.ec2.interfaces, ids: "NetworkInterfaceId", noun: "networkInterface ID",
		code: "InvalidNetworkInterfaceID", fields: interfaceFields, id: func(n *networkInterface) string { return n.id },
		created: func(n *networkInterface) *simstate.Created { return &n.Created },
	})
	if err != nil {
		return nil, err
	}
	type item struct {
		interfaceXML
		Zone             string          `xml:"availabilityZone"`
		RequesterID      string          `xml:"requesterId,omitempty"`
		RequesterManaged bool            `xml:"requesterManaged"`
		IPv6             string          `xml:"ipv6Address,omitempty"`
		Attachment       *fullAttachment `xml:"attachment"`
		Tags             []tagXML        `xml:"tagSet>item"`
	}
	var result struct {
		Items     []item  `xml:"networkInterfaceSet>item"`
		NextToken *string `xml:"nextToken"`
	}
	result.NextToken = next
	for _, n := range found {
		result.Items = append(result.Items, item{
			interfaceXML: c.renderInterface(n), Zone: n.zone, RequesterID: n.requester, RequesterManaged: n.requester != "",
			IPv6: firstText(n.addrs6), Attachment: renderFullAttachment(n.attachment), Tags: renderTags(n.tags),
		})
	}

	return &result, nil
}

// modifyNetworkInterfaceAttribute implements ModifyNetworkInterfaceAttribute for
// the source and destination check, the description and the groups.
func (c *Cloud) modifyNetworkInterfaceAttribute(p params) (any, error) {
	if err := p.require("NetworkInterfaceId"); err != nil {
		return nil, err
	}
	id := p.str("NetworkInterfaceId")
	n := c.ec2.interfaces.get(id)
	if n == nil || !c.changeable(&n.Created) {
		return nil, fail("InvalidNetworkInterfaceID.NotFound", "The networkInterface ID '%s' does not exist", id)
	}
	if n.requester != "" {
		return nil, fail("AuthFailure", "You do not have permission to access the specified resource.")
	}
	check, err := p.bool("SourceDestCheck.Value")
	if err != nil {
		return nil, err
	}
	groups := p.list("SecurityGroupId")
	for _, id := range groups {
		if c.group(id) == nil {
			return nil, noGroup(id)
		}
	}
	if check != nil {
		n.sourceDestCheck = *check
	}
	if len(groups) > 0 {
		n.groups = groups
	}
	if p.has("Description.Value") {
		n.description = p.str("Description.Value")
	}

	return &done{true}, nil
}

// modifyInstanceAttribute implements ModifyInstanceAttribute for the source and
// destination check.
func (c *Cloud) modifyInstanceAttribute(p params) (any, error) {
	if err := p.require("InstanceId"); err != nil {
		return nil, err
	}
	found, err := c.findInstances([]string{p.str("InstanceId")}, c.changeable)
	if err != nil {
		return nil, err
	}
	name := "SourceDestCheck.Value"
	if p.str("Attribute") == "sourceDestCheck" {
		name = "Value"
	}
	check, err := p.bool(name)
	if err != nil {
		return nil, err
	}
	if check == nil {
		return nil, fail("InvalidParameterCombination", "No attributes specified.")
	}
	eni, err := c.onlyInterface(found[0])
	if err != nil {
		return nil, err
	}
	eni.sourceDestCheck = *check

	return &done{true}, nil
}

// onlyInterface returns the network interface that an operation on the instance
// means, if that is clear.
func (c *Cloud) onlyInterface(i *instance) (*networkInterface, error) {
	interfaces := c.interfacesOf(i)
	switch {
	case i.gone() || len(interfaces) == 0:
		return nil, fail("IncorrectInstanceState", "The instance '%s' is not in a state from which it can be used.", i.id)
	case len(interfaces) > 1:
		return nil, fail("InvalidInstanceID", "There are multiple interfaces attached to instance '%s'. Please specify an interface ID for the operation instead.", i.id)
	}

	return interfaces[0], nil
}

// fullAttachment is how an attachment looks in DescribeNetworkInterfaces.
type fullAttachment struct {
	attachmentXML
	Instance string `xml:"instanceId,omitempty"`
	Owner    string `xml:"instanceOwnerId"`
}

func renderFullAttachment(a *attachment) *fullAttachment {
	if a == nil {
		return nil
	}

	return &fullAttachment{*renderAttachment(a), a.instance, a.owner}
}

// interfaceXML is the part of a network interface that all responses have.
type interfaceXML struct {
	ID              string          `xml:"networkInterfaceId"`
	SubnetID        string          `xml:"subnetId"`
	VPCID           string          `xml:"vpcId"`
	Description     string          `xml:"description"`
	Owner           string          `xml:"ownerId"`
	Status          string          `xml:"status"`
	Kind            string          `xml:"interfaceType"`
	MAC             string          `xml:"macAddress"`
	PrivateIP       string          `xml:"privateIpAddress"`
	PrivateDNSName  string          `xml:"privateDnsName,omitempty"`
	SourceDestCheck bool            `xml:"sourceDestCheck"`
	Groups          []groupXML      `xml:"groupSet>item"`
	Association     *associationXML `xml:"association"`
	Addresses       []addressXML    `xml:"privateIpAddressesSet>item"`
	Addresses6      []address6XML   `xml:"ipv6AddressesSet>item"`
}

type associationXML struct {
	PublicIP      string `xml:"publicIp"`
	PublicDNSName string `xml:"publicDnsName"`
	Owner         string `xml:"ipOwnerId"`
	Allocation    string `xml:"allocationId,omitempty"`
}

type addressXML struct {
	Address        string          `xml:"privateIpAddress"`
	PrivateDNSName string          `xml:"privateDnsName,omitempty"`
	Primary        bool            `xml:"primary"`
	Association    *associationXML `xml:"association"`
}

type address6XML struct {
	Address string `xml:"ipv6Address"`
	Primary bool   `xml:"isPrimaryIpv6"`
}

func (c *Cloud) renderInterface(n *networkInterface) interfaceXML {
	out := interfaceXML{
		ID: n.id, SubnetID: n.subnet, VPCID: n.vpc, Description: n.description, Owner: c.opts.AccountID, Status: n.status,
		Kind: n.kind, MAC: n.mac, PrivateIP: n.addrs[0].String(), PrivateDNSName: n.privateDNS,
		SourceDestCheck: n.sourceDestCheck, Groups: c.renderGroups(n.groups),
	}
	if n.publicIP.IsValid() {
		out.Association = &associationXML{n.publicIP.String(), n.publicDNS, "amazon", n.allocation}
		if n.allocation != "" {
			out.Association.Owner = c.opts.AccountID
		}
	}
	for i, addr := range n.addrs {
		item := addressXML{Address: addr.String(), Primary: i == 0}
		if i == 0 {
			item.PrivateDNSName, item.Association = n.privateDNS, out.Association
		}
		out.Addresses = append(out.Addresses, item)
	}
	for _, addr := range n.addrs6 {
		out.Addresses6 = append(out.Addresses6, address6XML{Address: addr.String()})
	}

	return out
}

func firstText(addrs []netip.Addr) string {
	if len(addrs) == 0 {
		return ""
	}

	return addrs[0].String()
}

// attached reports whether a network interface holds the group.
func (c *Cloud) attached(group string) bool {
	for _, n := range c.ec2.interfaces.byID {
		if slices.Contains(n.groups, group) {
			return true
		}
	}

	return false
}
