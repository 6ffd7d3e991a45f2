package scenario

import (
	"testing"
	"time"
)

// The log has the time of each node.
func TestTimesOf(t *testing.T) {
	t.Parallel()
	const log = `I0102 03:04:05.000001       1 node_controller.go:1] Initializing node a with cloud provider
I0102 03:04:05.500000       1 node_controller.go:1] Successfully initialized node a with cloud provider
I0102 03:04:06.000000       1 node_controller.go:1] Initializing node b with cloud provider
I0102 03:04:07.250000       1 node_controller.go:1] Successfully initialized node b with cloud provider
`
	first, last, err := timesOf(log)
	if err != nil || last.Sub(first) != 1750*time.Millisecond || first.Format("0102 15:04:05.0") != "0102 03:04:05.5" || time.Until(first) > time.Hour {
		t.Errorf("%v, %v, %v", first, last, err)
	}
	if _, _, err := timesOf("Successfully initialized node a"); err == nil {
		t.Error("a line without a time is read")
	}
}
