package harness

import (
	"fmt"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
)

// Outages are the cases about failures of the whole cloud, of which each suite has
// the same two.
type Outages[A, F any] struct {
	// FromStartName and LaterName are the rest of their names.
	FromStartName, LaterName string
	// Without returns what the adapter declares: that the provider cannot be
	// connected during a failure, and that the cloud does not throttle.
	Without func(adapter A) (coldStart, throttling bool)
	// FromStart runs with a provider that is connected during the failure, Later
	// with one that worked before.
	FromStart, Later func(f F, failure conformance.Failure)
}

// Cases returns two cases for each failure.
func (o Outages[A, F]) Cases() []Case[A, F] {
	var cases []Case[A, F]
	for _, failure := range conformance.Failures() {
		leftOut := func(adapter A) bool {
			_, throttling := o.Without(adapter)

			return failure == conformance.Throttling && throttling
		}
		cases = append(cases,
			Case[A, F]{
				Name: fmt.Sprintf("a cloud %s from the start %s, then recovers", failure, o.FromStartName),
				LeftOut: func(adapter A) bool {
					coldStart, _ := o.Without(adapter)

					return coldStart || leftOut(adapter)
				},
				Run: func(f F) { o.FromStart(f, failure) },
			},
			Case[A, F]{
				Name:    fmt.Sprintf("a cloud %s later %s, then recovers", failure, o.LaterName),
				LeftOut: leftOut,
				Run:     func(f F) { o.Later(f, failure) },
			},
		)
	}

	return cases
}

// CheckMeaning fails the case if the error of a call during a failure has another
// meaning: the page of a proxy says nothing about the cloud.
func (f *Fixture[C]) CheckMeaning(what string, failure conformance.Failure, err error) {
	f.T.Helper()
	if err == nil || failure.Page() == 0 {
		return
	}
	if code := apierr.Code(err); code != apierr.CodeUnavailable && code != apierr.CodeTimeout {
		f.T.Errorf("%s: the error of a page with status %d means %s, not unavailable: %v", what, failure.Page(), code, err)
	}
}
