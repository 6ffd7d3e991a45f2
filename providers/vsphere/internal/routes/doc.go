// Package routes makes the routes to the Pods of Nodes in a tier-1 gateway of NSX-T:
// [Routes] is the cloudprovider.Routes of the provider.
//
// Each is a static route with the range of the Pods as its network and an address of the
// Node as its next hop. IDs, names and tags are those of the upstream controller manager,
// so that each of the two finds the routes of the other.
package routes
