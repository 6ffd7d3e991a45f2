// Package securitygroup manages the security groups of load balancers, and the
// rules of node security groups that allow traffic from load balancers.
//
// What it promises: names, descriptions and the form of rules are compatible
// with all AWS cloud controller managers; a group of a user is never changed or
// deleted; in the groups of nodes only rules in the form of this package are
// revoked, and none that another load balancer needs.
//
//	Kind     Rule in the group of nodes                     Known as ours by
//	classic  all protocols from the load balancer's group   its source
//	network  node port from each source range               its description
//	network  health check port from each subnet             its description
//	network  path MTU messages from each source range       its description, for
//	                                                        all load balancers
//
// For EC2, two rules that differ only in their description are equal, so load
// balancers share rules. They are therefore compared and written under one lock
// for each VPC, from groups that were not written since they were read; see
// [NodeDiff] and [Reader].
package securitygroup
