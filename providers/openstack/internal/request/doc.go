// Package request derives the desired load balancer from a Service, its Nodes
// and the configuration. It is pure.
//
//	ForEnsure, ForUpdate   what the Service and the cloud-config decide
//	Request.Resolve        what also depends on the provider and the VIP
//	Request.Ingress        the status of the Service
//	Names                  names, descriptions and tags, without a valid Service
//
// What it promises: names, texts, annotations and defaults are those of the existing
// cloud controller manager, which never change; all mistakes are returned at once, before
// anything is written; a value that is not used is a warning.
//
// When not to use it: to delete a load balancer, which must not depend on a valid
// Service. Names is enough for that.
package request
