package certainty

import (
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/uuid"
)

// The statuses of servers that matter (nova: api/openstack/common.py, _STATE_MAP).
const (
	StatusShutoff = "SHUTOFF"
	StatusUnknown = "UNKNOWN"
	StatusDeleted = "DELETED"
	StatusBuild   = "BUILD"
)

// Scope is where a server is looked for.
type Scope struct {
	// Project is the ID of the project that all logins lead to, empty before the
	// first one.
	Project string
	// Region is the configured region, empty if none is.
	Region string
}

// Covers returns nil if the server with an ID can be in this scope. Region is that
// of the provider ID, which may be empty.
func (s Scope) Covers(id, region string) error {
	switch {
	case !uuid.IsServerID(id):
		return ErrNotUUID
	case region != "" && region != s.Region:
		return ErrOtherRegion
	}

	return nil
}

// Row is what Nova returns about a server, in a list or alone.
type Row struct {
	ID, Name, Status, Project string
}

// Exists returns whether a row proves that the server with an ID exists: Present,
// Uncertain, or Absent for a row that Nova keeps of a deleted server, which is no
// proof by itself: the server must be read alone. From microversion 2.69, a server
// whose cell is down has a row without a name and with status UNKNOWN (nova: api-guide
// down_cells). With a name, the status only means that Nova has no name for the state (nova:
// api/openstack/common.py, status_from_state).
func (s Scope) Exists(id string, row Row) Verdict {
	switch {
	case s.Project == "":
		return uncertain(ErrNoProject)
	case !strings.EqualFold(row.ID, id):
		return uncertain(ErrOtherServer)
	case row.Status == "" || row.Status == StatusUnknown && row.Name == "":
		return uncertain(ErrUnknownStatus)
	case row.Name == "" || row.Project == "":
		return uncertain(ErrNoName)
	case row.Project != s.Project:
		return uncertain(ErrOtherProject)
	case row.Status == StatusDeleted:
		return Verdict{Kind: Absent}
	}

	return Verdict{Kind: Present}
}

// Power returns the power state of a server that is Present. Only SHUTOFF is shut
// down, and only in a response about this server alone: a list may be out of date.
// All other statuses count as running, ERROR and PAUSED among them.
func Power(status string, alone bool) instance.State {
	switch {
	case status == "" || status == StatusUnknown || status == StatusDeleted:
		return instance.Unknown
	case status != StatusShutoff:
		return instance.Running
	case alone:
		return instance.Stopped
	}

	return instance.Unknown
}

// Response is what a GET of a server alone got.
type Response int

// The responses.
const (
	// NoResponse is everything that proves nothing: a failed request, a refusal,
	// a 404 of a proxy.
	NoResponse Response = iota
	// Found is the server.
	Found
	// NotFound is a 404 with the error document of Nova itself.
	NotFound
)

// ResponseOf returns the response that an error of package client stands for. There,
// only a 404 with the error document of Nova is apierr.ErrNotFound.
func ResponseOf(err error) Response {
	switch {
	case err == nil:
		return Found
	case apierr.Code(err) == apierr.CodeNotFound:
		return NotFound
	}

	return NoResponse
}
