package certainty_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// evidence is of a server whose deletion is on record.
func evidence() certainty.Evidence {
	return certainty.Evidence{
		Scope: scope(), ID: id, Response: certainty.NotFound, Actions: certainty.ActionsDelete,
		Other: now.Add(-time.Second), Missing: 1, Nodes: 100, Since: now, Now: now,
	}
}

// goneCase is a case of TestVerdict.
type goneCase struct {
	reason string
	change func(*certainty.Evidence)
	want   certainty.Kind
	why    error
}

// identityCells are those about where the server is looked for (OS-NODE-2, OS-NODE-5).
func identityCells() map[string]goneCase {
	return map[string]goneCase{
		"NotUUID":     {"Nova responds with 404 to any text", func(e *certainty.Evidence) { e.ID = "worker-1" }, certainty.Uncertain, certainty.ErrNotUUID},
		"NoID":        {"no ID", func(e *certainty.Evidence) { e.ID = "" }, certainty.Uncertain, certainty.ErrNotUUID},
		"OtherRegion": {"another region has it", func(e *certainty.Evidence) { e.NodeRegion = "RegionTwo" }, certainty.Uncertain, certainty.ErrOtherRegion},
		"NoRegion": {"a region that is not configured", func(e *certainty.Evidence) {
			e.NodeRegion, e.Region = "RegionOne", ""
		}, certainty.Uncertain, certainty.ErrOtherRegion},
		"SameRegion": {"the configured region", func(e *certainty.Evidence) { e.NodeRegion = "RegionOne" }, certainty.Gone, nil},
		"NoLogin":    {"the project is not known", func(e *certainty.Evidence) { e.Project = "" }, certainty.Uncertain, certainty.ErrNoProject},
	}
}

// responseCells are those about the GET and the actions (OS-NODE-4).
func responseCells() map[string]goneCase {
	return map[string]goneCase{
		"NoResponse": {"401, 403, 406, 429, 5xx, a proxy's 404, a list", func(e *certainty.Evidence) {
			e.Response = certainty.NoResponse
		}, certainty.Uncertain, certainty.ErrNoResponse},
		"Found": {"the server is there, whatever its actions are", func(e *certainty.Evidence) {
			e.Response = certainty.Found
		}, certainty.Uncertain, certainty.ErrNoResponse},
		"Delete": {"the deletion is on record", func(*certainty.Evidence) {}, certainty.Gone, nil},
		"DeleteWithoutOther": {"a record needs no other server", func(e *certainty.Evidence) {
			e.Other, e.Missing = time.Time{}, 100
		}, certainty.Gone, nil},
		"Unread": {"the actions may say anything", func(e *certainty.Evidence) {
			e.Actions = certainty.ActionsUnread
		}, certainty.Uncertain, certainty.ErrNoActions},
		"Other": {"deleted while its host was down", func(e *certainty.Evidence) {
			e.Actions = certainty.ActionsOther
		}, certainty.Absent, nil},
		"Denied": {"the other server must do", func(e *certainty.Evidence) {
			e.Actions = certainty.ActionsDenied
		}, certainty.Absent, nil},
		"Unsupported": {"the other server must do", func(e *certainty.Evidence) {
			e.Actions = certainty.ActionsUnsupported
		}, certainty.Absent, nil},
		"None": {"archived, or alive without a mapping", func(e *certainty.Evidence) {
			e.Actions = certainty.ActionsNone
		}, certainty.Kept, certainty.ErrSettling},
		"NoneForLong": {"an upgrade does not take that long", func(e *certainty.Evidence) {
			e.Actions, e.Since = certainty.ActionsNone, now.Add(-certainty.Settle)
		}, certainty.Absent, nil},
	}
}

// otherCells are those about servers of other Nodes (OS-NODE-5).
func otherCells() map[string]goneCase {
	without := func(change func(*certainty.Evidence)) func(*certainty.Evidence) {
		return func(e *certainty.Evidence) {
			e.Actions = certainty.ActionsOther
			change(e)
		}
	}

	return map[string]goneCase{
		"NoOther":  {"the project may be another one", without(func(e *certainty.Evidence) { e.Other = time.Time{} }), certainty.Uncertain, certainty.ErrNoOther},
		"OldOther": {"found too long ago", without(func(e *certainty.Evidence) { e.Other = now.Add(-30*time.Second - 1) }), certainty.Uncertain, certainty.ErrNoOther},
		"Other30s": {"found just in time", without(func(e *certainty.Evidence) { e.Other = now.Add(-30 * time.Second) }), certainty.Absent, nil},
		"NoOtherForLong": {"time proves nothing about the project", without(func(e *certainty.Evidence) {
			e.Other, e.Since = time.Time{}, now.Add(-24*time.Hour)
		}), certainty.Uncertain, certainty.ErrNoOther},
	}
}

// manyCells are those about many missing servers (OS-NODE-5).
func manyCells() map[string]goneCase {
	missing := func(missing, nodes int, since time.Duration) func(*certainty.Evidence) {
		return func(e *certainty.Evidence) {
			e.Actions = certainty.ActionsDenied
			e.Missing, e.Nodes, e.Since = missing, nodes, now.Add(-since)
		}
	}

	return map[string]goneCase{
		"ThreeOfFour":      {"three are few in any cluster", missing(3, 4, 0), certainty.Absent, nil},
		"FourOfFive":       {"more than three and a tenth", missing(4, 5, 0), certainty.Kept, certainty.ErrSettling},
		"TenOfHundred":     {"a tenth is few", missing(10, 100, 0), certainty.Absent, nil},
		"ElevenOfHundred":  {"more than a tenth", missing(11, 100, 0), certainty.Kept, certainty.ErrSettling},
		"UnknownNumber":    {"nothing is known about the cluster", missing(1, 0, 0), certainty.Kept, certainty.ErrSettling},
		"ManyNotLong":      {"still less than 13 minutes", missing(50, 100, certainty.Settle-1), certainty.Kept, certainty.ErrSettling},
		"ManyForLong":      {"missing for 13 minutes", missing(50, 100, certainty.Settle), certainty.Absent, nil},
		"ManyWithoutSince": {"no series", func(e *certainty.Evidence) { missing(50, 100, 0)(e); e.Since = time.Time{} }, certainty.Kept, certainty.ErrSettling},
	}
}

// TestVerdict has a case for each cell of the row "gone".
func TestVerdict(t *testing.T) {
	t.Parallel()

	for _, cells := range []map[string]goneCase{identityCells(), responseCells(), otherCells(), manyCells()} {
		for name, tc := range cells {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				e := evidence()
				tc.change(&e)
				check(t, tc.reason, e.Verdict(), tc.want, tc.why)
			})
		}
	}
	if got := (certainty.Evidence{}).Verdict(); got.Kind != certainty.Uncertain {
		t.Errorf("no evidence: %s", got.Kind)
	}
}

// truth is the server of a Node in a simulated cloud.
type truth struct {
	deleted, recorded bool
}

// fault is what is wrong with the cloud from a moment to another one.
type fault struct {
	kind     string
	from, to time.Duration
	share    float64
}

// responses are what Nova responds about a server during a fault, and whether servers
// are found at all.
func (f fault) responses(server truth, hit bool) (certainty.Response, certainty.Actions) {
	response, actions := certainty.Found, certainty.ActionsOther
	if server.deleted {
		response = certainty.NotFound
		if server.recorded {
			actions = certainty.ActionsDelete
		}
	}
	if !hit {
		return response, actions
	}
	switch f.kind {
	case "mapping":
		return certainty.NotFound, certainty.ActionsNone
	case "project":
		return certainty.NotFound, certainty.ActionsNone
	case "down", "proxy", "revoked":
		return certainty.NoResponse, certainty.ActionsUnread
	case "replica": // one of both is read from a database that is behind
		return certainty.NotFound, certainty.ActionsUnread
	}

	return response, actions
}

// TestSchedules (OS-NODE-5): in a thousand random schedules of faults, of up to 13
// minutes each, no living server is gone, and a recorded deletion is seen at
// once when the fault ends.
func TestSchedules(t *testing.T) {
	t.Parallel()

	kinds := []string{"none", "mapping", "project", "down", "proxy", "revoked", "replica"}
	for seed := range uint64(1000) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		servers := make([]truth, 40)
		hit := make([]bool, len(servers))
		f := fault{kind: kinds[rnd.IntN(len(kinds))], from: time.Minute, share: rnd.Float64()}
		f.to = f.from + time.Duration(rnd.Int64N(int64(certainty.Settle)))
		for i := range servers {
			servers[i] = truth{deleted: rnd.Float64() < 0.1, recorded: rnd.Float64() < 0.5}
			hit[i] = f.kind == "project" || rnd.Float64() < f.share
		}
		runSchedule(t, seed, f, servers, hit)
	}
}

// runSchedule makes a pass over all servers each minute.
func runSchedule(t *testing.T, seed uint64, f fault, servers []truth, hit []bool) {
	t.Helper()
	since := make([]time.Time, len(servers))
	var other time.Time
	for at := time.Duration(0); at < f.to+time.Minute; at += time.Minute {
		during := at >= f.from && at < f.to
		e := evidence()
		e.Now, e.Missing = now.Add(at), 0
		responses := make([]certainty.Response, len(servers))
		actions := make([]certainty.Actions, len(servers))
		for i, server := range servers {
			responses[i], actions[i] = f.responses(server, during && hit[i])
			switch responses[i] {
			case certainty.Found:
				other, since[i] = e.Now, time.Time{}
			case certainty.NotFound:
				e.Missing++
				if since[i].IsZero() {
					since[i] = e.Now
				}
			case certainty.NoResponse:
			}
		}
		for i, server := range servers {
			e.Response, e.Actions, e.Since, e.Other = responses[i], actions[i], since[i], other
			got := e.Verdict().Kind
			if !server.deleted && got >= certainty.Absent {
				t.Fatalf("seed %d, %s after %s: a living server is %s", seed, f.kind, at, got)
			}
			if server.deleted && server.recorded && !during && got != certainty.Gone {
				t.Fatalf("seed %d, %s after %s: a deleted server is %s", seed, f.kind, at, got)
			}
		}
	}
}
