package nodes

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

// AbsenceLimits are how long a VM must have been missing for its Node to be gone. A VM
// that was removed from the inventory can be registered again, with its host or
// alone, and a vCenter that was restored from a backup discovers VMs again: all of
// them return under other references.
// https://docs.vmware.com/en/VMware-vSphere/8.0/vsphere-automation-sdk-programming-guide/GUID-EC8700A0-1980-43F6-A624-6E2EDB8A12AB.html
// https://docs.vmware.com/en/VMware-vSphere/8.0/vsphere-vcenter-installation/GUID-AFF34FA6-B7CF-4AE0-9C12-C674F160682C.html
// Zero durations mean the defaults.
type AbsenceLimits struct {
	// Visible counts while the vCenter has the VM of another Node, Alone while it
	// has none, and Unproven if it had one before the connection alone.
	Visible, Alone, Unproven time.Duration
}

func (l AbsenceLimits) withDefaults() AbsenceLimits {
	return AbsenceLimits{
		Visible: cmp.Or(l.Visible, time.Minute), Alone: cmp.Or(l.Alone, 5*time.Minute), Unproven: cmp.Or(l.Unproven, 24*time.Hour),
	}
}

var errIncomplete = apierr.Mark(apierr.ErrUnavailable, errors.New("the inventory of a vCenter is being read"))

const (
	// reasonUnknownVCenter means that the VM of a Node is missing, and that the
	// vCenter that had it is none of the configured ones, or retired.
	reasonUnknownVCenter instance.Reason = "UnknownVCenter"
	// reasonVCenterUnavailable means that the VM of a Node is missing in its vCenter,
	// and that another one, which may have it, does not respond.
	reasonVCenterUnavailable instance.Reason = "VCenterUnavailable"
)

// missing decides about a Node whose VM no vCenter found.
func (s *Source) missing(vcenters []*VCenter, ref instance.Ref, queries []inventory.Query) instance.Result {
	s.assigned.miss(keysOf(ref, queries), time.Now())
	reason := s.kept(vcenters, ref, queries)
	switch {
	case errors.Is(reason, apierr.ErrUnavailable):
		return instance.Failed(reason)
	case reason != nil:
		return instance.Missing(reason)
	}

	result := instance.Absent()
	for _, vc := range vcenters {
		if !vc.Retired {
			result = result.From("vCenter "+vc.Name, "it has no VM of the Node")
		}
	}

	return result
}

// tooEarly is why a VM that is not in any inventory, and was not found before,
// need not be searched yet; nil if it must.
func (s *Source) tooEarly(vcenters []*VCenter, ref instance.Ref, queries []inventory.Query) error {
	found := func(q inventory.Query) bool { return s.assigned.get(keyOf(ref, q)).missed.IsZero() }
	stale := func(vc *VCenter) bool { return !vc.Retired && vc.Inventory.Current() != nil }
	if slices.ContainsFunc(queries, found) || slices.ContainsFunc(vcenters, stale) {
		return nil
	}

	return s.kept(vcenters, ref, queries)
}

// kept is why the Node of a missing VM is kept, or nil. The vCenters that had the VM
// decide: the one in which this process found it last, and the one that the Node
// names. All of them do where none is known. If one of them is retired, the Node is kept.
func (s *Source) kept(vcenters []*VCenter, ref instance.Ref, queries []inventory.Query) error {
	var missed time.Time
	var q inventory.Query
	var homes []string
	has := func(id string, retired bool) bool {
		return slices.ContainsFunc(vcenters, func(vc *VCenter) bool { return vc.Retired == retired && vc.id() == id })
	}
	for _, query := range queries {
		as := s.assigned.get(keyOf(ref, query))
		switch home := as.at.vcenter; {
		case has(home, false):
			homes = append(homes, home)
		case has(home, true): // else another one responds at its address
			return unknownVCenter(home)
		}
		if as.missed.After(missed) {
			missed = as.missed
		}
		q.UUIDs = append(q.UUIDs, query.UUIDs...)
	}
	if label := s.labeled(ref.NodeName); label != "" {
		if !has(label, false) {
			return unknownVCenter(label)
		}
		homes = append(homes, label)
	}
	for _, vc := range vcenters {
		if vc.Retired || len(homes) > 0 && !slices.Contains(homes, vc.id()) {
			continue
		}
		a := vc.Inventory.Absence(q)
		if a.Hosted || s.hosts(vc.id()) {
			a.Hosted, a.Proven = true, proven(vcenters, vc.id())
		}
		if reason := s.cfg.Absence.reason(vc, a, missed); reason != nil {
			return reason
		}
	}

	return nil
}

// proven reports whether a section of a vCenter has had the VM of a Node since its
// inventory was read anew.
func proven(vcenters []*VCenter, id string) bool {
	return slices.ContainsFunc(vcenters, func(vc *VCenter) bool {
		return vc.id() == id && vc.Inventory.Absence(inventory.Query{}).Proven
	})
}

// unknownVCenter is why the Node of a vCenter that is not configured is kept.
func unknownVCenter(uuid string) error {
	return instance.WithReason(reasonUnknownVCenter, fmt.Errorf(
		"the VM is missing, and it was found last in the vCenter with the instance UUID %s, which is none of the cloud-config, or retired. "+
			"The Node is kept: delete it if its machine is gone, or add that vCenter", uuid))
}

// reason is why a VM that a vCenter does not have may still return, or nil. A Node
// whose label names a vCenter that is not configured is always kept; for the others:
//
//	VM of another Node in the vCenter     missing since
//	there                                 1 minute
//	there since the connection, not now   5 minutes
//	there before the connection alone     24 hours, of which it was followed for the last 5 minutes
//	the same, in another vCenter at its   never
//	address
//	never there                           5 minutes
//
// What was before the connection is known to this process, or from the label of some
// Node. 24 hours are time to notice that a vCenter was restored from an old backup.
func (l AbsenceLimits) reason(vc *VCenter, a inventory.Absence, missed time.Time) error {
	if a.Complete.IsZero() {
		return errIncomplete
	}
	replaced := !vc.Inventory.Replaced().IsZero()
	if a.Hosted && !a.Proven && (replaced || time.Since(missed) < l.Unproven) {
		until := fmt.Sprintf("one is found, for %s at most", l.Unproven)
		if replaced {
			until = "one is found"
		}

		return instance.WithReason(instance.ReasonNoInstanceFound, fmt.Errorf(
			"the VM is missing, and no VM of any Node has been found in vCenter %s since its inventory was read anew. The Node is kept until %s: "+
				"check that this is the vCenter of the cluster, and that its VMs are registered", vc.Name, until))
	}
	since := missed
	if !a.Left.IsZero() {
		since = a.Left
	}
	if a.Complete.After(since) {
		since = a.Complete
	}
	need := l.Visible
	if !a.Visible {
		need = l.Alone
	}
	if time.Since(since) < need {
		return fmt.Errorf("the VM has been missing in vCenter %s for less than %s, it may be registered again", vc.Name, need)
	}

	return nil
}

// Replaced returns when another vCenter last began to respond at a configured address:
// VMs that were found before are no evidence.
func (s *Source) Replaced() time.Time {
	vcenters, err := s.current()
	if err != nil {
		return time.Time{}
	}
	var latest time.Time
	for _, vc := range vcenters {
		if at := vc.Inventory.Replaced(); at.After(latest) {
			latest = at
		}
	}

	return latest
}
