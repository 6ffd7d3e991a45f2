package explore

import (
	"context"
	"fmt"
)

// Fault is what happens to one call.
type Fault int

// The faults of a call.
const (
	// Throttled: the call is not applied, and the response asks for fewer calls.
	Throttled Fault = iota
	// Failed: the call is not applied, and the response is an internal error.
	Failed
	// Dropped: the call is not applied, and the connection is closed.
	Dropped
	// Lost: the call is applied, and the connection is closed before the response.
	Lost
	// Killed: the call is not applied, and the process ends.
	Killed
	// KilledLate: the call is applied, and the process ends before the response.
	KilledLate
)

// Faults returns all faults.
func Faults() []Fault { return []Fault{Throttled, Failed, Dropped, Lost, Killed, KilledLate} }

// Applied reports whether the cloud applies the call.
func (f Fault) Applied() bool { return f == Lost || f == KilledLate }

// String returns the fault as part of a test's name.
func (f Fault) String() string {
	switch f {
	case Throttled:
		return "throttled"
	case Failed:
		return "failed"
	case Dropped:
		return "dropped"
	case Lost:
		return "lost"
	case Killed:
		return "killed"
	case KilledLate:
		return "killed before the response"
	}

	return fmt.Sprintf("Fault(%d)", int(f))
}

// Injection selects calls by their number, counted from 1 since the fault was
// injected, and the fault that they get.
type Injection struct {
	// First is the number of the first call that gets the fault.
	First int
	// Once limits the fault to that call; otherwise all later calls get it, too.
	Once bool
	// Fault is what happens to the call.
	Fault Fault
	// Kill ends the process. The cloud calls it for faults that end the process,
	// before it closes the connection.
	Kill context.CancelFunc
}

// Injections returns the ways to inject faults that are worth exploring at each
// call, without the number of the call.
func Injections() []Injection {
	var all []Injection
	for _, fault := range Faults() {
		all = append(all, Injection{Fault: fault})
	}

	return append(all, Injection{Fault: Failed, Once: true}, Injection{Fault: Lost, Once: true})
}

// Kind returns the injection without its call as part of a test's name.
func (i Injection) Kind() string {
	switch {
	case i.Fault == Killed:
		return "the process is killed before any call"
	case i.Fault == KilledLate:
		return "the process is killed after any call"
	case i.Once:
		return "any one call is " + i.Fault.String()
	}

	return "all calls from any on are " + i.Fault.String()
}

// String returns the injection as part of a message.
func (i Injection) String() string {
	if i.Once {
		return fmt.Sprintf("call %d %s", i.First, i.Fault)
	}

	return fmt.Sprintf("calls from %d on %s", i.First, i.Fault)
}
