// Package vsphere simulates vCenters: real SOAP and REST over TLS on loopback,
// an inventory that a few lines of YAML describe, and faults on demand. It is
// govmomi's vcsim, seeded, fenced and repaired where a vCenter does better.
package vsphere
