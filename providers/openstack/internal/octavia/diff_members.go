package octavia

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
)

// memberDiff is how the members of a pool differ from the wanted ones.
type memberDiff struct {
	// add are new, update have another name or port for health checks than they should.
	add    []DesiredMember
	update []memberUpdate
	keep   []Member
	remove []Member
	// refused are new, and Octavia has refused them lately.
	refused []DesiredMember
}

// memberUpdate is a member that stays with other settings.
type memberUpdate struct {
	seen Member
	want DesiredMember
}

func (d *memberDiff) isEmpty() bool { return len(d.add)+len(d.update)+len(d.remove) == 0 }

// diffMembers compares members. Those with the same address and port are the same one: the
// rest of it can change.
//
//	wanted  there  name and monitor port differ
//	yes     no                                     add
//	yes     yes    yes, or it is in ERROR          update
//	yes     yes    no                              keep, with what users have set
//	no      yes                                    remove
//
// The name does not count for members that are written one by one, since it cannot be
// changed then. The port for health checks does not count if it is not known.
func diffMembers(seen []Member, want []DesiredMember, serial bool) memberDiff {
	d := memberDiff{keep: slices.Grow([]Member(nil), len(want))}
	there := make(map[netip.AddrPort]*Member, len(seen))
	for i, m := range seen {
		there[m.pair()] = &seen[i]
	}
	wanted := make(map[netip.AddrPort]bool, len(want))
	for _, w := range want {
		wanted[w.pair()] = true
		switch m, ok := there[w.pair()]; {
		case !ok:
			d.add = append(d.add, w)
		case !serial && m.Name != w.Name, !m.Partial && m.monitorPort() != w.monitorPort(), m.hasFailed():
			d.update = append(d.update, memberUpdate{*m, w})
		default:
			d.keep = append(d.keep, *m)
		}
	}
	for _, m := range seen {
		if !wanted[m.pair()] {
			d.remove = append(d.remove, m)
		}
	}

	return d
}

// leaveOut leaves out the new members that Octavia has refused lately. Those that are to be
// tried again come after the others, which do not have to wait for them.
func (d *memberDiff) leaveOut(refused map[string]change.RefusedMember) {
	before, others := lists.Split(d.add, func(m DesiredMember) bool { return refused[m.key()].Cause != "" })
	again, still := lists.Split(before, func(m DesiredMember) bool { return refused[m.key()].Over })
	d.add, d.refused = slices.Concat(others, again), still
}

// hasFailed reports whether a change of the member has failed. Another one repairs it.
func (m Member) hasFailed() bool {
	return m.Full != nil && m.Full.Provisioning == client.ProvisioningError
}

func (m Member) pair() netip.AddrPort { return netip.AddrPortFrom(m.Address.Unmap(), uint16(m.Port)) }

func (m DesiredMember) pair() netip.AddrPort { return netip.AddrPortFrom(m.Address, uint16(m.Port)) }

// monitorPort is the port for health checks, 0 for that of the member.
func (m Member) monitorPort() int32 {
	if m.MonitorPort == m.Port {
		return 0
	}

	return m.MonitorPort
}

func (m DesiredMember) monitorPort() int32 {
	if m.MonitorPort == m.Port {
		return 0
	}

	return m.MonitorPort
}

// key has all settings of the member, so that another one is not taken for it.
func (m DesiredMember) key() string { return m.String() + " in " + m.SubnetID }

// spec is the member in a request.
func (m DesiredMember) spec() client.MemberSpec {
	spec := client.MemberSpec{Name: m.Name, Address: m.Address.String(), Port: int(m.Port), SubnetID: m.SubnetID}
	if m.MonitorPort != 0 {
		spec.MonitorPort = new(int(m.MonitorPort))
	}

	return spec
}

// spec is a member that stays in a request, with what users have set.
func (u memberUpdate) spec() client.MemberSpec {
	spec := u.seen.Full.Spec()
	spec.Name, spec.MonitorPort = u.want.Name, nil
	if u.want.MonitorPort != 0 {
		spec.MonitorPort = new(int(u.want.MonitorPort))
	}

	return spec
}

// hasAll reports whether all settings of some members are known.
func hasAll(members []Member) bool {
	for _, m := range members {
		if m.Full == nil {
			return false
		}
	}

	return true
}

// isKnown reports whether all settings of the members that stay are known.
func (d *memberDiff) isKnown() bool {
	return hasAll(d.keep) && hasAll(lists.Map(d.update, func(u memberUpdate) Member { return u.seen }))
}

// diffMembers plans to change the members:
//
//	one by one             members that are new; then those that are not wanted
//	new ones only          they are added, in one call if the API can do that; else a few
//	                       are added one by one
//	few go, many stay      new ones are added, then the others are removed one by one
//	else                   all members are written in one call
func (t *target) diffMembers() {
	diff := t.diff()
	t.reportRefused(diff.refused)
	if diff.isEmpty() {
		return
	}
	if t.moves() {
		t.needs = append(t.needs, t.key(keyMembers))
	}
	additive := t.desired.Features.Has(features.AdditiveMembers)
	canAdd := additive || len(diff.keep) > 0 && len(diff.add) <= fewMembers
	switch {
	case t.desired.Serial:
		t.diffSerial(diff)
	case len(diff.update) > 0 || !canAdd || len(diff.remove) > fewMembers || len(diff.remove) > 0 && len(diff.keep) < manyMembers:
		t.writeMembers(diff)
	default:
		if additive && len(diff.add) > 0 {
			t.addIsolated(t.addMembers(diff))
		} else if len(diff.add) > 0 {
			t.addIsolated(t.createMembers(diff.add))
		}
		if len(diff.remove) > 0 {
			t.addIsolated(t.deleteMembers(diff.remove).Removal())
		}
	}
}

// writeMembers plans to write all members in one call.
func (t *target) writeMembers(diff memberDiff) {
	if len(diff.remove) > 0 {
		t.addIsolated(t.replaceMembers(diff))
	} else {
		t.addIsolated(t.updateMembers(diff))
	}
}

// fewMembers is how many members are removed one by one, and how many new ones are added one by one to
// others if the API has no additive updates: each call is a change of the load balancer, but needs nothing that must
// be read, and leaves the others alone.
const fewMembers = 3

// manyMembers is beside how many members a few others are removed one by one: a call with all members
// makes Octavia update each of them, and the driver write all (octavia: api/v2/controllers/member.py).
const manyMembers = 20

// reportRefused reports members that are left out since Octavia has refused them lately.
func (t *target) reportRefused(members []DesiredMember) {
	causes := t.desired.Refused
	found := t.refusals(lists.Map(members, func(m DesiredMember) refusedMember { return refusedMember{m, causes[t.pool.ID][m.key()].Cause} }))
	t.findings.Warnings = append(t.findings.Warnings, found.Warnings...)
	t.findings.Gaps = append(t.findings.Gaps, found.Gaps...)
}

// diffSerial plans to write members one by one. One that changes is deleted first, since
// its address and port are taken as long as it is there.
func (t *target) diffSerial(diff memberDiff) {
	if len(diff.add) > 0 {
		t.addIsolated(t.createMembers(diff.add))
	}
	if len(diff.update) > 0 {
		t.addIsolated(t.recreateMembers(diff.update).Removal())
	}
	if len(diff.remove) > 0 {
		t.addIsolated(t.deleteMembers(diff.remove).Removal())
	}
}

// text lists the changes.
func (d *memberDiff) text() string {
	text := []string{fmt.Sprintf("keep %d", len(d.keep))}
	for _, part := range []struct {
		verb  string
		items []string
	}{
		{"add", lists.Map(d.add, DesiredMember.String)},
		{"change", lists.Map(d.update, func(u memberUpdate) string { return u.want.String() })},
		{"remove", lists.Map(d.remove, Member.String)},
	} {
		if len(part.items) > 0 {
			text = append(text, part.verb+" "+plan.FewCommas(part.items))
		}
	}

	return strings.Join(text, "; ")
}

// String is the member as in "node-1 10.0.0.5:30080".
func (m DesiredMember) String() string {
	text := m.Name + " " + m.pair().String()
	if m.MonitorPort != 0 {
		text += fmt.Sprintf(" checked at %d", m.MonitorPort)
	}

	return text
}

// String is the member as in "node-1 10.0.0.5:30080".
func (m Member) String() string { return m.Name + " " + m.pair().String() }
