// Package nodes finds the servers of Nodes and describes them: [Source] is the
// instance.Source of the provider. It decides which addresses, zone and instance type a
// Node gets, and what its provider ID is. Servers and ports are read by package inventory,
// and package certainty decides when a server is gone.
package nodes
