//go:build unix

package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// PeakRSS is the most memory that the running child has held, in bytes. What
// the system reports of a process that has ended would not do: it counts what
// the parent held when the process was made.
func (p *Process) PeakRSS() (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		return 0, fmt.Errorf("read peak memory: %w", err)
	}

	return parsePeak(string(status))
}

func parsePeak(status string) (int64, error) {
	for line := range strings.Lines(status) {
		value, ok := strings.CutPrefix(line, "VmHWM:")
		if !ok {
			continue
		}
		kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read peak memory: %w", err)
		}

		return kilobytes << 10, nil
	}

	return 0, fmt.Errorf("read peak memory: no VmHWM in %q", status)
}
