package inventory

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
)

// toInstance converts an instance. EC2 may leave out any field.
func toInstance(in *types.Instance) *Instance {
	i := &Instance{
		ID:             aws.ToString(in.InstanceId),
		Type:           string(in.InstanceType),
		VPC:            aws.ToString(in.VpcId),
		Subnet:         aws.ToString(in.SubnetId),
		PrivateDNSName: aws.ToString(in.PrivateDnsName),
		PublicDNSName:  aws.ToString(in.PublicDnsName),
		PublicIP:       aws.ToString(in.PublicIpAddress),
		Tags:           clusterTags(in.Tags),
	}
	if in.State != nil {
		i.State = in.State.Name
	}
	if in.Placement != nil {
		i.AvailabilityZone = aws.ToString(in.Placement.AvailabilityZone)
	}
	for _, group := range in.SecurityGroups {
		if group.GroupId != nil {
			i.SecurityGroups = append(i.SecurityGroups, *group.GroupId)
		}
	}
	for k := range in.NetworkInterfaces {
		i.Interfaces = append(i.Interfaces, toInterface(&in.NetworkInterfaces[k]))
	}
	slices.SortStableFunc(i.Interfaces, byIndex)

	return i
}

// clusterTags returns the ownership tags of an instance.
func clusterTags(tags []types.Tag) map[string]string {
	kept := map[string]string{}
	for _, tag := range tags {
		key := aws.ToString(tag.Key)
		if strings.HasPrefix(key, cluster.TagPrefix) || key == cluster.LegacyTag {
			kept[key] = aws.ToString(tag.Value)
		}
	}

	return kept
}

func toInterface(in *types.InstanceNetworkInterface) Interface {
	n := Interface{
		ID:     aws.ToString(in.NetworkInterfaceId),
		Status: in.Status,
		Subnet: aws.ToString(in.SubnetId),
		// EC2 checks unless disabled.
		SourceDestCheck: in.SourceDestCheck == nil || *in.SourceDestCheck,
	}
	if a := in.Attachment; a != nil && a.DeviceIndex != nil {
		n.Attached, n.Device, n.NetworkCard = true, *a.DeviceIndex, aws.ToInt32(a.NetworkCardIndex)
	}
	for _, ip := range in.PrivateIpAddresses {
		n.IPv4 = appendAddr(n.IPv4, ip.PrivateIpAddress)
	}
	if len(n.IPv4) == 0 {
		n.IPv4 = appendAddr(n.IPv4, in.PrivateIpAddress)
	}
	for _, ip := range in.Ipv6Addresses {
		n.IPv6 = appendAddr(n.IPv6, ip.Ipv6Address)
	}

	return n
}

// appendAddr adds an address, the zero Addr for an invalid one.
func appendAddr(addrs []netip.Addr, text *string) []netip.Addr {
	if aws.ToString(text) == "" {
		return addrs
	}
	addr, _ := address.Parse(*text) // invalid stays the zero Addr, which is reported later

	return append(addrs, addr)
}

// byIndex sorts the interfaces of an instance: by device index, then by network
// card; those without an attachment come last.
func byIndex(a, b Interface) int {
	if a.Attached != b.Attached {
		if a.Attached {
			return -1
		}

		return 1
	}

	return cmp.Or(
		cmp.Compare(a.Device, b.Device),
		cmp.Compare(a.NetworkCard, b.NetworkCard),
		cmp.Compare(a.ID, b.ID),
	)
}
