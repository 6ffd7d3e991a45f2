// Package all is the one list of the providers in this repository: the binary,
// the reference pages and the tests take theirs from here.
//
// What it promises: importing it registers the factory of every provider with
// k8s.io/cloud-provider, which has no list of its own.
//
// Do not use it in a provider or in a package of providers/common: they do not
// know which providers exist.
package all

import (
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere"
)

// Descriptors returns the descriptors of all providers, sorted by name.
func Descriptors() []provider.Descriptor {
	return []provider.Descriptor{
		aws.Descriptor(),
		openstack.Descriptor(),
		vsphere.Descriptor(),
	}
}
