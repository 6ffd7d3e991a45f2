package aws

import (
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simstate"
)

// Instance states.
const (
	Pending      = "pending"
	Running      = "running"
	ShuttingDown = "shutting-down"
	Terminated   = "terminated"
	Stopping     = "stopping"
	Stopped      = "stopped"
)

// stateCodes are the numbers of the states.
var stateCodes = map[string]int{Pending: 0, Running: 16, ShuttingDown: 32, Terminated: 48, Stopping: 64, Stopped: 80}

type instance struct {
	tagged
	simstate.Created
	id, kind, zone, state string // kind is the instance type
	subnet, vpc           string // empty when terminated
	interfaces            []string
	privateDNS            string
	launched              time.Time
	reservation           string
	nodes                 []string // topology, outermost first
}

// up reports whether the instance runs or is about to.
func (i *instance) up() bool { return i.state == Running || i.state == Pending }

// gone reports whether the instance is terminated and only still described.
func (i *instance) gone() bool { return i.state == Terminated || i.state == ShuttingDown }

// primary returns the network interface with device index 0, or nil.
func (c *Cloud) primary(i *instance) *networkInterface {
	for _, eni := range c.interfacesOf(i) {
		return eni
	}

	return nil
}

var instanceID = regexp.MustCompile(`^i-[0-9a-f]{1,17}$`)

// findInstances returns the instances of the IDs in the order of all IDs, or the
// error that names the malformed or missing ones.
func (c *Cloud) findInstances(ids []string, find func(*simstate.Created) bool) ([]*instance, error) {
	var found []*instance
	var missing []string
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		if !instanceID.MatchString(id) {
			return nil, fail("InvalidInstanceID.Malformed", "Invalid id: \"%s\"", id)
		}
		if i := c.instance(id); i != nil && find(&i.Created) {
			found = append(found, i)
		} else {
			missing = append(missing, id)
		}
	}
	switch {
	case len(missing) == 0:
		return found, nil
	case len(missing) == 1 || c.ec2.queries.firstMissing:
		return nil, fail("InvalidInstanceID.NotFound", "The instance ID '%s' does not exist", missing[0])
	}

	return nil, fail("InvalidInstanceID.NotFound", "The instance IDs '%s' do not exist", strings.Join(missing, ", "))
}

// describeInstances implements DescribeInstances.
func (c *Cloud) describeInstances(p params) (any, error) {
	ids := p.list("InstanceId")
	if len(ids) > 0 && (p.has("MaxResults") || p.has("NextToken")) {
		return nil, fail("InvalidParameterCombination", "The parameter instancesSet cannot be used with the parameter maxResults")
	}
	filters, err := parseFilters(p)
	if err != nil {
		return nil, err
	}
	found, err := c.candidates(ids, filters)
	if err != nil {
		return nil, err
	}
	if found, err = keep(c, found, filters, instanceFields); err != nil {
		return nil, err
	}
	found, next, err := page(c, p, ec2Pager, found, func(i *instance) string { return i.id })
	if err != nil {
		return nil, err
	}

	return &describeInstancesResult{Reservations: c.reservations(found), NextToken: next}, nil
}

// candidates returns the visible instances that the IDs or a filter on the IDs
// leave over.
func (c *Cloud) candidates(ids []string, filters []filter) ([]*instance, error) {
	if len(ids) > 0 {
		return c.findInstances(ids, c.visible)
	}
	for _, f := range filters {
		if f.name == "instance-id" {
			var found []*instance
			for _, id := range slices.Sorted(maps.Keys(f.values)) {
				if i := c.instance(id); i != nil && c.visible(&i.Created) {
					found = append(found, i)
				}
			}

			return found, nil
		}
	}

	return slices.DeleteFunc(c.ec2.instances.all(), func(i *instance) bool { return !c.visible(&i.Created) }), nil
}

var instanceFields = fieldsOf[*instance]{
	"instance-id":         func(_ *Cloud, i *instance) []string { return one(i.id) },
	"instance-state-name": func(_ *Cloud, i *instance) []string { return one(i.state) },
	"private-dns-name":    func(_ *Cloud, i *instance) []string { return one(i.privateDNS) },
	"vpc-id":              func(_ *Cloud, i *instance) []string { return one(i.vpc) },
}

// setState moves an instance to a state, with all that follows from it.
func (c *Cloud) setState(i *instance, state string) {
	i.state = state
	for _, eni := range c.interfacesOf(i) {
		switch {
		case state == Terminated:
			c.dropInterface(eni)
		case !i.up() && eni.allocation == "": // an address that is not elastic ends with the run
			eni.publicIP, eni.publicDNS = netip.Addr{}, ""
		case i.up() && eni.wantsPublic && !eni.publicIP.IsValid():
			c.assignPublicIP(eni, c.newPublicIP())
		}
	}
	if state == Terminated {
		i.interfaces, i.privateDNS, i.subnet, i.vpc = nil, "", "", ""
	}
}
