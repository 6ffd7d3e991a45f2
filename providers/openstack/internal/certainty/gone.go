package certainty

import "time"

const (
	// OtherAge is the age up to which a server of another Node proves the
	// project and the region.
	OtherAge = 30 * time.Second
	// Settle is for how long servers must be missing that could return. The loss of half a
	// cluster of 100 Nodes is to be seen within 15 minutes: two of them are for what comes
	// before the first 404 and after the last one, the report that the Nodes are not ready, a
	// list of servers, and reading so many servers in each round of them.
	Settle = 13 * time.Minute
	// SettleGap is the longest time between two responses of 404 that count as
	// one series.
	SettleGap = 10 * time.Minute
	// Pass is the time between two passes of the controller that deletes Nodes,
	// --node-monitor-period.
	Pass = 5 * time.Second
	// fewMissing is how many Nodes may be without a server at once in a cluster
	// of any size, missingShare the share of the Nodes in a large one.
	fewMissing, missingShare = 3, 10
)

// Actions are what os-instance-actions has about a server that Nova does not have.
type Actions int

// The contents of the actions.
const (
	// ActionsUnread means that the request failed.
	ActionsUnread Actions = iota
	// ActionsDelete contain the deletion.
	ActionsDelete
	// ActionsOther do not contain the deletion, which has none if the host was
	// down.
	ActionsOther
	// ActionsNone means that none are recorded, or no longer.
	ActionsNone
	// ActionsDenied means that a policy denies them.
	ActionsDenied
	// ActionsUnsupported means that Nova has none of deleted servers, before
	// microversion 2.21.
	ActionsUnsupported
)

// Evidence is what is known about a server that a Node names.
type Evidence struct {
	Scope
	// ID and NodeRegion are those of the Node's provider ID.
	ID, NodeRegion string
	// Response is that of a GET of the server alone, made for this verdict.
	Response Response
	Actions  Actions
	// Other is when the server of another Node was found last, with the same
	// credentials.
	Other time.Time
	// Missing is the number of Nodes whose server is missing now, this one
	// included. Nodes is the number of all Nodes, 0 if it is not known.
	Missing, Nodes int
	// Since is the first 404 of the unbroken series of them that ends now.
	Since time.Time
	Now   time.Time
}

// Verdict returns whether the server is gone, see the comment of the package. A server
// that was found is Uncertain here: its row decides, see [Scope.Exists].
func (e Evidence) Verdict() Verdict {
	if err := e.Covers(e.ID, e.NodeRegion); err != nil {
		return uncertain(err)
	}
	switch {
	case e.Project == "":
		return uncertain(ErrNoProject)
	case e.Response != NotFound:
		return uncertain(ErrNoResponse)
	case e.Actions == ActionsDelete:
		return Verdict{Kind: Gone}
	case e.Actions == ActionsUnread:
		return uncertain(ErrNoActions)
	case !e.hasOther():
		return uncertain(ErrNoOther)
	case (e.Actions == ActionsNone || e.Many()) && !e.settled():
		return Verdict{Kind: Kept, Reason: ErrSettling}
	}

	return Verdict{Kind: Absent}
}

// Many reports whether so many servers are missing that the cloud may be at fault.
// They are if the number of Nodes is not known.
func (e Evidence) Many() bool {
	return e.Nodes <= 0 || e.Missing > max(fewMissing, e.Nodes/missingShare)
}

// hasOther reports whether the server of another Node was found just now.
func (e Evidence) hasOther() bool { return !e.Other.IsZero() && e.Now.Sub(e.Other) <= OtherAge }

// settled reports whether the server has been missing for long.
func (e Evidence) settled() bool { return !e.Since.IsZero() && e.Now.Sub(e.Since) >= Settle }
