package main

import (
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere"
)

// descriptors is the list of providers in this binary. Importing a provider
// package registers its factory; the framework's registry cannot be listed, so
// the names stand here too.
func descriptors() []provider.Descriptor {
	return []provider.Descriptor{
		aws.Descriptor(),
		vsphere.Descriptor(),
	}
}
