package loadbalancers

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/policy"
)

// builder makes what is wanted of a load balancer.
type builder struct {
	in input
	o  *observed
	parts
	*desired
}

// build returns what is wanted. Without a request, that is nothing.
func build(in input, o *observed) *desired {
	b := builder{in: in, o: o, parts: o.parts(), desired: &desired{keep: map[string]bool{}}}
	if len(b.foreign) > 0 {
		b.warn(ForeignObjects, "Objects in NSX-T have the tags of this Service and are those of another cluster with the same name: %s. They stay as they are", strings.Join(b.foreign, ", "))
	}
	if in.request == nil {
		return b.desired
	}
	b.members = in.chosen(b.parts)
	if b.refused = in.refused; b.refused != nil {
		return b.desired
	}
	b.buildLBService()
	b.buildGroup()
	for i, family := range b.families() {
		second := family
		if i == 0 {
			second = ""
		}
		at := b.buildAddress(family, second)
		b.desired.addresses = append(b.desired.addresses, at)
		for _, port := range in.request.Ports {
			b.buildPort(&at, port)
		}
	}
	b.warnAboutClients()

	return b.desired
}

// families returns the IP families of the addresses, that of the virtual servers which exist first:
// the upstream controller manager allocates any address for a Service.
func (b *builder) families() []address.Family {
	families := b.in.request.Families
	for _, v := range b.own[policy.VirtualServers] {
		ip, err := netip.ParseAddr(v.IPAddress)
		if err == nil && !isSecond(v) && address.FamilyOf(ip) != families[0] {
			return append([]address.Family{address.FamilyOf(ip)}, families[:len(families)-1]...)
		}
	}

	return families
}

func (b *builder) warn(reason service.Reason, format string, args ...any) {
	b.warnings = append(b.warnings, service.Warn(reason, format, args...))
}

// read has objects read before they are decided about, written or deleted.
func (d *desired) read(o *observed, paths ...string) {
	for _, path := range paths {
		if path != "" && !o.certain[path] && !slices.Contains(d.unread, path) {
			d.unread = append(d.unread, path)
		}
	}
}

// use keeps objects that the Service needs. None can be one of another cluster.
func (b *builder) use(paths ...string) {
	for _, path := range paths {
		b.keep[path] = true
		if slices.Contains(b.foreign, path) {
			b.refused = apierr.Mark(apierr.ErrConflict, fmt.Errorf("%s is an object of another cluster with the same name", path))
		}
	}
}

// buildLBService builds the LBService of the cluster if it is missing.
func (b *builder) buildLBService() {
	if b.in.settings.LBServiceID == "" && b.o.lbServices[b.o.lbService] == nil && !b.o.atGateway[b.o.lbService] {
		b.newLBService = new(b.o.names.Owner.NewLBService(b.in.settings.Tier1, b.in.settings.Size))
	}
}

// buildGroup builds the group of the source ranges.
func (b *builder) buildGroup() {
	if b.in.request.SourceRanges == nil {
		return
	}
	path := b.o.names.GroupPath()
	g := &wantedGroup{path: path, fields: b.o.names.NewGroup(b.in.request.SourceRanges)}
	g.existing = b.find(policy.Groups, "", func(o *policy.Object) bool { return o.Path == path })
	if g.existing != nil {
		g.path = g.existing.Path
	}
	b.use(g.path)
	b.group = g
}

// find returns the object with a tag of a port, preferably a certain one.
func (b *builder) find(kind policy.Kind, port string, prefer func(*policy.Object) bool) *policy.Object {
	var found *policy.Object
	for _, o := range b.own[kind] {
		if o.Tag(policy.ScopePort) == port && (found == nil || !prefer(found) && prefer(o)) {
			found = o
		}
	}

	return found
}

// isSecond reports whether the tag of a port is that of a second address.
func isSecond(o *policy.Object) bool { return strings.Count(o.Tag(policy.ScopePort), "/") > 1 }

// buildAddress builds the address of a family: that of virtual servers which exist, that of
// an allocation, or a new one.
func (b *builder) buildAddress(family, second address.Family) wantedAddress {
	a := wantedAddress{family: family, second: second, class: b.in.request.Class.Name}
	for _, v := range b.own[policy.VirtualServers] {
		ip, err := netip.ParseAddr(v.IPAddress)
		if isSecond(v) != (second != "") || err != nil || a.ip.IsValid() && !slices.Contains(b.o.status, v.IPAddress) {
			continue
		}
		a.ip, a.ipPool, a.class = ip, v.Tag(policy.ScopeIPPool), v.Tag(policy.ScopeClass)
	}
	b.keepAllocations(&a)
	if a.ipPool == "" {
		a.ipPool = b.in.ipPools[family]
	}
	requested := b.in.request.Address
	if requested.IsValid() && address.FamilyOf(requested) != family {
		requested = netip.Addr{}
	}
	switch existing := b.o.objects[a.allocation]; {
	case a.ip.IsValid():
		b.warnAboutAddress(a, requested)
	case existing == nil:
		a.allocation = b.o.names.AllocationPath(a.ipPool, second)
	default:
		b.read(b.o, existing.Path)
		ip, _ := netip.ParseAddr(existing.AllocationIP)
		if a.replaced = requested.IsValid() && ip != requested; a.replaced {
			b.read(b.o, b.serverPaths(second)...) // one may have the address
		}
	}
	if !a.ip.IsValid() && (b.o.objects[a.allocation] == nil || a.replaced) {
		a.missing = new(b.o.names.NewAllocation(requested))
	}

	return a
}

// serverPaths returns the paths of the virtual servers of a new address.
func (b *builder) serverPaths(second address.Family) []string {
	return lists.Map(b.in.request.Ports, func(served service.Port) string {
		return b.o.names.PartPath(policy.VirtualServers, policy.Port{Protocol: served.Protocol, Port: served.Port, Family: second})
	})
}

// keepAllocations selects the allocation of an address, and keeps all that could be it: which
// of several is that of the virtual servers is not known.
func (b *builder) keepAllocations(a *wantedAddress) {
	derived, others := b.o.names.AllocationID(a.second), []string{}
	for _, o := range b.own[policy.Allocations] {
		switch {
		case o.ID == derived:
			a.allocation = o.Path
		case a.second != "" || b.o.names.IsOfSecondAddress(o):
			continue
		case !a.ip.IsValid() && policy.IPPoolOf(o.Path) != b.in.ipPools[a.family]:
			continue // nothing has its address, which may be of the other family
		default:
			others = append(others, o.Path)
		}
		b.keep[o.Path] = true
	}
	if a.allocation == "" && len(others) > 0 {
		a.allocation, others = others[0], others[1:]
	}
	if len(others) > 0 {
		b.warn(SeveralAllocations, "The Service has several allocations of addresses: %s. Delete the allocations in NSX-T whose address no virtual server has",
			strings.Join(append([]string{a.allocation}, others...), ", "))
	}
	if a.ipPool == "" && a.allocation != "" {
		a.ipPool = policy.IPPoolOf(a.allocation)
	}
}

func (b *builder) warnAboutAddress(a wantedAddress, requested netip.Addr) {
	if requested.IsValid() && requested != a.ip {
		b.warn(AddressKept, "The load balancer keeps its address %s. To have spec.loadBalancerIP %s, delete the Service and create it again", a.ip, requested)
	}
	if class := b.in.request.Class; a.class != "" && a.class != class.Name {
		b.warn(AddressKept, "The load balancer keeps its address %s of class %s. To have an address of class %s, delete the Service and create it again",
			a.ip, a.class, class.Name)
	}
}

// buildPort builds the objects of a port of an address. Objects that others refer to and that
// were not found are read first: a search may not show them yet.
func (b *builder) buildPort(a *wantedAddress, served service.Port) {
	port := policy.Port{Protocol: served.Protocol, Port: served.Port, Family: a.second}
	w := wantedPort{port: port, address: a}
	names, tag := b.o.names, port.String()

	w.server = wantedServer{path: names.PartPath(policy.VirtualServers, port), nodePort: served.NodePort, profile: b.in.profiles[string(served.Protocol)]}
	w.server.existing = b.find(policy.VirtualServers, tag, func(o *policy.Object) bool { return slices.Contains(b.o.status, o.IPAddress) })
	if b.group != nil && !slices.Contains(b.in.request.Open, a.family) {
		w.server.group = b.group.path
	}
	if w.server.configured = b.in.request.Class.PersistencePath; b.in.request.Affinity {
		w.server.persistence = w.server.configured
	}
	used := ""
	if w.server.existing != nil {
		w.server.path, used = w.server.existing.Path, w.server.existing.PoolPath
	}
	w.pool = wantedPool{path: names.PartPath(policy.Pools, port), members: b.members[a.family], snat: !b.in.settings.SNATDisabled}
	if w.pool.existing = b.find(policy.Pools, tag, func(o *policy.Object) bool { return o.Path == used }); w.pool.existing != nil {
		w.pool.path = w.pool.existing.Path
	} else {
		b.read(b.o, used)
	}
	b.buildMonitor(&w, served)
	b.use(w.server.path, w.pool.path)
	b.ports = append(b.ports, w)
}

// buildMonitor builds the monitor of a port.
//
//	externalTrafficPolicy   TCP                       UDP
//	Cluster                 TCP to the node port      that of the first port with TCP, if there is one
//	Local                   HTTP to the health check node port, for both
func (b *builder) buildMonitor(w *wantedPort, served service.Port) {
	resourceType, monitored := policy.TypeTCPMonitor, served.NodePort
	switch local := b.in.request.HealthCheckNodePort; {
	case local != 0:
		resourceType, monitored = policy.TypeHTTPMonitor, local
	case served.Protocol != v1.ProtocolTCP:
		w.pool.monitors = b.monitorOfTCP(w)

		return
	}
	var used []string
	if w.pool.existing != nil {
		used = w.pool.existing.ActiveMonitorPaths
	}
	m := &wantedMonitor{path: b.o.names.MonitorPath(resourceType, w.port), fields: b.o.names.NewMonitor(resourceType, w.port, monitored)}
	for _, o := range b.own[policy.Monitors] {
		if o.Tag(policy.ScopePort) == w.port.String() && o.ResourceType == resourceType && (m.existing == nil || slices.Contains(used, o.Path)) {
			m.existing = o
		}
	}
	if m.existing != nil {
		m.path = m.existing.Path
	} else {
		b.read(b.o, used...)
	}
	b.use(m.path)
	w.monitor, w.pool.monitors = m, []string{m.path}
}

// monitorOfTCP returns the monitor of a port with UDP, for which there is none of its own: it
// would have to send what its members respond to. A pool that exists without gets none.
func (b *builder) monitorOfTCP(w *wantedPort) []string {
	if w.pool.existing != nil && len(w.pool.existing.ActiveMonitorPaths) == 0 {
		return nil
	}
	for _, served := range b.in.request.Ports {
		if served.Protocol == v1.ProtocolTCP {
			port := policy.Port{Protocol: served.Protocol, Port: served.Port, Family: w.port.Family}
			if i := slices.IndexFunc(b.own[policy.Monitors], func(o *policy.Object) bool {
				return o.ResourceType == policy.TypeTCPMonitor && o.Tag(policy.ScopePort) == port.String()
			}); i >= 0 {
				return []string{b.own[policy.Monitors][i].Path}
			}

			return []string{b.o.names.MonitorPath(policy.TypeTCPMonitor, port)}
		}
	}

	return nil
}

// warnAboutClients warns that Nodes do not see the addresses of clients.
func (b *builder) warnAboutClients() {
	if b.in.request.HealthCheckNodePort != 0 && !b.in.settings.SNATDisabled {
		b.warn(ClientAddressHidden, "externalTrafficPolicy Local does not keep the addresses of clients: set snat-disabled in the cloud-config, "+
			"if Nodes reach clients through the tier-1 gateway")
	}
}

// validate reports what is missing for a new address or virtual server; unknown is why a profile
// is not known.
func (d *desired) validate(unknown error) error {
	var problems []error
	for _, a := range d.addresses {
		if a.missing != nil && a.ipPool == "" {
			problems = append(problems, apierr.Mark(apierr.ErrInvalid, fmt.Errorf("class %s has no pool of addresses for %s", a.class, policy.FamilyName(a.family))))
		}
	}

	for _, p := range d.ports {
		if p.server.existing == nil && p.server.profile == "" {
			problems = append(problems, unknown)
		}
	}

	return errors.Join(append(problems, d.refused)...)
}
