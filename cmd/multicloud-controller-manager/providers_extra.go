//go:build !e2e

package main

import "github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"

// extraDescriptors is empty but in builds for the end-to-end tests.
func extraDescriptors() []provider.Descriptor { return nil }
