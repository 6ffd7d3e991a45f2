// Package lbname makes the names of load balancers.
//
// What it promises: for each Service exactly the names under which the existing
// cloud controller managers made theirs, so that those carry on. Names never
// change.
package lbname

import (
	"fmt"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// MaxLength is the number of bytes that a name in OpenStack may have.
const MaxLength = 255

// ServicePrefix begins every name that [KubeService] makes.
const ServicePrefix = "kube_service_"

// ByUID is "a" and the UID of the Service without dashes, cut to 32 characters:
// the name in AWS, and the old name in OpenStack.
func ByUID(service *v1.Service) string {
	return cloudprovider.DefaultLoadBalancerName(service)
}

// KubeService is kube_service_<cluster>_<namespace>_<name>, cut to 255 bytes:
// the name in OpenStack, and the tag by which pieces of it are found.
func KubeService(cluster string, service *v1.Service) string {
	return Cut(fmt.Sprintf(ServicePrefix+"%s_%s_%s", cluster, service.Namespace, service.Name))
}

// Cut shortens a name to 255 bytes. A character that would be cut in two is
// left out as a whole, since half of one cannot be sent to a cloud and be found
// again.
func Cut(name string) string {
	if len(name) <= MaxLength {
		return name
	}
	end := MaxLength
	for end > MaxLength-utf8.UTFMax && !utf8.RuneStart(name[end]) {
		end--
	}

	return name[:end]
}
