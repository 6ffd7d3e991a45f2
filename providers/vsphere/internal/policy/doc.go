// Package policy has the objects of the policy API of NSX-T that make up the load balancer
// of a Service: their IDs, paths, names and tags, and the fields that are read and written.
//
//	LBService             one for the cluster
//	IpAddressAllocation   one for each IP family of a Service
//	LBVirtualServer       one for each port and IP family
//	LBPool                the same
//	LB...MonitorProfile   the same, but for UDP
//	Group                 one for a Service with source ranges
//
// Names, tags and descriptions are those of the upstream controller manager, which finds
// objects by their tags. IDs are not: those of new objects are derived from what they are
// for, so that creating an object again never makes a second one.
package policy
