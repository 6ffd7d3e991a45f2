package certainty_test

import (
	"testing"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
)

// TestLoadBalancerAbsent (OS-LB-3) has a case for each cell of the row about load balancers
// that are absent.
func TestLoadBalancerAbsent(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason string
		change func(*certainty.LoadBalancerEvidence)
		want   certainty.Kind
		why    error
	}{
		"Absent":  {"all of it is proven", func(*certainty.LoadBalancerEvidence) {}, certainty.Absent, nil},
		"NoLogin": {"the project is not known", func(e *certainty.LoadBalancerEvidence) { e.Project = "" }, certainty.Uncertain, certainty.ErrNoProject},
		"NoResponse": {"403, a time-out, a proxy's 404", func(e *certainty.LoadBalancerEvidence) {
			e.Response = certainty.NoResponse
		}, certainty.Uncertain, certainty.ErrNoLoadBalancerResponse},
		"Found":  {"it is there", func(e *certainty.LoadBalancerEvidence) { e.Response = certainty.Found }, certainty.Present, nil},
		"Listed": {"another one has its name", func(e *certainty.LoadBalancerEvidence) { e.Listed = true }, certainty.Present, nil},
		"Partial": {"a list without an end", func(e *certainty.LoadBalancerEvidence) {
			e.Complete = false
		}, certainty.Uncertain, certainty.ErrPartialLoadBalancers},
		"PartialByName": {"a page is missing", func(e *certainty.LoadBalancerEvidence) {
			e.ID, e.Response, e.Complete = "", certainty.NoResponse, false
		}, certainty.Uncertain, certainty.ErrPartialLoadBalancers},
		"ByName":      {"the ID was never written", func(e *certainty.LoadBalancerEvidence) { e.ID, e.Response = "", certainty.NoResponse }, certainty.Absent, nil},
		"OtherRegion": {"the Nodes are somewhere else", func(e *certainty.LoadBalancerEvidence) { e.Recorded = "RegionTwo" }, certainty.Uncertain, certainty.ErrRecordedRegion},
		"NoRecord":    {"Nodes without a region", func(e *certainty.LoadBalancerEvidence) { e.Recorded = "" }, certainty.Absent, nil},
		"NoOther": {"perhaps another project", func(e *certainty.LoadBalancerEvidence) {
			e.Other = time.Time{}
		}, certainty.Uncertain, certainty.ErrUnprovenProject},
		"OldOther": {"found too long ago", func(e *certainty.LoadBalancerEvidence) {
			e.Other = now.Add(-30*time.Second - 1)
		}, certainty.Uncertain, certainty.ErrUnprovenProject},
		"Other30s": {"found just in time", func(e *certainty.LoadBalancerEvidence) { e.Other = now.Add(-30 * time.Second) }, certainty.Absent, nil},
		"NoServers": {"a deletion in a cluster without Nodes", func(e *certainty.LoadBalancerEvidence) {
			e.Other, e.NoServers = time.Time{}, true
		}, certainty.Absent, nil},
		"NoServersPartial": {"a page is missing all the same", func(e *certainty.LoadBalancerEvidence) {
			e.Other, e.NoServers, e.Complete = time.Time{}, true, false
		}, certainty.Uncertain, certainty.ErrPartialLoadBalancers},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := certainty.LoadBalancerEvidence{
				Scope: scope(), ID: id, Response: certainty.NotFound, Complete: true, Recorded: "RegionOne",
				Other: now.Add(-time.Second), Now: now,
			}
			tc.change(&e)
			check(t, tc.reason, e.Verdict(), tc.want, tc.why)
		})
	}
}
