//go:build e2e

package main

import (
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
	"github.com/multicloud-ccm/multicloud-ccm/test/e2e/static"
)

// extraDescriptors adds a provider without a cloud, so that the end-to-end
// tests can switch from one provider to another.
func extraDescriptors() []provider.Descriptor {
	return []provider.Descriptor{static.Descriptor()}
}
