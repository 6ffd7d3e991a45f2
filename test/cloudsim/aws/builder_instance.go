package aws

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
)

// InstanceSpec describes an instance with one network interface, or with those
// of Interfaces.
type InstanceSpec struct {
	// ID is made up when empty.
	ID string
	// Type is the instance type; default m5.large.
	Type string
	// State is one of the states; default running.
	State string
	// PrivateDNSName is derived from the private address when empty.
	PrivateDNSName string
	// Tags are its tags.
	Tags map[string]string
	// NetworkNodes is its position in the network, outermost first.
	NetworkNodes []string

	// InterfaceSpec is the primary network interface, unless Interfaces has any.
	InterfaceSpec
	// Interfaces are the network interfaces. One has device index 0.
	Interfaces []InterfaceSpec
	// Pods adds the network interfaces of a node full of Pods instead: four like
	// InterfaceSpec, with 30 addresses each. The Amazon VPC CNI plugin attaches up
	// to eight of them to a c5.4xlarge
	// (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/AvailableIpPerENI.html).
	Pods bool
}

// The network interfaces of an instance with Pods.
const (
	podInterfaces = 4
	podAddresses  = 30
)

// InterfaceSpec describes a network interface.
type InterfaceSpec struct {
	// Subnet is the ID of its subnet.
	Subnet string
	// Groups are the IDs of its security groups.
	Groups []string
	// PrivateIPs are its IPv4 addresses, primary first; by default the next free
	// one of the subnet.
	PrivateIPs []string
	// IPv6s are its IPv6 addresses.
	IPv6s []string
	// Public assigns a public IPv4 address.
	Public bool
	// Device is its device index.
	Device int32
	// Status is its status; default in-use.
	Status string
	// Secondary is how many more IPv4 addresses it has, the next free ones.
	Secondary int
}

// FargateSpec describes the network interface of a Fargate pod.
type FargateSpec struct {
	// Subnet and Groups are where the pod runs.
	Subnet string
	Groups []string
	// PrivateIP is the next free one by default.
	PrivateIP string
	// IPv6 adds an IPv6 address.
	IPv6 bool
	// NoDNS leaves out the private DNS name.
	NoDNS bool
	// Attachment is the status of the attachment, by default "attached".
	Attachment string
}

// Fargate is the network interface of a Fargate pod.
type Fargate struct{ InterfaceID, PrivateIP, IPv6, Zone, PrivateDNSName string }

// defaultInterfaces returns the network interfaces of an instance for which none
// are listed.
func (s *InstanceSpec) defaultInterfaces() []InterfaceSpec {
	if !s.Pods {
		return []InterfaceSpec{s.InterfaceSpec}
	}
	all := make([]InterfaceSpec, podInterfaces)
	for i := range all {
		all[i] = s.InterfaceSpec
		all[i].Device, all[i].Secondary = int32(i), podAddresses-1 //nolint:gosec // a small number
	}

	return all
}

// AddInstance makes an instance and returns its ID. The first one is the
// instance whose metadata service is simulated.
func (c *Cloud) AddInstance(spec InstanceSpec) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(spec.Interfaces) == 0 {
		spec.Interfaces = spec.defaultInterfaces()
	}
	i := &instance{
		tagged: newTagged(spec.Tags, true), Created: c.created(), id: orNew(c, &c.ec2.instances, spec.ID, "i"),
		kind: cmp.Or(spec.Type, "m5.large"), state: cmp.Or(spec.State, Running), launched: c.launchTime(),
		reservation: c.newID("r"), nodes: slices.Clone(spec.NetworkNodes),
	}
	if !instanceID.MatchString(i.id) {
		wrong("%q is no instance ID", i.id)
	}
	if _, ok := stateCodes[i.state]; !ok {
		wrong("%q is no instance state", i.state)
	}
	for _, want := range spec.Interfaces {
		c.plug(i, want)
	}
	c.initializeInstance(i, spec)
	c.ec2.instances.put(i.id, i)
	c.metadata.self = cmp.Or(c.metadata.self, i.id)
	c.setState(i, i.state)

	return i.id
}

// initializeInstance derives what an instance has from its primary network
// interface.
func (c *Cloud) initializeInstance(i *instance, spec InstanceSpec) {
	eni := c.primary(i)
	i.subnet, i.vpc, i.zone = eni.subnet, eni.vpc, eni.zone
	eni.privateDNS = cmp.Or(spec.PrivateDNSName, eni.privateDNS)
	i.privateDNS = eni.privateDNS
}

// plug makes a network interface and attaches it to the instance.
func (c *Cloud) plug(i *instance, want InterfaceSpec) {
	s := c.subnet(want.Subnet)
	if s == nil {
		wrong("no subnet %q", want.Subnet)
	}
	c.checkGroups(s.vpc, want.Groups)
	addrs := s.allocateAll(want.PrivateIPs)
	for range want.Secondary {
		addrs = append(addrs, s.allocateAll(nil)...)
	}
	eni := c.newInterface(s, addrs, want.Groups)
	eni.addrs6 = parseAddrs(want.IPv6s)
	eni.privateDNS = c.privateDNS(eni.addrs[0])
	eni.status = cmp.Or(want.Status, "in-use")
	eni.wantsPublic = want.Public
	eni.attachment = &attachment{
		id: c.newID("eni-attach"), instance: i.id, status: "attached", device: want.Device,
		owner: c.opts.AccountID, at: i.launched,
	}
	i.interfaces = append(i.interfaces, eni.id)
}

// AddFargate makes the network interface of a Fargate pod.
func (c *Cloud) AddFargate(spec FargateSpec) Fargate {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.subnet(spec.Subnet)
	if s == nil {
		wrong("no subnet %q", spec.Subnet)
	}
	c.checkGroups(s.vpc, spec.Groups)
	var wanted []string
	if spec.PrivateIP != "" {
		wanted = []string{spec.PrivateIP}
	}
	eni := c.newInterface(s, s.allocateAll(wanted), spec.Groups)
	eni.status, eni.requester = "in-use", "578734482556"
	eni.description = c.arn("ecs", "attachment/"+c.ids.Hex("fargate", 32))
	eni.attachment = &attachment{id: c.newID("eni-attach"), status: cmp.Or(spec.Attachment, "attached"), device: 1, owner: "348936374612", at: c.launchTime()}
	if spec.IPv6 {
		eni.addrs6 = []netip.Addr{s.take6()}
	}
	if !spec.NoDNS {
		eni.privateDNS = c.privateDNS(eni.addrs[0])
	}

	return Fargate{eni.id, eni.addrs[0].String(), firstText(eni.addrs6), eni.zone, eni.privateDNS}
}

// RemoveInterface removes a network interface, such as that of a Fargate pod.
func (c *Cloud) RemoveInterface(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if eni := c.ec2.interfaces.get(id); eni != nil {
		c.dropInterface(eni)
	}
}

// SetState moves an instance to a state.
func (c *Cloud) SetState(id, state string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := stateCodes[state]; !ok {
		wrong("%q is no instance state", state)
	}
	c.setState(c.mustInstance(id), state)
}

// Terminate ends an instance. Its network interfaces are gone, and it is still
// described, until Remove.
func (c *Cloud) Terminate(id string) { c.SetState(id, Terminated) }

// Remove terminates an instance and deletes it, as AWS does an hour after the end.
func (c *Cloud) Remove(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setState(c.mustInstance(id), Terminated)
	c.ec2.instances.remove(id)
}

// SetInstanceGroups sets the security groups of an instance's primary network
// interface.
func (c *Cloud) SetInstanceGroups(id string, groups ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.mustInstance(id)
	c.checkGroups(i.vpc, groups)
	c.primary(i).groups = slices.Clone(groups)
}

func (c *Cloud) internalDomain() string {
	if c.opts.Region == "us-east-1" {
		return "ec2.internal"
	}

	return c.opts.Region + ".compute.internal"
}

func (c *Cloud) privateDNS(addr netip.Addr) string {
	return "ip-" + strings.ReplaceAll(addr.String(), ".", "-") + "." + c.internalDomain()
}

func (c *Cloud) assignPublicIP(eni *networkInterface, addr netip.Addr) {
	eni.publicIP = addr
	_, suffix := partition(c.opts.Region)
	zone := c.opts.Region + ".compute."
	if c.opts.Region == "us-east-1" {
		zone = "compute-1."
	}
	eni.publicDNS = "ec2-" + strings.ReplaceAll(addr.String(), ".", "-") + "." + zone + suffix
}
