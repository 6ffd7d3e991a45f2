// Package routes makes the routes to the Pods of Nodes in a Neutron router: [Routes] is the
// cloudprovider.Routes of the provider. Several changes that wait for the router are one
// request, and what Neutron has refused is not requested again for some time.
package routes
