package scenario

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
)

// Initialized is what the framework logs after a node has lost its taint and got its addresses.
const Initialized = "Successfully initialized node"

// Initializations waits until a process has initialized n nodes, and returns when the first and the last one
// were. Its log has the times: a watch of all nodes would take the CPU time that is measured.
func Initializations(ctx context.Context, process *ccm.CCM, n int) (first, last time.Time, err error) {
	ctx, cancel := process.WhileRunning(ctx)
	defer cancel()
	for {
		log, err := process.Log()
		if err != nil {
			return first, last, err
		}
		if strings.Count(log, Initialized) >= n {
			return timesOf(log)
		}
		if err := Wait(ctx, logPeriod); err != nil {
			return first, last, fmt.Errorf("wait for %d nodes to be initialized: %w, the log ends with:\n%s", n, err, process.Tail())
		}
	}
}

// timesOf returns the times of the first and of the last node in a log.
func timesOf(log string) (first, last time.Time, err error) {
	for line := range strings.Lines(log) {
		if !strings.Contains(line, Initialized) {
			continue
		}
		if last, err = logTime(line); err != nil {
			return first, last, err
		}
		if first.IsZero() {
			first = last
		}
	}

	return first, last, nil
}

// logTime reads the time of a line of klog, which leaves out the year: "I1231 23:59:59.123456 ...".
func logTime(line string) (time.Time, error) {
	const format = "0102 15:04:05.000000"
	if len(line) <= len(format) {
		return time.Time{}, fmt.Errorf("no time in the line %q of a log", line)
	}
	at, err := time.ParseInLocation(format, line[1:1+len(format)], time.Local)
	if err != nil {
		return time.Time{}, fmt.Errorf("read a line of a log: %w", err)
	}
	now := time.Now()
	if at = at.AddDate(now.Year(), 0, 0); at.After(now.Add(time.Hour)) {
		at = at.AddDate(-1, 0, 0)
	}

	return at, nil
}
