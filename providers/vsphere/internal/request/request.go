package request

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/policy"
)

// AffinityIgnored is the reason of the warning about session affinity without a profile.
const AffinityIgnored service.Reason = "SessionAffinityIgnored"

// Request is the validated request of a Service with its Nodes. It is deterministic: lists
// are in the order of the Service and the Nodes, or sorted.
type Request struct {
	Names policy.Names
	Class Class
	Ports []service.Port
	// Families are the IP families of the load balancer, that of the first address first.
	Families []address.Family
	// Members are the addresses of Nodes, those of families too that the Service does not have:
	// its load balancer may.
	Members map[address.Family][]Member
	// HealthCheckNodePort is that of externalTrafficPolicy Local, else 0.
	HealthCheckNodePort int32
	// SourceRanges are the clients that may connect, sorted; nil is all. Those of families in Open
	// may, too.
	SourceRanges []netip.Prefix
	Open         []address.Family
	// Affinity keeps clients at their Node.
	Affinity bool
	// Address is the one that is requested, if it is valid.
	Address netip.Addr
	// Refused is why the load balancer cannot be that of the Service. It means apierr.ErrInvalid;
	// only the Members are valid then.
	Refused error
}

// Member is a Node behind a load balancer.
type Member struct {
	Node string
	IP   netip.Addr
}

// NamesOf returns the names of the objects of a Service.
func (c *Config) NamesOf(cluster string, svc *v1.Service) policy.Names {
	return policy.Names{
		Owner: c.Owner(cluster), Service: types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}, UID: svc.UID,
	}
}

// New returns the request of a Service.
func (c *Config) New(cluster string, svc *v1.Service, nodes []*v1.Node) (*Request, []service.Warning) {
	p := parser{svc: svc, request: &Request{Names: c.NamesOf(cluster, svc)}}
	p.readClass(c)
	p.readPorts()
	p.readFamilies()
	p.readSourceRanges()
	p.readAffinity()
	if svc.Spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal {
		p.request.HealthCheckNodePort = svc.Spec.HealthCheckNodePort
	}
	p.readNodes(nodes)
	p.request.Refused = errors.Join(p.problems...)

	return p.request, p.warnings
}

type parser struct {
	svc      *v1.Service
	request  *Request
	problems []error
	warnings []service.Warning
}

func (p *parser) reject(format string, args ...any) {
	p.problems = append(p.problems, apierr.Mark(apierr.ErrInvalid, fmt.Errorf(format, args...)))
}

func (p *parser) readClass(c *Config) {
	name := cmp.Or(strings.TrimSpace(AnnotationClass.Value(p.svc)), DefaultClass)
	class, ok := c.Classes[name]
	if !ok {
		p.reject("invalid load balancer class %s: want one of %s", name, strings.Join(slices.Sorted(maps.Keys(c.Classes)), ", "))
	}
	p.request.Class = class
}

func (p *parser) readPorts() {
	ports, err := service.Ports(p.svc)
	if err != nil {
		p.problems = append(p.problems, err)
	}
	for _, port := range ports {
		switch {
		case port.Protocol != v1.ProtocolTCP && port.Protocol != v1.ProtocolUDP:
			p.reject("port %d: NSX-T load balancers have no protocol %s", port.Port, port.Protocol)
		case port.NodePort == 0:
			p.reject("port %d has no node port: spec.allocateLoadBalancerNodePorts must not be false", port.Port)
		}
	}
	p.request.Ports = ports
}

// readFamilies reads the families and the address that is requested. The second family is
// left out without a pool, unless the Service requires it.
func (p *parser) readFamilies() {
	families := lists.Map(p.svc.Spec.IPFamilies, func(f v1.IPFamily) address.Family { return address.Family(strings.ToLower(string(f))) })
	if len(families) == 0 {
		families = []address.Family{address.IPv4}
	}
	if len(families) > 1 {
		if wanted := p.svc.Spec.IPFamilyPolicy; !p.request.Class.IsDualStack() && wanted != nil && *wanted == v1.IPFamilyPolicyRequireDualStack {
			p.reject("spec.ipFamilyPolicy is RequireDualStack, and class %s has no pool of IPv6 addresses", p.request.Class.Name)
		}
		if !p.request.Class.IsDualStack() {
			families = families[:1]
		}
	}
	p.request.Families = families
	requested := p.svc.Spec.LoadBalancerIP
	if requested == "" {
		return
	}
	ip, err := address.Parse(requested)
	switch {
	case err != nil:
		p.reject("spec.loadBalancerIP: %q is not an IP address", requested)
	case !slices.Contains(families, address.FamilyOf(ip)):
		p.reject("spec.loadBalancerIP: %s is of no IP family of the load balancer", requested)
	}
	p.request.Address = ip
}

// readSourceRanges reads the ranges of the spec, or else of the annotation. All addresses of
// each family, or of any alone, are no restriction: those of IPv4 are the default.
func (p *parser) readSourceRanges() {
	networks, err := helpers.GetLoadBalancerSourceRanges(p.svc)
	if err != nil {
		p.reject("read source ranges: %w", err)

		return
	}
	ranges := lists.Map(slices.Collect(maps.Values(networks)), prefixOf)
	open, some := lists.Split(ranges, func(prefix netip.Prefix) bool { return prefix.Bits() == 0 })
	families := lists.Map(open, func(prefix netip.Prefix) address.Family { return address.FamilyOf(prefix.Addr()) })
	if len(some) == 0 || len(lists.Without(p.request.Families, families)) == 0 {
		return
	}
	slices.SortFunc(some, netip.Prefix.Compare)
	p.request.SourceRanges, p.request.Open = some, families
}

func prefixOf(network *net.IPNet) netip.Prefix {
	ip, _ := netip.AddrFromSlice(network.IP)
	bits, _ := network.Mask.Size()

	return netip.PrefixFrom(ip, bits).Masked()
}

func (p *parser) readAffinity() {
	if p.svc.Spec.SessionAffinity != v1.ServiceAffinityClientIP {
		return
	}
	if p.request.Class.PersistencePath != "" {
		p.request.Affinity = true

		return
	}
	p.warnings = append(p.warnings, service.Warn(AffinityIgnored,
		"spec.sessionAffinity ClientIP has no effect: the cloud-config has no persistence-profile-path"))
}

// readNodes reads the first internal address of each family of each Node.
func (p *parser) readNodes(nodes []*v1.Node) {
	p.request.Members = map[address.Family][]Member{}
	var skipped []string
	for _, node := range nodes {
		for _, family := range []address.Family{address.IPv4, address.IPv6} {
			if ip, ok := internalIP(node, family); ok {
				p.request.Members[family] = append(p.request.Members[family], Member{node.Name, ip})
			} else if slices.Contains(p.request.Families, family) {
				skipped = append(skipped, node.Name)
			}
		}
	}
	slices.Sort(skipped)
	p.warnings = append(p.warnings, service.SkippedNodes(slices.Compact(skipped), "they have no internal address of each IP family of the load balancer")...)
}

func internalIP(node *v1.Node, family address.Family) (netip.Addr, bool) {
	for _, a := range node.Status.Addresses {
		ip, err := address.Parse(a.Address)
		if err == nil && a.Type == v1.NodeInternalIP && address.FamilyOf(ip) == family {
			return ip, true
		}
	}

	return netip.Addr{}, false
}
