// Package vsphere is the cloud provider for VMs of VMware vSphere.
//
// What it does: it initializes Nodes (provider ID, addresses, instance type,
// zone and region from tags), taints those whose VM is powered off or
// suspended, and makes Nodes be deleted whose VM was deleted. Several vCenters
// and datacenters can serve one cluster, and one that is slow or down delays
// only its own Nodes.
//
// Load balancers of Services are virtual servers in NSX-T (package loadbalancers), and routes
// to Pods static routes of a tier-1 gateway (package routes), if the cloud-config has them.
// The manager (package nsx) is called for them alone: without it, Nodes are initialized all
// the same.
//
// What it does not do: the paravirtual mode of Supervisor guest clusters is a provider of its
// own and is not part of this package.
//
// # How it finds VMs
//
// Each vCenter has one session (package session) and one change feed over its
// VMs (package inventory). Package nodes serves all queries for Nodes from the
// feeds; only a VM that no feed has is looked up by itself:
//
//	Node → instance.V2 → Source.Lookup → inventories (in memory)
//	                   → Source.Confirm → SearchIndex of every vCenter
//	                   → Source.Metadata → addresses, instance type; tags while
//	                                       the Node is not initialized
//
// Nothing is written to vCenter: a read-only role on the VMs and their
// ancestors is enough. What must outlive the process is a label of the Node: in
// which vCenter its VM was found, see LabelVCenter of package nodes.
package vsphere
