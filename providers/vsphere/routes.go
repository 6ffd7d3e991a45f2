package vsphere

import cloudprovider "k8s.io/cloud-provider"

// Routes are in a tier-1 gateway of NSX-T, if the cloud-config names one.
func (c *cloud) Routes() (cloudprovider.Routes, bool) {
	if c.routes == nil {
		return nil, false
	}

	return c.routes, true
}
