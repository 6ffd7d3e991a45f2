package instance_test

import (
	"errors"
	"testing"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

// TestResult proves what each result returns.
func TestResult(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason string
		result instance.Result
		found  bool
		absent bool
		is     error
		shown  string
	}{
		"Found":      {"an instance", found(instance.Stopped), true, false, nil, "found sim://one, Stopped"},
		"Terminated": {"still an instance for callers", found(instance.Terminated), true, false, nil, "found sim://one, Terminated"},
		"Absent":     {"no instance", instance.Absent(), false, true, cloudprovider.InstanceNotFound, "absent"},
		"AbsentToo":  {"and in our own words", instance.Absent(), false, true, apierr.ErrNotFound, "absent"},
		"Failed":     {"not known", instance.Failed(errCloud), false, false, errCloud, "error: the cloud is down"},
		"FailedNil":  {"a failure without error is one", instance.Failed(nil), false, false, nil, "error: the provider returned no result"},
		"FoundNil":   {"nothing was found", instance.Found(nil), false, false, nil, "error: the provider returned no result"},
		"Zero":       {"nothing was set", instance.Result{}, false, false, nil, "error: the provider returned no result"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i, err := tc.result.Get()
			if (i != nil) != tc.found || (err == nil) != tc.found || tc.result.IsAbsent() != tc.absent {
				t.Errorf("%s: got %v, %v, absent %t", tc.reason, i, err, tc.result.IsAbsent())
			}
			if tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("%s: got error %v", tc.reason, err)
			}
			if got := tc.result.String(); got != tc.shown {
				t.Errorf("%s: shown as %q", tc.reason, got)
			}
		})
	}
}

// TestReason proves that a mark changes nothing but what users see.
func TestReason(t *testing.T) {
	t.Parallel()

	if err := instance.WithReason(instance.ReasonNoZone, nil); err != nil {
		t.Errorf("an error was made of none: %v", err)
	}
	marked := instance.WithReason("Own", apierr.Mark(apierr.ErrDenied, errCloud))
	if !errors.Is(marked, errCloud) || !errors.Is(marked, apierr.ErrDenied) || marked.Error() != errCloud.Error() {
		t.Errorf("the error was changed: %v", marked)
	}
	mustEqual(t, "reason", instance.Reason("Own"), instance.ReasonOf(errors.Join(errID, marked)))
	mustEqual(t, "no reason", instance.Reason(""), instance.ReasonOf(errCloud))
	mustEqual(t, "no error", instance.Reason(""), instance.ReasonOf(nil))
}
