package instance

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// ledgerSize is how many decisions are kept: a Node that is deleted has one or two. They
// take a few MiB at most.
const ledgerSize = 4096

// lifecycleController is the one controller of the framework that calls InstanceExists,
// and deletes the Node if that is false.
const lifecycleController = "cloud-node-lifecycle-controller"

// Decision is that a Node may be deleted, or that it is held back although its instance
// is gone.
type Decision struct {
	Time time.Time `json:"time"`
	Node string    `json:"node"`
	UID  types.UID `json:"uid"`
	// Instance is the provider ID of the Node, or what else identifies its instance.
	Instance    string `json:"instance"`
	RequestedBy string `json:"requestedBy"`
	Held        bool   `json:"held"`
	// Deletions are those of the last ten minutes, this one included, and Limit how many
	// there may be, 0 for no limit.
	Deletions int `json:"deletions"`
	Limit     int `json:"limit"`
	// Reports are what the cloud returned about the instance.
	Reports []Report `json:"reports"`
}

// Report is what one place of a cloud, such as a region or a vCenter, returned about an
// instance.
type Report struct {
	Place string `json:"place"`
	Said  string `json:"said"`
	// Time is when the place was queried. [V2] sets it.
	Time time.Time `json:"time"`
}

// ledger has the last decisions.
type ledger struct {
	ring []Decision
	// next is the oldest decision of a full ring.
	next int
}

func (l *ledger) add(d Decision) {
	if len(l.ring) < ledgerSize {
		l.ring = append(l.ring, d)

		return
	}
	l.ring[l.next] = d
	l.next = (l.next + 1) % ledgerSize
}

// all returns the decisions, the oldest first.
func (l *ledger) all() []Decision { return slices.Concat(l.ring[l.next:], l.ring[:l.next]) }
