package vsphere

import cloudprovider "k8s.io/cloud-provider"

// LoadBalancer is not supported yet: vSphere has load balancers only through
// NSX-T.
func (c *cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return nil, false }
