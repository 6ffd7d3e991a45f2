// Package lbname makes the names of load balancers.
//
// What it promises: for each Service exactly the names under which the existing
// cloud controller managers made theirs, so that those are kept. Names never
// change.
package lbname

import (
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// ByUID is "a" and the UID of the Service without dashes, cut to 32 characters:
// the name in AWS, and the old name in OpenStack.
func ByUID(service *v1.Service) string {
	return cloudprovider.DefaultLoadBalancerName(service)
}
