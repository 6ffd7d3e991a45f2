//go:build tools

// Package tools pins the upstream cloud controller managers, whose charts the tests of the
// migration install, and which tools/build builds for make e2e-upstream.
package tools

import (
	_ "k8s.io/cloud-provider-aws/cmd/aws-cloud-controller-manager"
	_ "k8s.io/cloud-provider-openstack/cmd/openstack-cloud-controller-manager"
	_ "k8s.io/cloud-provider-vsphere/cmd/vsphere-cloud-controller-manager"
)
