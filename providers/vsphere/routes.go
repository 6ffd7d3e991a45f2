package vsphere

import cloudprovider "k8s.io/cloud-provider"

// Routes is not supported yet: vSphere has routes only through NSX-T.
func (c *cloud) Routes() (cloudprovider.Routes, bool) { return nil, false }
