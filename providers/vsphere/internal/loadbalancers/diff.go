package loadbalancers

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/policy"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/request"
)

type (
	steps = plan.Plan[*env]
	step  = plan.Step[*env]
)

// differ orders the steps of one plan: what is missing, each before what refers to it, then
// what is not wanted, each after what refers to it. The allocation of an address is the first
// that is created and the last that is deleted, so that there is one as long as there is
// anything else. Nodes join pools before what may be refused, and a second address comes last.
type differ struct {
	in    input
	o     *observed
	d     *desired
	steps steps
}

// diff returns the plan. It is not valid before all objects are read that d.unread lists then.
func diff(in input, o *observed, d *desired) steps {
	df := &differ{in: in, o: o, d: d}
	if err := d.validate(in.unknown); err != nil {
		df.followNodes()

		return append(df.steps, plan.Refuse[*env](err))
	}
	for i, a := range d.addresses {
		df.allocate(a)
		df.each(a, df.writeMonitor)
		df.each(a, df.writePool)
		if i == 0 {
			df.createLBService()
			df.writeGroup()
		}
		df.each(a, df.writeServer)
	}
	df.remove()

	return df.steps
}

// each calls write for each port of an address.
func (df *differ) each(a wantedAddress, write func(wantedPort)) {
	for _, p := range df.d.ports {
		if p.port.Family == a.second {
			write(p)
		}
	}
}

func (df *differ) add(s step) { df.steps = append(df.steps, s) }

// create adds the creation of an object.
func (df *differ) create(kind, objectPath, text string, fields policy.Fields) {
	fields.ID = path.Base(objectPath)
	df.add(plan.NewStep("Create"+kind, "create "+text, func(ctx context.Context, e *env) error { return e.create(ctx, objectPath, fields) }))
}

// change adds a change of an object: fields that are set, and the names of others that are
// removed.
func (df *differ) change(kind string, o *policy.Object, text string, set map[string]any, remove ...string) {
	df.d.read(df.o, o.Path)
	df.add(plan.NewStep("Update"+kind, "change "+text, func(ctx context.Context, e *env) error { return e.change(ctx, o, set, remove) }))
}

func (df *differ) createLBService() {
	if f := df.d.newLBService; f != nil {
		df.create("LBService", df.o.lbService, fmt.Sprintf("LBService %s at %s, size %s", f.DisplayName, f.ConnectivityPath, f.Size), *f)
	}
}

// allocate adds the steps that lead to the address of a family.
func (df *differ) allocate(a wantedAddress) {
	if a.ip.IsValid() {
		return
	}
	if a.replaced {
		existing := df.o.objects[a.allocation]
		df.add(plan.NewStep("DeleteIpAddressAllocation", "delete allocation "+a.allocation+", which is not of the address that is requested",
			func(ctx context.Context, e *env) error { return e.remove(ctx, existing) }))
	}
	if a.missing != nil {
		text := fmt.Sprintf("allocation of %s in pool %s", a.key(), a.ipPool)
		if a.missing.AllocationIP != "" {
			text += ": " + a.missing.AllocationIP
		}
		df.create("IpAddressAllocation", a.allocation, text, *a.missing)
	}
	df.add(plan.NewStep("AwaitAddress", "wait for the "+a.key(), func(ctx context.Context, e *env) error { return e.awaitAddress(ctx, a) }))
}

func (df *differ) writeGroup() {
	g := df.d.group
	switch {
	case g == nil:
		return
	case g.existing == nil:
		df.create("Group", g.path, "group of "+strings.Join(g.fields.Expression[0].IPAddresses, " "), g.fields)
	case !slices.EqualFunc(g.existing.Expression, g.fields.Expression, func(a, b policy.Expression) bool {
		return a.ResourceType == b.ResourceType && sameSet(a.IPAddresses, b.IPAddresses)
	}):
		df.change("Group", g.existing, fmt.Sprintf("group %s: %s", g.path, strings.Join(g.fields.Expression[0].IPAddresses, " ")),
			map[string]any{"expression": g.fields.Expression})
	}
}

func sameSet[T comparable](a, b []T) bool { return sets.New(a...).Equal(sets.New(b...)) }

func (df *differ) writeMonitor(p wantedPort) {
	m := p.monitor
	switch {
	case m == nil:
	case m.existing == nil:
		df.create("LBMonitorProfile", m.path, fmt.Sprintf("%s of port %s: %d", m.fields.ResourceType, p.port, m.fields.MonitorPort), m.fields)
	case m.existing.MonitorPort != m.fields.MonitorPort:
		df.change("LBMonitorProfile", m.existing, fmt.Sprintf("monitor %s: port %d", m.path, m.fields.MonitorPort),
			map[string]any{"monitor_port": m.fields.MonitorPort})
	}
}

// writePool compares the addresses of members and the monitors. Translation of addresses
// changes only together with something else: it is a setting for new pools.
func (df *differ) writePool(p wantedPort) {
	w, names := p.pool, df.o.names
	ips := w.ips()
	text := fmt.Sprintf("members %s, monitors %s", textOf(ips), orNone(w.monitors))
	if w.existing == nil {
		wanted := names.NewPool(p.port, merge(names, w), w.monitors, w.snat)
		df.create("LBPool", w.path, fmt.Sprintf("pool of port %s: %s, %s", p.port, text, wanted.SNATTranslation.Type), wanted)

		return
	}
	if w.existing.HasMemberGroup() {
		df.d.warnings = append(df.d.warnings, service.Warn(PoolChanged,
			"Pool %s has members by a group, and gets no Nodes. Remove member_group from it in NSX-T", w.existing.Path))

		return
	}
	set := map[string]any{}
	if w.existing.MemberIPs != policy.NewMemberIPs(ips) {
		set["members"] = merge(names, w)
	}
	if !sameSet(w.existing.ActiveMonitorPaths, w.monitors) {
		set["active_monitor_paths"] = append([]string{}, w.monitors...)
	}
	if len(set) == 0 {
		return
	}
	if now := w.existing.SNATTranslation; now != nil && (now.Type == policy.SNATAutoMap || now.Type == policy.SNATDisabled) {
		wanted := policy.SNATOf(w.snat)
		set["snat_translation"] = wanted
		text += ", " + wanted.Type
		if *now != *wanted {
			df.d.warnings = append(df.d.warnings, service.Warn(SNATChanged, "Pool %s changes from %s to %s, as the cloud-config has it", w.path, now.Type, wanted.Type))
		}
	}
	df.change("LBPool", w.existing, fmt.Sprintf("pool %s: %s", w.path, text), set)
}

// followNodes changes the members of the pools that virtual servers use: Nodes come and go, whatever
// a Service requests.
func (df *differ) followNodes() {
	own := df.o.parts().own
	for _, pool := range own[policy.Pools] {
		i := slices.IndexFunc(own[policy.VirtualServers], func(v *policy.Object) bool { return v.PoolPath == pool.Path })
		if i < 0 || pool.HasMemberGroup() {
			continue
		}
		ip, err := netip.ParseAddr(own[policy.VirtualServers][i].IPAddress)
		w := wantedPool{path: pool.Path, existing: pool, members: df.d.members[address.FamilyOf(ip)]}
		if ips := w.ips(); err == nil && pool.MemberIPs != policy.NewMemberIPs(ips) {
			df.change("LBPool", pool, fmt.Sprintf("pool %s: members %s", pool.Path, textOf(ips)), map[string]any{"members": merge(df.o.names, w)})
		}
	}
}

// ips returns the addresses of the members.
func (w wantedPool) ips() []netip.Addr {
	return lists.Map(w.members, func(m request.Member) netip.Addr { return m.IP })
}

// textOf lists addresses in the text of a step.
func textOf(ips []netip.Addr) string { return orNone(lists.Map(ips, netip.Addr.String)) }

// orNone lists values in the text of a step.
func orNone(values []string) string { return cmp.Or(strings.Join(values, " "), "none") }

// merge returns the members of a pool. Those that exist stay as they are.
func merge(names policy.Names, w wantedPool) []json.RawMessage {
	existing := map[netip.Addr]json.RawMessage{}
	if w.existing != nil {
		existing = w.existing.MembersByIP()
	}
	all, seen := []json.RawMessage{}, sets.New[netip.Addr]()
	for _, m := range w.members {
		switch {
		case seen.Has(m.IP):
		case existing[m.IP] != nil:
			all = append(all, existing[m.IP])
		default:
			all = append(all, names.NewMember(m.Node, m.IP))
		}
		seen.Insert(m.IP)
	}

	return all
}

// writeServer compares node port, pool and profile, and what the Service requests.
func (df *differ) writeServer(p wantedPort) {
	w, v, ports := p.server, p.server.existing, policy.NodePorts(p.server.nodePort)
	if v == nil {
		df.createServer(p)

		return
	}
	var texts, remove []string
	set := map[string]any{}
	put := func(field string, value any, text string) {
		texts = append(texts, text)
		if value == nil {
			remove = append(remove, field)
		} else {
			set[field] = value
		}
	}
	if !slices.Equal(v.DefaultPoolMemberPorts, ports) {
		put("default_pool_member_ports", ports, fmt.Sprintf("node port %d", w.nodePort))
	}
	if v.PoolPath != p.pool.path {
		put("pool_path", p.pool.path, "pool "+p.pool.path)
	}
	if w.profile != "" && v.ApplicationProfilePath != w.profile {
		put("application_profile_path", w.profile, "profile "+w.profile)
	}
	switch current := v.AccessListControl; {
	case w.group != "" && (current == nil || *current != *policy.Allow(w.group)):
		put("access_list_control", policy.Allow(w.group), "clients "+w.group)
	case w.group == "" && current != nil && df.isOwnGroup(current.GroupPath):
		put("access_list_control", nil, "clients all")
	}
	switch {
	case w.persistence != "" && v.PersistenceProfilePath == "":
		put("lb_persistence_profile_path", w.persistence, "persistence "+w.persistence)
	case w.persistence == "" && w.configured != "" && v.PersistenceProfilePath == w.configured:
		put("lb_persistence_profile_path", nil, "persistence none")
	}
	if len(texts) > 0 {
		df.change("LBVirtualServer", v, fmt.Sprintf("virtual server %s: %s", v.Path, strings.Join(texts, ", ")), set, remove...)
	}
}

// isOwnGroup reports whether a group is that of the Service.
func (df *differ) isOwnGroup(groupPath string) bool {
	return groupPath == df.o.names.GroupPath() || df.o.objects[groupPath] != nil
}

func (df *differ) createServer(p wantedPort) {
	w, a := p.server, *p.address
	at := "<" + a.key() + ">"
	if a.ip.IsValid() {
		at = a.ip.String()
	}
	text := fmt.Sprintf("create virtual server of port %s: %s, node port %d, pool %s, profile %s, LBService %s, clients %s, persistence %s",
		p.port, at, w.nodePort, p.pool.path, w.profile, df.o.lbService, cmp.Or(w.group, "all"), cmp.Or(w.persistence, "none"))
	df.add(plan.NewStep("CreateLBVirtualServer", text, func(ctx context.Context, e *env) error {
		ip, err := e.address(a)
		if err != nil {
			return err
		}
		f := e.o.names.NewVirtualServer(p.port, ip, e.o.lbService, a.ipPool, a.class)
		f.ID, f.DefaultPoolMemberPorts, f.PoolPath = path.Base(w.path), policy.NodePorts(w.nodePort), p.pool.path
		f.ApplicationProfilePath, f.PersistenceProfilePath = w.profile, w.persistence
		if w.group != "" {
			f.AccessListControl = policy.Allow(w.group)
		}

		return e.create(ctx, w.path, f)
	}))
}

// remove adds the deletion of all objects that are not wanted. The LBService of the cluster is
// deleted with the last virtual server. An address is released once the virtual servers are
// certainly gone.
func (df *differ) remove() {
	own := df.o.parts().own
	for _, kind := range []policy.Kind{policy.VirtualServers, policy.Pools, policy.Monitors, policy.Groups, policy.LBServices, policy.Allocations} {
		if kind == policy.LBServices {
			df.removeLBService()
		}
		for _, o := range own[kind] {
			if df.d.keep[o.Path] {
				continue
			}
			df.d.read(df.o, o.Path)
			df.add(plan.NewStep("Delete"+typeOf(o), fmt.Sprintf("delete %s %s", typeOf(o), o.Path), func(ctx context.Context, e *env) error {
				if kind == policy.Allocations {
					if err := e.confirmGone(ctx); err != nil {
						return err
					}
				}

				return e.remove(ctx, o)
			}).Removal())
		}
	}
}

func (df *differ) removeLBService() {
	if df.in.request != nil || df.o.lbServices[df.o.lbService] == nil {
		return
	}
	df.add(plan.NewStep("DeleteLBService", "delete LBService "+df.o.lbService+" if no other Service uses it", func(ctx context.Context, e *env) error {
		return e.removeLBService(ctx, e.o.lbService)
	}).Removal())
}

// typeOf returns the type of an object, without the kinds of monitors.
func typeOf(o *policy.Object) string {
	if o.Kind == policy.Monitors {
		return "LBMonitorProfile"
	}

	return o.ResourceType
}
