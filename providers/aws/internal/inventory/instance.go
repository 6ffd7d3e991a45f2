package inventory

import (
	"net/netip"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// Instance is the provider's copy of an EC2 instance. It is shared and not
// changed once returned. Fields that EC2 did not return are empty.
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
	// Tags are the ownership tags of the instance, which package cluster
	// interprets. Other tags are not stored.
	Tags map[string]string
	// SecurityGroups are the IDs of the groups of the instance.
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
	// and is sorted last.
	Device   int32
	Attached bool
	Subnet   string
	// IPv4 and IPv6 are its private addresses in the order of EC2, the primary
	// one first. An address that could not be parsed is the zero Addr.
	IPv4, IPv6      []netip.Addr
	SourceDestCheck bool
}

// Primary returns the network interface that the instance was launched with, or
// false if EC2 does not return it.
func (i *Instance) Primary() (Interface, bool) {
	if len(i.Interfaces) == 0 {
		return Interface{}, false
	}
	first := i.Interfaces[0]

	return first, first.ID != "" && first.Attached && first.Device == 0 && first.NetworkCard == 0
}
