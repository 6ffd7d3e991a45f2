package openstack

import cloudprovider "k8s.io/cloud-provider"

// LoadBalancer is not offered yet: Services get no load balancer, and the service
// controller is skipped.
func (c *cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return nil, false }
