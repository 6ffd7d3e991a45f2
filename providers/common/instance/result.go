package instance

import (
	"errors"
	"fmt"
	"slices"
	"time"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// The errors of a Result without an instance.
var (
	errAbsent   = apierr.Mark(apierr.ErrNotFound, cloudprovider.InstanceNotFound)
	errNoResult = errors.New("the provider returned no result")
)

// Result is the result for one Ref: found, absent, or an error. The zero value
// is an error, so that a missing result never looks like a missing instance.
type Result struct {
	instance Instance
	absent   bool
	// gone marks an absent instance that cannot be a new one, which the cloud
	// may not show yet.
	gone bool
	// kept is why an absent instance does not make its Node gone yet.
	kept error
	// byName marks an instance that was not found by its ID.
	byName bool
	err    error
	// reports are what the result is from.
	reports []Report
}

// Found is the result with an instance. Without one it is an error.
func Found(i Instance) Result { return Result{instance: i} }

// FoundByName is [Found] for an instance that matches a name or an IP address,
// which an instance of another account or server may have as well. It is no
// evidence that the configuration names the right one.
func FoundByName(i Instance) Result { return Result{instance: i, byName: true} }

// Absent means that every location where the instance could be was queried and
// does not have it.
func Absent() Result { return Result{absent: true} }

// Gone is [Absent] for an instance that is certainly not just invisible because
// it is new. The Node may then be removed whatever its age.
func Gone() Result { return Result{absent: true, gone: true} }

// Missing is [Absent] for an instance that may come back: the Node is kept for the
// given reason, whose text must be the same each time. With [WithReason] the Node
// has an Event as well.
func Missing(reason error) Result { return Result{absent: true, kept: reason} }

// Failed means that it is not known whether there is an instance, whatever
// err means by itself: even a not-found error is a failure here.
func Failed(err error) Result { return Result{err: err} }

// From adds what a place of the cloud returned about the instance. It is for the result of
// a Confirm: one without it is from the provider as a whole.
func (r Result) From(place, said string) Result {
	r.reports = append(slices.Clone(r.reports), Report{Place: place, Said: said})

	return r
}

// queried sets when the reports were made.
func (r Result) queried(provider string, at time.Time) Result {
	if len(r.reports) == 0 {
		r = r.From(provider, r.String())
	}
	r.reports = slices.Clone(r.reports)
	for i := range r.reports {
		r.reports[i].Time = at
	}

	return r
}

// IsAbsent reports whether the result is Absent, Gone or Missing. It is the only way to find out:
// the error of Get may look the same for a Failed result.
func (r Result) IsAbsent() bool { return r.absent }

// Get returns the instance that was found. For an absent one the error is both
// apierr.ErrNotFound and cloudprovider.InstanceNotFound.
func (r Result) Get() (Instance, error) {
	switch {
	case r.absent:
		return nil, errAbsent
	case r.err != nil:
		return nil, r.err
	case r.instance == nil:
		return nil, errNoResult
	}

	return r.instance, nil
}

// String formats the result, for logs and test output.
func (r Result) String() string {
	found, err := r.Get()
	switch {
	case r.absent:
		return "absent"
	case err != nil:
		return fmt.Sprintf("error: %v", err)
	}

	return fmt.Sprintf("found %s, %s", found.ProviderID(), found.State())
}

// living is the result with a terminated instance counted as absent.
func (r Result) living() Result {
	if found, err := r.Get(); err == nil && found.State() == Terminated {
		gone := Gone()
		gone.reports = r.reports

		return gone
	}

	return r
}
