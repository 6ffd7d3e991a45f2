package aws

// elbOperations returns the operations of the classic API.
func (c *Cloud) elbOperations() map[string]operation {
	return map[string]operation{
		"CreateLoadBalancer":    c.createClassic,
		"DeleteLoadBalancer":    c.deleteClassic,
		"DescribeLoadBalancers": c.describeClassic,

		"CreateLoadBalancerListeners":             c.createClassicListeners,
		"DeleteLoadBalancerListeners":             c.deleteClassicListeners,
		"SetLoadBalancerListenerSSLCertificate":   c.setClassicCertificate,
		"AttachLoadBalancerToSubnets":             c.attachClassicSubnets,
		"DetachLoadBalancerFromSubnets":           c.detachClassicSubnets,
		"ApplySecurityGroupsToLoadBalancer":       c.applyClassicGroups,
		"ConfigureHealthCheck":                    c.configureHealthCheck,
		"DescribeLoadBalancerAttributes":          c.describeClassicAttributes,
		"ModifyLoadBalancerAttributes":            c.modifyClassicAttributes,
		"CreateLoadBalancerPolicy":                c.createClassicPolicy,
		"SetLoadBalancerPoliciesOfListener":       c.setListenerPolicies,
		"SetLoadBalancerPoliciesForBackendServer": c.setBackendPolicies,
		"RegisterInstancesWithLoadBalancer":       c.registerInstances,
		"DeregisterInstancesFromLoadBalancer":     c.deregisterInstances,

		"AddTags":      c.classicAddTags,
		"DescribeTags": c.classicDescribeTags,
	}
}

// classicNamed returns the load balancer that an operation is about to change.
func (c *Cloud) classicNamed(name string) (*classicBalancer, error) {
	if b := c.balancers.classics[name]; b != nil && c.changeable(&b.Created) {
		return b, nil
	}

	return nil, noClassic(name)
}

// classicOf returns the load balancer that the request is about.
func (c *Cloud) classicOf(p params) (*classicBalancer, error) {
	if err := p.require("LoadBalancerName"); err != nil {
		return nil, err
	}

	return c.classicNamed(p.str("LoadBalancerName"))
}

func noClassic(name string) error {
	return fail("LoadBalancerNotFound", "There is no ACTIVE Load Balancer named '%s'", name)
}
