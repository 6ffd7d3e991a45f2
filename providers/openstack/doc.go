// Package openstack is the cloud provider for OpenStack.
//
// What it does: it initializes Nodes (provider ID, addresses, instance type, zone and
// region), taints those whose server is shut down, and makes Nodes be deleted whose
// server was deleted. It makes the routes of Nodes in a Neutron router, if the
// cloud-config names one. It makes the load balancers of Services in Octavia, with their
// floating IPs and security groups in Neutron.
//
// # How it finds servers
//
// There is one session (package client) and one list of all servers, and one of all
// ports, of the project (package inventory), which are read only when a Node is looked
// up, by package nodes. What the responses prove is decided in one place (package certainty):
//
//	Node → instance.V2 → Source.Lookup   → inventory: the list of servers
//	                   → Source.Confirm  → inventory: this server alone → certainty
//	                   → Source.Metadata → addresses: the server and the list of ports
//	                                       labels: the server, its flavor if need be
//
// Nothing is written to OpenStack for Nodes: the role reader in the project is enough.
// Routes (package routes) change the router, and the address pairs of the servers' ports.
//
// # How it makes load balancers
//
//	Service, Nodes → request.ForEnsure ─┐
//	lists that Services share (snapshot) ├→ octavia, floatingip, securitygroup: Build, Diff
//	or: find, octavia.Read, Observe ─────┘                  → plan → change.Env → Octavia, Neutron
//	                                                        → annotations, status, Events
//
// Shared lists decide only that nothing is to be done, or that members are to be added. For
// everything else the load balancer is found and locked, and its parts are read alone. What
// belongs to a Service is decided by package certainty.
package openstack
