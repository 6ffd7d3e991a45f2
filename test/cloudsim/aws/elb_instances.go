package aws

import (
	"cmp"
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

type lbInstanceStatesXML struct {
	States []lbInstanceStateXML `xml:"InstanceStates>member"`
}

type lbInstanceStateXML struct {
	ID          string `xml:"InstanceId"`
	State       string
	ReasonCode  string
	Description string
}

// describeInstanceHealth implements DescribeInstanceHealth. Instances that the
// request names are listed even when they are not registered, terminated ones
// never.
func (c *Cloud) describeInstanceHealth(p params) (any, error) {
	b, err := c.classicOf(p)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, instance := range p.structs("Instances.member") {
		ids = append(ids, instance.str("InstanceId"))
	}
	named := len(ids) > 0
	if !named {
		ids = b.Instances
	}
	var out lbInstanceStatesXML
	for _, id := range ids {
		i := c.instance(id)
		if i == nil && named {
			return nil, noInstance(id)
		}
		if i != nil && i.state != Terminated {
			out.States = append(out.States, c.instanceHealth(b, i))
		}
	}

	return out, nil
}

// instanceHealth returns the state of an instance behind a load balancer.
// Instances that run pass health checks.
func (c *Cloud) instanceHealth(b *classicBalancer, i *instance) lbInstanceStateXML {
	since, registered := b.registered[i.id]
	var code, why string
	switch {
	case !registered:
		code, why = "Instance", "Instance is not currently registered with the LoadBalancer."
	case i.state != Running:
		code, why = "Instance", "Instance is in "+i.state+" state."
	case !slices.Contains(b.Zones, i.zone):
		code, why = "ELB", "Instance is in the EC2 Availability Zone for which LoadBalancer is not configured to route traffic to."
	case c.opts.Clock.Since(since) < c.balancers.delays.Registration:
		code, why = "ELB", "Instance registration is still in progress."
	}
	state := "InService"
	if code != "" {
		state = "OutOfService"
	}

	return lbInstanceStateXML{i.id, state, cmp.Or(code, "N/A"), cmp.Or(why, "N/A")}
}
