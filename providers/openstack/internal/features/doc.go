// Package features decides what the Octavia API of a cloud and the provider of a load
// balancer can do. It is pure.
//
//	ParseVersion, Current   the version of the API, from its version document
//	For                     the features of load balancers of a provider
//	Features.Has            one option
//	Features.Monitor        the type of a health monitor
//	ValidPair               which pools a listener can have
//
// What it promises: versions are compared as numbers; an option that is not known to be
// missing is there, so that a cloud with a provider that is not in the tables is used in
// full, and its own response decides.
//
// When not to use it: with the provider of the cloud-config for a load balancer that
// exists. Its own provider decides, since it can be shared, adopted or made by a user.
package features
