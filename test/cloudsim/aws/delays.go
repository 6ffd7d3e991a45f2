package aws

import "time"

// Delays are how long AWS takes until an operation has all its effect.
type Delays struct {
	// Provisioning is how long a new network load balancer is provisioning before
	// it is active.
	Provisioning time.Duration
	// Registration is how long targets and instances are not healthy yet after
	// their registration.
	Registration time.Duration
	// NetworkInterfaces is how long the network interfaces of a load balancer, and
	// with them the use of its security groups, outlive it.
	NetworkInterfaces time.Duration
	// SecurityGroups is how long a new security group is unknown to the load
	// balancer APIs.
	SecurityGroups time.Duration
	// SecurityGroupRules is how long reads show the rules of a security group as
	// they were before a write. Writes are checked against those that there are:
	// https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
	SecurityGroupRules time.Duration
	// TargetGroups is how long a target group is in use after the last listener
	// that forwards to it is gone.
	TargetGroups time.Duration
}

// TypicalDelays returns delays as they are common on AWS, which documents that
// there are such delays, and hardly how long they are:
//
//   - A network load balancer is provisioning at first, and the registration of
//     a target takes a few minutes:
//     https://docs.aws.amazon.com/elasticloadbalancing/latest/network/network-load-balancers.html
//     https://docs.aws.amazon.com/elasticloadbalancing/latest/network/target-group-health-checks.html
//   - The network interfaces of a deleted load balancer go minutes later, and
//     until then its security groups have a dependent object:
//     https://github.com/hashicorp/terraform-provider-aws/issues/40
//   - What EC2 has created or changed is not known everywhere at once:
//     https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
//   - A target group is in use for some time after its load balancer is gone:
//     https://github.com/ansible/ansible/issues/49291
func TypicalDelays() Delays {
	return Delays{
		Provisioning:       2 * time.Minute,
		Registration:       time.Minute,
		NetworkInterfaces:  3 * time.Minute,
		SecurityGroups:     3 * time.Second,
		SecurityGroupRules: 5 * time.Second,
		TargetGroups:       5 * time.Second,
	}
}

// SetDelays sets all delays of what happens from now on.
func (c *Cloud) SetDelays(delays Delays) {
	c.inspect(func() { c.balancers.delays = delays })
}

// SetProvisioningDelay sets [Delays].Provisioning.
func (c *Cloud) SetProvisioningDelay(d time.Duration) {
	c.inspect(func() { c.balancers.delays.Provisioning = d })
}

// SetRegistrationDelay sets [Delays].Registration.
func (c *Cloud) SetRegistrationDelay(d time.Duration) {
	c.inspect(func() { c.balancers.delays.Registration = d })
}

// SetDeletionDelay sets [Delays].NetworkInterfaces.
func (c *Cloud) SetDeletionDelay(d time.Duration) {
	c.inspect(func() { c.balancers.delays.NetworkInterfaces = d })
}

// SetDrainingDelay sets how long deregistered targets are listed as draining,
// regardless of deregistration_delay.timeout_seconds of their group.
func (c *Cloud) SetDrainingDelay(d time.Duration) {
	c.inspect(func() { c.balancers.draining = &d })
}

// ruleState is rules that a security group had.
type ruleState struct {
	rules    []*rule
	replaced time.Time
}

// setRules replaces the rules of a security group by what an operation has
// written.
func (c *Cloud) setRules(g *securityGroup, rules []*rule) {
	if c.balancers.delays.SecurityGroupRules > 0 {
		g.earlier = append(g.earlier, ruleState{g.rules, c.opts.Clock.Now()})
	}
	g.rules = rules
}

// visibleRules returns the rules of a security group as reads show them.
func (c *Cloud) visibleRules(g *securityGroup) []*rule {
	delay := c.balancers.delays.SecurityGroupRules
	for _, state := range g.earlier {
		if c.opts.Clock.Now().Before(state.replaced.Add(delay)) {
			return state.rules
		}
	}

	return g.rules
}

// propagated reports whether the load balancer APIs see a security group.
func (c *Cloud) propagated(g *securityGroup) bool {
	return g.given || !c.opts.Clock.Now().Before(g.At.Add(c.balancers.delays.SecurityGroups))
}

// release notes that a listener no longer forwards to a target group.
func (c *Cloud) release(group string) {
	if g := c.balancers.groups[group]; g != nil {
		g.released = c.opts.Clock.Now().Add(c.balancers.delays.TargetGroups)
	}
}
