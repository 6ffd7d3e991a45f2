package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of CPU time in /proc, on every architecture (https://man7.org/linux/man-pages/man7/time.7.html).
const tick = time.Second / 100

// cpuTime is the CPU time that a running process has used, in user and in kernel mode.
func cpuTime(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read CPU time: %w", err)
	}

	return parseCPU(string(stat))
}

// parseCPU reads the fields 14 and 15, utime and stime. The second one is the name of the program in
// parentheses, which may contain spaces and parentheses
// (https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html).
func parseCPU(stat string) (time.Duration, error) {
	const afterName, user, system = 3, 14 - 3, 15 - 3
	fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	if len(fields) <= system {
		return 0, fmt.Errorf("read CPU time: want %d fields at least, got %q", system+afterName, stat)
	}
	var used time.Duration
	for _, field := range []string{fields[user], fields[system]} {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read CPU time: %w", err)
		}
		used += time.Duration(ticks) * tick
	}

	return used, nil
}
