package vsphere

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/inventory"
)

// patience is how long a VM must have been missing for its Node to be gone. A VM
// that was removed from the inventory can be registered again, with its host or
// alone, and a vCenter that was restored from a backup discovers VMs again: all of
// them return under other references.
// https://docs.vmware.com/en/VMware-vSphere/8.0/vsphere-automation-sdk-programming-guide/GUID-EC8700A0-1980-43F6-A624-6E2EDB8A12AB.html
// https://docs.vmware.com/en/VMware-vSphere/8.0/vsphere-vcenter-installation/GUID-AFF34FA6-B7CF-4AE0-9C12-C674F160682C.html
type patience struct {
	// visible counts while the vCenter has the VM of another Node, alone while it
	// has none.
	visible, alone time.Duration
}

func (p patience) withDefaults() patience {
	return patience{visible: cmp.Or(p.visible, time.Minute), alone: cmp.Or(p.alone, 5*time.Minute)}
}

var errIncomplete = apierr.Mark(apierr.ErrUnavailable, errors.New("the inventory of a vCenter is being read"))

// missing decides about a Node whose VM no vCenter found.
func (s *source) missing(vcenters []*vcenter, questions []inventory.Query) instance.Result {
	now := time.Now()
	s.assigned.miss(questions, now)
	reason := s.kept(vcenters, questions, now)
	switch {
	case errors.Is(reason, apierr.ErrUnavailable):
		return instance.Failed(reason)
	case reason != nil:
		return instance.Missing(reason)
	}
	return instance.Absent()
}

// tooEarly is why a VM that is not in any inventory, and was not found before,
// need not be searched yet; nil if it must.
func (s *source) tooEarly(vcenters []*vcenter, questions []inventory.Query) error {
	found := func(q inventory.Query) bool { return s.assigned.get(q).missed.IsZero() }
	stale := func(vc *vcenter) bool { return vc.inventory.Current() != nil }
	if slices.ContainsFunc(questions, found) || slices.ContainsFunc(vcenters, stale) {
		return nil
	}
	return s.kept(vcenters, questions, time.Now())
}

// kept is why the Node of a missing VM is kept, or nil. The vCenter that had the VM
// decides; all of them do where none is known.
func (s *source) kept(vcenters []*vcenter, questions []inventory.Query, now time.Time) error {
	var missed time.Time
	var q inventory.Query
	home := ""
	for _, question := range questions {
		as := s.assigned.get(question)
		home = cmp.Or(home, as.at.vcenter)
		if as.missed.After(missed) {
			missed = as.missed
		}
		q.UUIDs = append(q.UUIDs, question.UUIDs...)
	}
	if !slices.ContainsFunc(vcenters, func(vc *vcenter) bool { return vc.id() == home }) {
		home = "" // another vCenter responds at its address
	}
	for _, vc := range vcenters {
		if home != "" && vc.id() != home {
			continue
		}
		if reason := s.patience.reason(vc, vc.inventory.Absence(q), missed, now); reason != nil {
			return reason
		}
	}
	return nil
}

// reason is why a VM that a vCenter does not have may still return, or nil:
//
//	VM of another Node in the vCenter       missing since
//	there                                   1 minute
//	there since the connection, not now     5 minutes
//	there before the connection alone       never
//	never there                             5 minutes
func (p patience) reason(vc *vcenter, a inventory.Absence, missed, now time.Time) error {
	if a.Complete.IsZero() {
		return errIncomplete
	}
	if a.Hosted && !a.Proven {
		return instance.WithReason(instance.ReasonNoInstanceFound, fmt.Errorf(
			"the VM is missing, and no VM of any Node has been found in vCenter %s since its inventory was read anew. The Node is kept until one is found: "+
				"check that this is the vCenter of the cluster, and that its VMs are registered", vc.name))
	}
	since := missed
	if !a.Left.IsZero() {
		since = a.Left
	}
	if a.Complete.After(since) {
		since = a.Complete
	}
	need := p.visible
	if !a.Visible {
		need = p.alone
	}
	if now.Sub(since) < need {
		return fmt.Errorf("the VM has been missing in vCenter %s for less than %s, it may be registered again", vc.name, need)
	}
	return nil
}

// replaced is when another vCenter last began to respond at a configured address:
// VMs that were found before are no evidence.
func (s *source) replaced() time.Time {
	vcenters, err := s.places()
	if err != nil {
		return time.Time{}
	}
	var latest time.Time
	for _, vc := range vcenters {
		if at := vc.inventory.Replaced(); at.After(latest) {
			latest = at
		}
	}
	return latest
}
