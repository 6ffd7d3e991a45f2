//go:build unix && !linux

package main

// dropFromCache does nothing: peak memory is only measured on Linux.
func dropFromCache(string) error { return nil }
