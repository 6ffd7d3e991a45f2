// Package nodes finds the VMs of Nodes in all configured vCenters and describes them:
// [Source] is the instance.Source of the provider. It decides which VM is that of a
// Node if several fit, when one that is missing is gone, and which addresses, zone and
// instance type a Node gets. The vCenters are read by package inventory.
package nodes
