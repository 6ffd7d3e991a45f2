package loadbalancers

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/targets"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/policy"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/request"
)

// observed is what there is of the load balancer of a Service.
//
//	an object with the tags of the Service     is of the Service
//	LBVirtualServer                            if its LBService is one in use, or there is none
//	others                                     if no virtual server with the tags is of others; or else, if one of
//	                                           the Service uses it, or its ID is derived from the Service, unless that
//	                                           of a virtual server of others is, too
//
// What is not, is of another cluster with the same name at the same manager.
type observed struct {
	names policy.Names
	// objects have the tags of the Service, by path.
	objects map[string]*policy.Object
	// certain are the paths that were read or written in this operation, whether or not
	// there is an object.
	certain map[string]bool
	// others are those of them with an object that is not of the Service.
	others map[string]bool
	// lbServices are those that belong to the cluster, by path. They are the ones of the
	// tier-1 gateway of the cloud-config if the cluster manages its own.
	lbServices map[string]*policy.Object
	// atGateway are the paths of LBServices of others that are at the tier-1 gateway, in which
	// the upstream controller manager has created virtual servers.
	atGateway map[string]bool
	// lbService is the path of the one that new virtual servers get.
	lbService string
	// status are the addresses in the status of the Service.
	status []string
	// deleted are the paths of virtual servers that this operation has deleted.
	deleted []string
}

// parts are the objects of a Service by their kinds, each in the order of paths.
type parts struct {
	own map[policy.Kind][]*policy.Object
	// foreign are the paths of objects of another cluster.
	foreign []string
}

// parts tells the objects of the Service from those of another cluster.
func (o *observed) parts() parts {
	p := parts{own: map[policy.Kind][]*policy.Object{}}
	ours, theirs := map[string]bool{}, map[string]bool{} // what they use
	copied := false                                      // the Service has its ID in another cluster, too
	for _, kind := range []policy.Kind{policy.VirtualServers, policy.Pools, policy.Monitors, policy.Groups, policy.Allocations} {
		for _, path := range pathsOf(o.objects) {
			object := o.objects[path]
			if object.Kind != kind {
				continue
			}
			own := len(p.foreign) == 0 || ours[path] || o.names.IsDerived(object) && !theirs[path] && !copied
			if kind == policy.VirtualServers {
				own = o.isInUse(object.LBServicePath)
			}
			used := theirs
			if own {
				p.own[kind], used = append(p.own[kind], object), ours
			} else {
				p.foreign = append(p.foreign, path)
				copied = copied || kind == policy.VirtualServers && o.names.IsDerived(object)
			}
			for _, other := range object.Uses() {
				used[other] = true
			}
		}
	}

	return p
}

// isInUse reports whether virtual servers of the cluster can be in an LBService.
func (o *observed) isInUse(lbService string) bool {
	return lbService == "" || lbService == o.lbService || o.lbServices[lbService] != nil || o.atGateway[lbService]
}

// isEmpty reports whether nothing is left of the load balancer.
func (o *observed) isEmpty() bool { return len(o.parts().own) == 0 }

// checkPlace returns an error if virtual servers with the IDs of the Service, or an address in its
// status, are in another LBService: the cloud-config has named another one since, or the cluster is
// a copy.
func (o *observed) checkPlace() error {
	for _, path := range o.parts().foreign {
		if v := o.objects[path]; v.Kind == policy.VirtualServers && (o.names.IsDerived(v) || slices.Contains(o.status, v.IPAddress)) {
			return apierr.Mark(apierr.ErrConflict, fmt.Errorf("virtual server %s of the Service is in %s, not in the load balancer service of the cloud-config; "+
				"it stays, and if it is that of another cluster, remove the finalizer of a Service that is deleted", path, v.LBServicePath))
		}
	}

	return nil
}

// addresses returns the addresses of the virtual servers of a Service, that of the first
// family first.
func (p parts) addresses() []string {
	var first, second []string
	for _, v := range p.own[policy.VirtualServers] {
		list := &first
		if isSecond(v) {
			list = &second
		}
		if !slices.Contains(*list, v.IPAddress) {
			*list = append(*list, v.IPAddress)
		}
	}

	return append(first, second...)
}

// serversOf returns the paths of virtual servers.
func serversOf(p parts) []string {
	var paths []string
	for _, v := range p.own[policy.VirtualServers] {
		paths = append(paths, v.Path)
	}

	return paths
}

// pathsOf returns the paths of objects, in order.
func pathsOf(objects map[string]*policy.Object) []string { return slices.Sorted(maps.Keys(objects)) }

// input is what an operation is about, beside what is observed.
type input struct {
	operation service.Operation
	settings  *request.Config
	// request is nil for a deletion.
	request *request.Request
	// ipPools are the IDs of the pools of the class, by family. One that is not needed may
	// be missing.
	ipPools map[address.Family]string
	// profiles are the paths of the application profiles, by protocol.
	profiles map[string]string
	// unknown is why a profile is not known, which only new virtual servers need.
	unknown error
	// subset chooses members among the Nodes.
	subset *targets.Subset
	// refused is why nothing changes but the members of pools.
	refused error
}

// desired is what is wanted of a load balancer.
type desired struct {
	// newLBService are the fields of the LBService that is missing, if there are any.
	newLBService *policy.Fields
	addresses    []wantedAddress
	group        *wantedGroup
	ports        []wantedPort
	// members are the Nodes in all pools, by family.
	members  map[address.Family][]request.Member
	warnings []service.Warning
	// refused is why nothing changes but the members of pools.
	refused error
	// keep are the paths of the objects that stay.
	keep map[string]bool
	// unread are the paths of objects that have to be read before this can be decided.
	unread []string
}

// wantedAddress is the address of a family.
type wantedAddress struct {
	family address.Family
	// second is the family if it is not the first one of the Service.
	second address.Family
	// ip is valid if virtual servers have the address.
	ip netip.Addr
	// allocation is the path of the allocation, and missing its fields if there is none;
	// replaced means that it is of another address than the one that is requested.
	allocation string
	missing    *policy.Fields
	replaced   bool
	// ipPool and class are the tags of virtual servers.
	ipPool, class string
}

// key is the name of the address while it is not known.
func (a wantedAddress) key() string { return policy.FamilyName(a.family) + " address" }

// wantedGroup is the group of the source ranges.
type wantedGroup struct {
	path     string
	existing *policy.Object
	fields   policy.Fields
}

// wantedPort are the objects of a port of an address.
type wantedPort struct {
	port    policy.Port
	address *wantedAddress
	monitor *wantedMonitor // nil for none of its own
	pool    wantedPool
	server  wantedServer
}

type wantedMonitor struct {
	path     string
	existing *policy.Object
	fields   policy.Fields
}

type wantedPool struct {
	path     string
	existing *policy.Object
	members  []request.Member
	monitors []string
	snat     bool
}

type wantedServer struct {
	path     string
	existing *policy.Object
	nodePort int32
	profile  string
	// group is the path of that of the source ranges, empty for all clients.
	group string
	// persistence is the path of the profile for session affinity, empty for none, and
	// configured the one in the cloud-config.
	persistence, configured string
}
