// Package request reads what a Service requests of its load balancer, without the cloud. It
// reports all mistakes together; a Service with a mistake changes nothing.
package request
