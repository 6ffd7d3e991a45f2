package service

import "fmt"

// Reason is the reason of an Event. Users write alerts on it, so it never changes.
type Reason string

// Warning is something that a user asked for and cannot have, or should know
// about, while the rest of the Service is served.
type Warning struct {
	Reason  Reason
	Message string
	// Normal means that the user has what was asked for, and should know something about it.
	Normal bool
}

// Warn returns a Warning.
func Warn(reason Reason, format string, args ...any) Warning {
	return Warning{Reason: reason, Message: fmt.Sprintf(format, args...)}
}
