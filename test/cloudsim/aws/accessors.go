package aws

// ProviderID returns the provider ID of an instance: aws:///<zone>/<id>.
func (c *Cloud) ProviderID(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()

	return "aws:///" + c.mustInstance(id).zone + "/" + id
}

// State returns the state of an instance, empty when there is none.
func (c *Cloud) State(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := c.instance(id); i != nil {
		return i.state
	}

	return ""
}

// PrivateDNSName returns the private DNS name of an instance.
func (c *Cloud) PrivateDNSName(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.mustInstance(id).privateDNS
}

// Interfaces returns the IDs of an instance's network interfaces, primary first.
func (c *Cloud) Interfaces(id string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ids []string
	for _, eni := range c.interfacesOf(c.mustInstance(id)) {
		ids = append(ids, eni.id)
	}

	return ids
}

// PrivateIPs returns the IPv4 addresses of an instance, those of the primary
// network interface first.
func (c *Cloud) PrivateIPs(id string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var addrs []string
	for _, eni := range c.interfacesOf(c.mustInstance(id)) {
		addrs = append(addrs, texts(eni.addrs)...)
	}

	return addrs
}

// SourceDestCheck reports whether a network interface drops packets that are not
// its own.
func (c *Cloud) SourceDestCheck(interfaceID string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	eni := c.ec2.interfaces.get(interfaceID)

	return eni != nil && eni.sourceDestCheck
}
