package main

import "runtime/debug"

// gcPercent is how much garbage there may be for each hundred bytes in use. Most
// of what is in use are Nodes and Services that hardly ever change, so looking
// for garbage twice as often as usual costs little and saves a sixth of the
// memory.
const gcPercent = 50

// saveMemory collects garbage more often, unless the environment variable GOGC
// says how often.
func saveMemory(gogc string) {
	if gogc == "" {
		debug.SetGCPercent(gcPercent)
	}
}
