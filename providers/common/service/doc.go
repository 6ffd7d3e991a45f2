// Package service has what load balancers of all clouds need around a Service:
// one lock for each, and Events for what a user should know.
//
// What it promises: calls for the same Service never run at the same time, and
// waiting for one ends with the caller's context; a warning that was given is not
// given again until it changes or is gone.
package service
