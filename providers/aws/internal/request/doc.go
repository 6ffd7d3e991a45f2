// Package request derives the desired load balancer from a Service, its Nodes
// and the configuration. It is pure.
//
// What it promises: annotations, defaults and the order of validation are those
// of the documented interface, which never change; a setting that is not
// supported is an error or a warning, never ignored without one.
//
// When not to use it: to delete a load balancer, which must not depend on a valid
// Service.
package request
