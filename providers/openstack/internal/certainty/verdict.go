package certainty

import (
	"errors"
	"fmt"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// Kind is what a verdict says about a server.
type Kind int

// The kinds of verdicts.
const (
	// Uncertain means that nothing is known, which is an error.
	Uncertain Kind = iota
	// Present means that the server exists.
	Present
	// Kept means that the server is missing and may return: its Node is kept.
	Kept
	// Absent means that the server does not exist, unless it is a new one that
	// Nova does not show everywhere yet.
	Absent
	// Gone means that the server was deleted.
	Gone
)

// String names the kind.
func (k Kind) String() string {
	switch k {
	case Uncertain:
		return "uncertain"
	case Present:
		return "present"
	case Kept:
		return "kept"
	case Absent:
		return "absent"
	case Gone:
		return "gone"
	}

	return fmt.Sprintf("Kind(%d)", int(k))
}

// Verdict is what is proven about a server.
type Verdict struct {
	Kind Kind
	// Reason is why the server is Uncertain or Kept. Its text is the same for
	// the same reason.
	Reason error
}

// Reasons of verdicts. All of them but ErrSettling are apierr.ErrUnavailable: the
// cloud has not responded with anything that can be used.
var (
	// ErrNotUUID means that an ID can be no server: Nova responds to any text
	// with 404.
	ErrNotUUID = unusable("the ID is not a UUID")
	// ErrOtherRegion means that the provider ID names another region than the
	// cloud-config.
	ErrOtherRegion = unusable("the server is in another region than the configured one")
	// ErrNoProject means that no login has set the project yet.
	ErrNoProject = unusable("the project is not known yet")
	// ErrOtherProject means that the server belongs to another project, which
	// only an operator can read.
	ErrOtherProject = unusable("the server belongs to another project")
	// ErrNoResponse means that Nova did not respond about the server.
	ErrNoResponse = unusable("Nova has not responded about the server")
	// ErrOtherServer means that the response is about another server.
	ErrOtherServer = unusable("the response is about another server")
	// ErrUnknownStatus means that the cell of the server is down.
	ErrUnknownStatus = unusable("Nova cannot read the server now, its status is UNKNOWN")
	// ErrNoName means that a part of the server is missing in the response.
	ErrNoName = unusable("Nova has responded with a part of the server only")
	// ErrNoActions means that the actions of a missing server could not be read.
	ErrNoActions = unusable("the server is missing, and its actions could not be read")
	// ErrNoOther means that nothing proves the project and the region: no server
	// of another Node was found.
	ErrNoOther = unusable("the server is missing, and so are those of all other Nodes")
	// ErrSettling means that the server must be missing for longer.
	ErrSettling = errors.New(
		"the server has not been missing for 13 minutes, and Nova has no record that it was deleted: it may return")
)

func unusable(text string) error { return apierr.Mark(apierr.ErrUnavailable, errors.New(text)) }

func uncertain(reason error) Verdict { return Verdict{Kind: Uncertain, Reason: reason} }
