package main

import "runtime/debug"

// gcPercent is the value of GOGC. Most of the heap are Nodes and Services that
// rarely change, so collecting twice as often as by default costs little and
// saves a sixth of the memory.
const gcPercent = 50

// setGCPercent sets gcPercent, unless the environment variable GOGC is set.
func setGCPercent(gogc string) {
	if gogc == "" {
		debug.SetGCPercent(gcPercent)
	}
}
