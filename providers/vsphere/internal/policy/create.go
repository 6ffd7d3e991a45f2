package policy

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nsx"
)

// complete cuts texts that are too long for the API.
func (f Fields) complete() Fields {
	f.DisplayName = nsx.Cut(f.DisplayName, nsx.MaxName)
	f.Description = nsx.Cut(f.Description, nsx.MaxDescription)

	return f
}

// NewLBService returns a new LBService of the cluster.
func (o Owner) NewLBService(tier1, size string) Fields {
	return Fields{
		DisplayName: "cluster:" + o.Cluster, Description: describe("virtual server pool for cluster %s", o.Cluster), Tags: o.tags(nil),
		Size: size, ConnectivityPath: tier1, Enabled: true,
	}.complete()
}

// part returns the fields that all objects of a port have.
func (n Names) part(what string, port Port) Fields {
	return Fields{
		DisplayName: n.DisplayName(), Description: describe("%s for cluster %s, service %s", what, n.Owner.Cluster, n),
		Tags: n.Owner.tags(map[string]string{ScopeService: n.String(), ScopePort: port.String()}),
	}
}

// NewMonitor returns a new monitor of a node port, of one of the types for TCP and HTTP.
func (n Names) NewMonitor(resourceType string, port Port, nodePort int32) Fields {
	f := n.part("", port)
	f.ResourceType, f.MonitorPort = resourceType, nodePort
	what := "tcp monitor"
	if resourceType == TypeHTTPMonitor {
		what, f.RequestURL = "http monitor", "/"
	}
	f.DisplayName += ":" + strconv.Itoa(int(nodePort))
	f.Description = describe("%s for cluster %s, service %s, port %d", what, n.Owner.Cluster, n, nodePort)

	return f.complete()
}

// NewPool returns a new pool. With SNAT, members see an address of the gateway as that of
// the client.
func (n Names) NewPool(port Port, members []json.RawMessage, monitors []string, snat bool) Fields {
	f := n.part("pool", port)
	f.Members, f.ActiveMonitorPaths, f.SNATTranslation = members, monitors, SNATOf(snat)

	return f.complete()
}

// SNATOf returns how a pool replaces the addresses of clients, or that it does not.
func SNATOf(enabled bool) *SNATTranslation {
	if enabled {
		return &SNATTranslation{SNATAutoMap}
	}

	return &SNATTranslation{SNATDisabled}
}

// NewMember returns a new member of a pool: the address of a Node.
func (n Names) NewMember(node string, ip netip.Addr) json.RawMessage {
	content, _ := json.Marshal(Member{"ENABLED", nsx.Cut(n.Owner.Cluster+":"+node, nsx.MaxName), ip.String()}) //nolint:errchkjson // texts

	return content
}

// NewVirtualServer returns a new virtual server, without the fields that follow the Service.
func (n Names) NewVirtualServer(port Port, ip netip.Addr, lbService, ipPool, class string) Fields {
	f := n.part("virtual server", port)
	f.Tags = n.Owner.tags(map[string]string{
		ScopeService: n.String(), ScopePort: port.String(), ScopeIPPool: ipPool, ScopeClass: class,
	})
	f.Enabled, f.IPAddress, f.Ports, f.LBServicePath = true, ip.String(), []string{strconv.Itoa(int(port.Port))}, lbService

	return f.complete()
}

// NewAllocation returns a new allocation, of an address that was requested or of any.
func (n Names) NewAllocation(ip netip.Addr) Fields {
	f := Fields{Tags: n.Owner.tags(map[string]string{ScopeService: n.String()})}
	if ip.IsValid() {
		f.AllocationIP = ip.String()
	}

	return f
}

// NewGroup returns a new group of the addresses of clients.
func (n Names) NewGroup(ranges []netip.Prefix) Fields {
	f := Fields{
		DisplayName: n.DisplayName(), Description: describe("source ranges for cluster %s, service %s", n.Owner.Cluster, n),
		Tags: n.Owner.tags(map[string]string{ScopeService: n.String()}), Expression: []Expression{RangesExpression(ranges)},
	}

	return f.complete()
}

// RangesExpression returns the expression of a group of addresses.
func RangesExpression(ranges []netip.Prefix) Expression {
	return Expression{"IPAddressExpression", lists.Map(ranges, netip.Prefix.String)}
}

// Allow returns the access list of a group.
func Allow(groupPath string) *AccessList { return &AccessList{"ALLOW", true, groupPath} }

// NodePorts returns the ports of members as the API has them.
func NodePorts(port int32) []string { return []string{fmt.Sprint(port)} }
