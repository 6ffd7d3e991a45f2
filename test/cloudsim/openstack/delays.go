package openstack

import "time"

// Delays are how long operations take until they have all their effect. A change
// without delay has it at the next call: a load balancer is PENDING in the
// response to the call that changes it.
type Delays struct {
	// ServerBuild is how long a new server is in BUILD, without addresses and zone.
	ServerBuild time.Duration
	// ServerDelete is how long a deleted server stays there.
	ServerDelete time.Duration
	// AddressCache is how long Nova shows the addresses of a server as they were
	// before a change in Neutron (nova: conf/compute.py, heal_instance_info_cache_interval).
	AddressCache time.Duration
	// LoadBalancerCreate is how long a new load balancer is PENDING_CREATE.
	LoadBalancerCreate time.Duration
	// LoadBalancerUpdate is how long a load balancer is PENDING_UPDATE after each
	// change to it or one of its parts.
	LoadBalancerUpdate time.Duration
	// LoadBalancerSettle is how long the parts of a new load balancer stay
	// PENDING_CREATE when it is ACTIVE already.
	LoadBalancerSettle time.Duration
	// LoadBalancerDelete is how long a load balancer is PENDING_DELETE.
	LoadBalancerDelete time.Duration
}

// TypicalDelays returns delays as they are common: virtual machines boot in about
// a minute, those of load balancers too, whose changes take seconds, and floating
// IPs appear in Nova up to a minute later.
func TypicalDelays() Delays {
	return Delays{
		ServerBuild:        30 * time.Second,
		ServerDelete:       5 * time.Second,
		AddressCache:       time.Minute,
		LoadBalancerCreate: time.Minute,
		LoadBalancerUpdate: 3 * time.Second,
		LoadBalancerSettle: time.Second,
		LoadBalancerDelete: 10 * time.Second,
	}
}

// SetDelays sets all delays of what happens from now on.
func (c *Cloud) SetDelays(delays Delays) { c.inspect(func() { c.delays = delays }) }
