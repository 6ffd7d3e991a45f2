package main

import (
	"runtime/debug"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

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

// memoryLimitPeriod is how often the memory limit of the container is read: it can be changed.
const memoryLimitPeriod = time.Minute

// followMemoryLimit has the garbage collector work harder at 90 % of the memory limit of the container,
// unless the environment variable GOMEMLIMIT is set. Without a limit, or without cgroups, nothing changes.
func followMemoryLimit() {
	_, _ = memlimit.SetGoMemLimitWithOpts(memlimit.WithRefreshInterval(memoryLimitPeriod))
}
