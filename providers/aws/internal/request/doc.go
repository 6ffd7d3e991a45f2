// Package request turns a Service, its Nodes and the configuration into what is
// asked of AWS. It is pure.
//
// What it promises: annotations, defaults and the order in which mistakes are
// reported are those of the documented interface, which never change; whatever
// is asked for and cannot be had is an error or a warning, never lost.
//
// When not to use it: to delete a load balancer, which must not depend on a valid
// Service.
package request
