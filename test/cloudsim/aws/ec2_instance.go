package aws

import "time"

// Instance states.
const (
	Pending      = "pending"
	Running      = "running"
	ShuttingDown = "shutting-down"
	Terminated   = "terminated"
	Stopping     = "stopping"
	Stopped      = "stopped"
)

// stateCodes are the numbers of the states.
var stateCodes = map[string]int{Pending: 0, Running: 16, ShuttingDown: 32, Terminated: 48, Stopping: 64, Stopped: 80}

type instance struct {
	tagged
	birth
	id, kind, zone, state string // kind is the instance type
	subnet, vpc           string // empty when terminated
	interfaces            []string
	privateDNS            string
	launched              time.Time
	nodes                 []string // topology, outermost first
}
