//go:build unix && !linux

package process

// DropFromCache does nothing: peak memory is only measured on Linux.
func DropFromCache(string) error { return nil }
