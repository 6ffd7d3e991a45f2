package aws

import (
	"maps"
	"slices"
)

// registerInstances implements RegisterInstancesWithLoadBalancer.
func (c *Cloud) registerInstances(p params) (any, error) {
	b, ids, err := c.instancesOf(p)
	if err != nil {
		return nil, err
	}
	if err := c.checkClassicInstances(b, ids); err != nil {
		return nil, err
	}
	for _, id := range ids {
		if _, already := b.registered[id]; !already {
			b.registered[id] = c.opts.Clock.Now()
		}
	}

	return b.members(), nil
}

// checkClassicInstances fails when an instance cannot be registered, as it is
// now: it must run in the VPC of the load balancer.
// https://docs.aws.amazon.com/elasticloadbalancing/2012-06-01/APIReference/API_RegisterInstancesWithLoadBalancer.html
func (c *Cloud) checkClassicInstances(b *classicBalancer, ids []string) error {
	all := make(map[string]bool)
	for id := range b.registered {
		all[id] = true
	}
	for _, id := range ids {
		i := c.instance(id)
		switch {
		case i == nil || i.state == Terminated || !c.changeable(&i.Created):
			return noInstance(id)
		case i.vpc != b.VPC:
			return fail("InvalidInstance", "EC2 instance %s is not in the same VPC as ELB.", id)
		case i.state != Running:
			return fail("InvalidInstance", "EC2 instance %s is not in the running state.", id)
		}
		all[id] = true
	}
	if most := c.balancers.quotas.ClassicInstances; len(all) > most {
		return conflict("A load balancer cannot have more than %d instances", most) // AWS documents no code of its own
	}

	return nil
}

// deregisterInstances implements DeregisterInstancesFromLoadBalancer.
func (c *Cloud) deregisterInstances(p params) (any, error) {
	b, ids, err := c.instancesOf(p)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if _, registered := b.registered[id]; !registered && c.instance(id) == nil {
			return nil, noInstance(id)
		}
	}
	for _, id := range ids {
		delete(b.registered, id)
	}

	return b.members(), nil
}

func noInstance(id string) error {
	return fail("InvalidInstance", "Could not find EC2 instance %s.", id)
}

// instancesOf returns the load balancer and the instances of a request.
func (c *Cloud) instancesOf(p params) (*classicBalancer, []string, error) {
	b, err := c.classicOf(p)
	if err != nil {
		return nil, nil, err
	}
	var ids []string
	for _, instance := range p.structs("Instances.member") {
		ids = append(ids, instance.str("InstanceId"))
	}
	if len(ids) == 0 {
		return nil, nil, invalid("Instances must not be empty")
	}

	return b, ids, nil
}

// members updates and returns the list of the registered instances.
func (b *classicBalancer) members() lbInstancesXML {
	b.Instances = slices.Sorted(maps.Keys(b.registered))

	return lbInstancesXML{instanceList(b.Instances)}
}
