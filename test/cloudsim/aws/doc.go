// Package aws simulates a region of AWS: EC2, classic and network load
// balancing, STS and instance metadata, over plain HTTP on loopback.
package aws
