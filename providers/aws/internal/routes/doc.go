// Package routes makes the routes to the pods of Nodes in the route table of a cluster:
// [Routes] is the cloudprovider.Routes of the provider.
package routes
