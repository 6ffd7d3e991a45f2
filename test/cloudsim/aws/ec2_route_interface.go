package aws

// SetRouteInstances makes DescribeRouteTables return the instance of a route
// beside its network interface, as it does by default, or leave it out. Both
// members are optional, and other implementations of the API return only the
// member that the route was created with.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Route.html
func (c *Cloud) SetRouteInstances(shown bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ec2.hideRouteInstances = !shown
}
