package openstack

import cloudprovider "k8s.io/cloud-provider"

// Routes is not offered yet: no routes are made, and the route controller is skipped.
func (c *cloud) Routes() (cloudprovider.Routes, bool) { return nil, false }
