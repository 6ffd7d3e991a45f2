// Package networks finds the networks and subnets that addresses of load balancers come
// from: the external network and the subnets of floating IPs, and the subnets of Nodes.
//
// What it promises: the same choice for the same state of Neutron; what cannot be seen is
// no verdict, since subnets of external networks are invisible to most users; a failed
// read is an error, never an empty result; what many Services need is read once for all
// of them.
//
// When not to use it: if the user has set the IDs, which are sent as they are.
package networks
