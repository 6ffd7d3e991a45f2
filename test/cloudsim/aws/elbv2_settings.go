package aws

import "strconv"

// Protect sets the deletion protection of a network load balancer, as a user
// does. It panics when there is none of that name.
func (c *Cloud) Protect(name string, protected bool) {
	c.inspect(func() {
		n := c.networkByName(name)
		if n == nil {
			wrong("no network load balancer %q", name)
		}
		n.attributes["deletion_protection.enabled"] = strconv.FormatBool(protected)
	})
}

// Impair makes an active network load balancer active_impaired, as AWS does
// with one that cannot scale, or active again. It panics when there is none of
// that name.
func (c *Cloud) Impair(name string, impaired bool) {
	c.inspect(func() {
		n := c.networkByName(name)
		if n == nil {
			wrong("no network load balancer %q", name)
		}
		n.impaired = impaired
	})
}
