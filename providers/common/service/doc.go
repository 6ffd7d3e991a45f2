// Package service has what every provider needs to serve Services of type
// LoadBalancer, beside its cloud: what to read from a Service, and the run of the
// operations on its load balancer.
//
//	SelectNodes, Ports       what a Service asks for
//	Reconciler.Run           one operation at a time for each Service, with a deadline and the
//	                         state that the last one has left
//	Apply                    logs and applies the plan
//	Reconciler.Report        warnings become Events on the Service
//	Reconciler.Incomplete    has the service controller try again when it is due
//	Reconciler.Publish       the result of EnsureLoadBalancer
//
// What it promises: operations on the same Service never run at the same time, and
// those on different Services do not wait for each other; a warning is not reported
// again until it changes or is gone; a load balancer that has an address but is not
// complete is synced again, has the address in the status of its Service meanwhile,
// and costs the less the longer the same is missing.
//
// When not to use it: for annotations, which package annotation reads, and for locks
// on what several Services share, for which package keylock is enough.
package service
