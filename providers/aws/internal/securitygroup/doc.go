// Package securitygroup makes the security groups of load balancers, and the
// rules by which nodes let load balancers in.
//
// What it promises: names, descriptions and the form of rules are those of all
// AWS cloud controller managers; a group that a user brings is never edited or
// deleted; in the groups of nodes nothing is revoked but rules of exactly the
// form that is made here, and none that another load balancer needs.
//
//	Kind     Rule in the group of nodes                     Known as ours by
//	classic  all protocols from the load balancer's group   its source
//	network  node port from each source range               its description
//	network  health check port from each subnet             its description
//	network  path MTU messages from each source range       its description, for
//	                                                        all load balancers
//
// EC2 takes two rules that differ in their description alone for the same, so
// load balancers share rules. They are therefore compared and written under one
// lock for each VPC, from groups that nobody has written since they were read; see
// [NodeDiff] and [Reader].
package securitygroup
