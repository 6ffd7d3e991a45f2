// Package openstack is the cloud provider for OpenStack.
package openstack
