package instance

import "errors"

// Reason is the reason of an Event that a Node cannot be initialized or
// deleted. Users write alerts on it, so it never changes.
type Reason string

// The reasons in use. A provider may have more of its own.
const (
	// ReasonInstanceNotFound means that no instance fits the Node.
	ReasonInstanceNotFound Reason = "InstanceNotFound"
	// ReasonAmbiguousInstance means that several instances fit the Node.
	ReasonAmbiguousInstance Reason = "AmbiguousInstance"
	// ReasonNoAddress means that the instance has no address that the
	// configuration lets us use.
	ReasonNoAddress Reason = "NoAddress"
	// ReasonNoZone means that the zone or region that the configuration
	// requires cannot be determined.
	ReasonNoZone Reason = "NoZone"
	// ReasonNoInstanceFound means that the instance is missing and that no
	// instance of any Node was found by its ID since the start, or since its
	// server was restarted or replaced, so that the
	// cloud may be the wrong one.
	ReasonNoInstanceFound Reason = "NoInstanceFound"
	// ReasonDeletionHeld means that the instance is gone, and that the Node is kept for
	// now, because too many Nodes were deleted just before.
	ReasonDeletionHeld Reason = "DeletionHeld"
	// ReasonOtherRegion means that spec.providerID names a place that the
	// configured region does not contain.
	ReasonOtherRegion Reason = "InstanceInOtherRegion"
	// ReasonInvalidProviderID means that spec.providerID is none of this cloud
	// nor of another one.
	ReasonInvalidProviderID Reason = "InvalidProviderID"
)

// reasoned is an error that is recorded on the Node.
type reasoned struct {
	reason Reason
	err    error
}

// WithReason marks an error as something that a user can act on: [V2] then
// records a warning Event on the Node. The text of err becomes that of the
// Event; it should be the same each time, without request IDs or times. What
// is wrapped around the marked error later goes to the log only. Without an err
// the result is nil.
func WithReason(reason Reason, err error) error {
	if err == nil {
		return nil
	}

	return &reasoned{reason: reason, err: err}
}

// ReasonOf is the outermost reason that err was marked with, or empty.
func ReasonOf(err error) Reason {
	if marked, ok := errors.AsType[*reasoned](err); ok {
		return marked.reason
	}

	return ""
}

// Error is the text of the marked error.
func (r *reasoned) Error() string { return r.err.Error() }

// Unwrap returns the marked error.
func (r *reasoned) Unwrap() error { return r.err }
