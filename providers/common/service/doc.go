// Package service turns what a user should know about a Service into Events.
//
// What it promises: a warning that was given is not given again until it changes
// or is gone.
package service
