package inventory

import (
	"net/netip"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// Instance is what the provider has of an EC2 instance. It is shared and not
// changed once returned. Whatever EC2 did not return is empty.
type Instance struct {
	ID               string
	Type             string
	State            types.InstanceStateName
	AvailabilityZone string
	VPC              string
	Subnet           string
	PrivateDNSName   string
	PublicDNSName    string
	PublicIP         string
	// Tags are those of the owner of the instance, as package cluster reads
	// them. Others are not kept.
	Tags map[string]string
	// SecurityGroups are the IDs of the groups that the instance is in.
	SecurityGroups []string
	// Interfaces are its network interfaces, the first one first.
	Interfaces []Interface
}

// Interface is a network interface of an instance.
type Interface struct {
	ID          string
	Status      types.NetworkInterfaceStatus
	NetworkCard int32
	// Device is the device index. An interface that is not attached has none
	// and comes last.
	Device   int32
	Attached bool
	Subnet   string
	// IPv4 and IPv6 are its private addresses in the order of EC2, the primary
	// one first. What could not be read as an address is the zero Addr.
	IPv4, IPv6      []netip.Addr
	SourceDestCheck bool
}

// Primary is the network interface that the instance was launched with, or false
// if EC2 does not report it.
func (i *Instance) Primary() (Interface, bool) {
	if len(i.Interfaces) == 0 {
		return Interface{}, false
	}
	first := i.Interfaces[0]
	return first, first.ID != "" && first.Attached && first.Device == 0 && first.NetworkCard == 0
}
