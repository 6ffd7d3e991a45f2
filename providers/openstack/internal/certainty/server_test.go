package certainty_test

import (
	"context"
	"errors"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
)

const (
	id      = "0f1e2d3c-4b5a-4987-8123-456789abcdef"
	project = "p1"
)

func scope() certainty.Scope { return certainty.Scope{Project: project, Region: "RegionOne"} }

// check compares a verdict with what is wanted.
func check(t *testing.T, reason string, got certainty.Verdict, kind certainty.Kind, because error) {
	t.Helper()
	if got.Kind != kind || !errors.Is(got.Reason, because) || (because == nil) != (got.Reason == nil) {
		t.Errorf("%s: %s, %v; want %s, %v", reason, got.Kind, got.Reason, kind, because)
	}
}

// TestExists has a case for each cell of the row "present" (OS-NODE-6, OS-NODE-7).
func TestExists(t *testing.T) {
	t.Parallel()

	row := func(change func(*certainty.Row)) certainty.Row {
		r := certainty.Row{ID: id, Name: "node-1", Status: "ACTIVE", Project: project}
		change(&r)

		return r
	}
	cases := map[string]struct {
		reason string
		scope  certainty.Scope
		row    certainty.Row
		want   certainty.Kind
		why    error
	}{
		"Active":       {"a row with a name and a status", scope(), row(func(*certainty.Row) {}), certainty.Present, nil},
		"Error":        {"a failed server exists", scope(), row(func(r *certainty.Row) { r.Status = "ERROR" }), certainty.Present, nil},
		"SoftDeleted":  {"it can be restored", scope(), row(func(r *certainty.Row) { r.Status = "SOFT_DELETED" }), certainty.Present, nil},
		"Shelved":      {"it can be unshelved", scope(), row(func(r *certainty.Row) { r.Status = "SHELVED_OFFLOADED" }), certainty.Present, nil},
		"Capitals":     {"UUIDs have no case", scope(), row(func(r *certainty.Row) { r.ID = "0F1E2D3C-4B5A-4987-8123-456789ABCDEF" }), certainty.Present, nil},
		"DownCell":     {"a row without anything", scope(), row(func(r *certainty.Row) { r.Status, r.Name = "UNKNOWN", "" }), certainty.Uncertain, certainty.ErrUnknownStatus},
		"Unknown":      {"a state that Nova has no name for", scope(), row(func(r *certainty.Row) { r.Status = "UNKNOWN" }), certainty.Present, nil},
		"NoStatus":     {"half a row", scope(), row(func(r *certainty.Row) { r.Status = "" }), certainty.Uncertain, certainty.ErrUnknownStatus},
		"NoName":       {"half a row", scope(), row(func(r *certainty.Row) { r.Name = "" }), certainty.Uncertain, certainty.ErrNoName},
		"NoProject":    {"half a row", scope(), row(func(r *certainty.Row) { r.Project = "" }), certainty.Uncertain, certainty.ErrNoName},
		"OtherProject": {"an operator reads all projects", scope(), row(func(r *certainty.Row) { r.Project = "p2" }), certainty.Uncertain, certainty.ErrOtherProject},
		"OtherServer":  {"a response for another request", scope(), row(func(r *certainty.Row) { r.ID = "x" }), certainty.Uncertain, certainty.ErrOtherServer},
		"Deleted":      {"changes-since lists deleted ones", scope(), row(func(r *certainty.Row) { r.Status = "DELETED" }), certainty.Absent, nil},
		"NoLogin":      {"the project is not known", certainty.Scope{}, row(func(*certainty.Row) {}), certainty.Uncertain, certainty.ErrNoProject},
		"ZeroRow":      {"nothing is no server", scope(), certainty.Row{}, certainty.Uncertain, certainty.ErrOtherServer},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, tc.reason, tc.scope.Exists(id, tc.row), tc.want, tc.why)
		})
	}
}

// TestPower has a case for each cell of the row "shutdown" (OS-NODE-8).
func TestPower(t *testing.T) {
	t.Parallel()

	for _, status := range []string{
		"ACTIVE", "BUILD", "DELETING", "ERROR", "HARD_REBOOT", "MIGRATING", "PASSWORD", "PAUSED", "REBOOT", "REBUILD", "RESCUE", "RESIZE",
		"REVERT_RESIZE", "SHELVED", "SHELVED_OFFLOADED", "SOFT_DELETED", "SUSPENDED", "VERIFY_RESIZE", "shutoff", "Shutoff",
	} {
		for _, alone := range []bool{false, true} {
			if got := certainty.Power(status, alone); got != instance.Running {
				t.Errorf("%s: %s", status, got)
			}
		}
	}
	cases := map[string]struct {
		reason string
		status string
		alone  bool
		want   instance.State
	}{
		"Alone":   {"a response about this server alone", "SHUTOFF", true, instance.Stopped},
		"Listed":  {"a list may be out of date", "SHUTOFF", false, instance.Unknown},
		"Unknown": {"a cell that is down", "UNKNOWN", true, instance.Unknown},
		"Deleted": {"the server is not there", "DELETED", true, instance.Unknown},
		"Empty":   {"no status", "", true, instance.Unknown},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := certainty.Power(tc.status, tc.alone); got != tc.want {
				t.Errorf("%s: %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

// TestResponseOf (OS-NODE-4): only what the client took for Nova's own 404 is one.
func TestResponseOf(t *testing.T) {
	t.Parallel()

	text := errors.New("404: itemNotFound")
	cases := map[string]struct {
		reason string
		err    error
		want   certainty.Response
	}{
		"Found":       {"no error", nil, certainty.Found},
		"NotFound":    {"Nova's own 404", apierr.Mark(apierr.ErrNotFound, text), certainty.NotFound},
		"Proxy":       {"a 404 of a proxy", apierr.Mark(apierr.ErrUnavailable, text), certainty.NoResponse},
		"Both":        {"a 404 after the login failed", apierr.Mark(apierr.ErrDenied, apierr.Mark(apierr.ErrNotFound, text)), certainty.NoResponse},
		"Denied":      {"401 and 403", apierr.Mark(apierr.ErrDenied, text), certainty.NoResponse},
		"Throttled":   {"429", apierr.Mark(apierr.ErrThrottled, text), certainty.NoResponse},
		"Invalid":     {"406, 400", apierr.Mark(apierr.ErrInvalid, text), certainty.NoResponse},
		"Timeout":     {"no response in time", context.DeadlineExceeded, certainty.NoResponse},
		"Unmarked":    {"texts mean nothing", text, certainty.NoResponse},
		"Unavailable": {"5xx", apierr.Mark(apierr.ErrUnavailable, errors.New("503")), certainty.NoResponse},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := certainty.ResponseOf(tc.err); got != tc.want {
				t.Errorf("%s: %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}

// TestByName has a case for each cell of the row for Nodes without a provider ID
// (OS-NODE-3).
func TestByName(t *testing.T) {
	t.Parallel()

	named := func(names ...string) []certainty.Row {
		rows := make([]certainty.Row, len(names))
		for i, name := range names {
			rows[i] = certainty.Row{ID: id, Name: name, Status: "ACTIVE", Project: project}
		}

		return rows
	}
	foreign := certainty.Row{ID: id, Name: "node-1", Status: "ACTIVE", Project: "p2"}
	deleted := certainty.Row{ID: id, Name: "node-1", Status: "DELETED", Project: project}
	down := certainty.Row{ID: id, Status: "UNKNOWN", Project: project}
	cases := map[string]struct {
		reason   string
		rows     []certainty.Row
		complete bool
		want     int
		err      error
	}{
		"One":         {"exactly one has the name", named("a", "node-1"), true, 1, nil},
		"None":        {"no error, and no proof either", named("a"), true, -1, nil},
		"Two":         {"any choice could be wrong", named("node-1", "node-1"), true, -1, certainty.ErrSeveral},
		"OtherCase":   {"MySQL does not distinguish case", named("a", "Node-1"), true, 1, nil},
		"Exact":       {"the exact name wins", named("NODE-1", "node-1", "Node-1"), true, 1, nil},
		"TwoCases":    {"neither is exact", named("NODE-1", "Node-1"), true, -1, certainty.ErrSeveral},
		"Part":        {"names are compared whole", named("node-10", "xnode-1"), true, -1, nil},
		"Partial":     {"another page may have a second one", named("node-1"), false, -1, certainty.ErrPartialList},
		"DownCell":    {"a server without a name may be a second one", append(named("node-1"), down), true, -1, certainty.ErrPartialList},
		"Unknown":     {"a state that Nova has no name for", []certainty.Row{{ID: id, Name: "node-1", Status: "UNKNOWN", Project: project}}, true, 0, nil},
		"Foreign":     {"another project's server is none of ours", append(named("node-1"), foreign), true, 0, nil},
		"OnlyForeign": {"another project's server is none of ours", []certainty.Row{foreign}, true, -1, nil},
		"Deleted":     {"a deleted server has no Node", []certainty.Row{deleted}, true, -1, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := scope().ByName("node-1", tc.rows, tc.complete)
			if got != tc.want || !errors.Is(err, tc.err) || (err == nil) != (tc.err == nil) {
				t.Errorf("%s: %d, %v; want %d, %v", tc.reason, got, err, tc.want, tc.err)
			}
		})
	}
	if _, err := (certainty.Scope{}).ByName("node-1", named("node-1"), true); !errors.Is(err, certainty.ErrPartialList) {
		t.Errorf("without a project: %v", err)
	}
}
