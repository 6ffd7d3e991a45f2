package openstack

import (
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/targets"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/floatingip"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/networks"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/octavia"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/securitygroup"
)

// input is a call of the service controller: a Service and its request.
type input struct {
	service *v1.Service
	state   *state
	names   request.Names
	// id is the load balancer that the Service uses, empty if none is known, see
	// [request.Existing.InUse].
	id string
	// request is nil if the Service is deleted.
	request *request.Request
	// config has the settings of all load balancers.
	config *LoadBalancer
	// existing is what finds the resources of the Service, valid or not.
	existing request.Existing
	nodes    []*v1.Node
	// subset chooses members among the Nodes.
	subset *targets.Subset
	// create is whether a missing load balancer is created, deletes whether the Service is
	// deleted.
	create, deletes bool
}

// operation returns the call for the parts that are common to all clouds.
func (in input) operation() service.Operation {
	return service.Operation{Service: in.service, LoadBalancer: in.names.LoadBalancer(), Ensures: in.create}
}

// publishedAddress returns the address of the annotation or of the status, the zero Addr
// without one.
func (in input) publishedAddress() netip.Addr {
	if addr, err := netip.ParseAddr(request.AnnotationLoadBalancerAddress.Value(in.service)); err == nil {
		return addr.Unmap()
	}
	for _, ingress := range in.service.Status.LoadBalancer.Ingress {
		if addr, err := netip.ParseAddr(ingress.IP); err == nil {
			return addr.Unmap()
		}
	}

	return netip.Addr{}
}

// hadAddress reports whether the Service had a load balancer before.
func (in input) hadAddress() bool {
	return request.AnnotationLoadBalancerAddress.Value(in.service) != "" || len(in.service.Status.LoadBalancer.Ingress) > 0
}

// had reports whether the Service had parts in a load balancer: that is recorded, or else it
// had an address. An ID without either is that of the user.
func (in input) had(id string) bool {
	if recorded := in.existing.Recorded; len(recorded) > 0 {
		return slices.Contains(recorded, id)
	}

	return in.hadAddress()
}

// isUnclear reports whether the record has another load balancer than the annotation, or several, or
// whether there are duplicates.
func (in input) isUnclear() bool {
	recorded := in.existing.Recorded

	return len(in.state.duplicates) > 0 || len(recorded) > 0 && !slices.Equal(recorded, []string{in.existing.LoadBalancerID})
}

// isPublished reports whether an address is that of the annotation, or in the status.
func (in input) isPublished(text string) bool {
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return false
	}
	texts := []string{request.AnnotationLoadBalancerAddress.Value(in.service)}
	for _, ingress := range in.service.Status.LoadBalancer.Ingress {
		texts = append(texts, ingress.IP)
	}

	return slices.ContainsFunc(texts, func(text string) bool {
		published, err := netip.ParseAddr(text)

		return err == nil && published.Unmap() == addr.Unmap()
	})
}

// nodeAddresses returns all addresses of the Nodes of the cluster.
func (l *loadBalancer) nodeAddresses(in input) sets.Set[netip.Addr] {
	all := sets.New[netip.Addr]()
	for _, nodes := range [][]*v1.Node{in.nodes, l.Nodes().List()} {
		for _, node := range nodes {
			for _, a := range node.Status.Addresses {
				if addr, err := address.Parse(a.Address); err == nil {
					all.Insert(addr)
				}
			}
		}
	}

	return all
}

// observed is what exists for a Service, and what its load balancer depends on.
type observed struct {
	*balancer

	features features.Features
	// parts and floating are nil without a load balancer. The floating IP for an update is not read, nor
	// are the parts of one that was created as it is wanted, by this sync or an earlier one.
	parts    *octavia.Observed
	created  bool
	floating *floatingip.Observed
	group    *securitygroup.Observed
	// vipSubnet is the subnet of a new load balancer, if it is that of the Nodes.
	vipSubnet string
	// servers are the IDs of the servers of Nodes, by the names of the Nodes, and prefixes the CIDRs of
	// the subnets that the security group may need.
	servers  map[string]string
	prefixes map[string]netip.Prefix
	// refused are the members that Octavia has refused lately, and staying the addresses of those
	// that stay although they are not wanted: while Nodes are not initialized, those of any Node of
	// the cluster, since it is not known which are to be members.
	refused change.RefusedMembers
	staying sets.Set[netip.Addr]
	// subnets are those of the Nodes, if the members need them.
	subnets networks.NodeSubnets
	// waiting are the Nodes that are not initialized yet, and foreign those of other clouds,
	// if their servers matter.
	waiting, foreign []string
	place            networks.Place
	// placeErr is why the place of a new floating IP is not known.
	placeErr error
}

// desired is everything that a Service is to have.
type desired struct {
	balancer *octavia.Desired
	floating *floatingip.Desired
	// group is nil if security groups are not managed, or before there is a load balancer.
	group    *securitygroup.Desired
	warnings []service.Warning
	// addOnly means that some Nodes are not known: nothing is removed. incomplete are the
	// reasons for which the Service must be synced again.
	addOnly    bool
	incomplete []service.Gap
	// lasting are gaps that no other read and no write ends: Nodes that are not initialized
	// yet, and what users or administrators must change. The rest is as it should be.
	lasting []service.Gap
}
