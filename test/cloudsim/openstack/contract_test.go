package openstack_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack/contract"
)

// contractDifference is a text in a recorded response that the simulated cloud has
// in another form, with the reason why it stays so.
type contractDifference struct {
	scenario, step      string
	recorded, simulated string
	reason              string
}

// contractDifferences is all that differs. An entry that is not needed any more fails
// the test.
var contractDifferences = []contractDifference{
	{"neutron-lists", "an operator lists ports of the server", "fake-1", "compute-1", "hosts have names that a deployment chooses"},
}

// contractTimeout bounds one scenario, all of which take less than a second.
const contractTimeout = 5 * time.Minute

// TestContract compares the simulated cloud with the responses of the real services:
// all scenarios, each on a cloud of its own.
func TestContract(t *testing.T) {
	t.Parallel()
	scenarios, err := contract.Scenarios()
	must(t, err)
	for _, d := range contractDifferences {
		if !slices.ContainsFunc(scenarios, func(s *contract.Scenario) bool { return s.Name == d.scenario }) {
			t.Errorf("difference in %s, step %q: no such scenario", d.scenario, d.step)
		}
	}
	for _, s := range scenarios {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			want, err := contract.Recorded(s.Name)
			must(t, err)
			target, err := newContractTarget()
			must(t, err)
			t.Cleanup(func() {
				if err := target.close(); err != nil {
					t.Error(err)
				}
			})
			ctx, cancel := context.WithTimeout(t.Context(), contractTimeout)
			defer cancel()
			got, err := contract.Play(ctx, target, s)
			if err != nil {
				t.Error(err)
			}
			for _, d := range contractDifferences {
				if d.scenario == s.Name {
					d.apply(t, want, got)
				}
			}
			for _, d := range contract.Differences(want, got) {
				t.Error(d)
			}
		})
	}
}

// apply gives a recorded response the form that the simulated cloud has.
func (d *contractDifference) apply(t *testing.T, want, got []contract.Record) {
	t.Helper()
	i := slices.IndexFunc(want, func(r contract.Record) bool { return r.Step == d.step })
	if i < 0 || !strings.Contains(want[i].Text, d.recorded) {
		t.Errorf("difference in step %q: the recorded response does not have %q", d.step, d.recorded)

		return
	}
	if i < len(got) && got[i].Text == want[i].Text {
		t.Errorf("step %q does not differ any more: remove it from the list (%s)", d.step, d.reason)
	}
	want[i].Text = strings.ReplaceAll(want[i].Text, d.recorded, d.simulated)
}
