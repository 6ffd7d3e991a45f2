package aws

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/classic"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/network"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/securitygroup"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/targets"
)

// input is a call of the service controller: a Service and its request, with the
// settings that apply to it.
type input struct {
	config  request.Config
	service *v1.Service
	state   *state
	// full is [state.full] of the last sync.
	full    bool
	request *request.Request
	// nodes are the names of the Nodes of the call, sorted, and subset chooses targets among them.
	nodes  []string
	subset *targets.Subset
	// create reports whether a missing load balancer is created.
	create bool
	// deletedAt is when its deletion was requested, zero if it was not.
	deletedAt time.Time
}

// operation returns the call for the parts that are common to all clouds.
func (in input) operation() service.Operation {
	return service.Operation{Service: in.service, LoadBalancer: in.request.Name, Ensures: in.create}
}

// observed is what exists in AWS for a Service, and what its load balancer
// depends on.
type observed struct {
	// Classic and Network are nil if they were not looked for, or do not exist.
	Classic *classic.LoadBalancer
	Network *network.Observed
	// Groups are the security groups of the cluster, and those others that the
	// load balancer or its nodes depend on.
	Groups securitygroup.Groups
	// Writes is how many writes had been made when the groups were read.
	Writes int64
	// Primaries are the security groups that this process knows to be, or to have been,
	// the primary one of the classic load balancer.
	Primaries []string
	// Facts are the subnets and instances.
	Facts request.Facts
	// NetworkSubnets are the subnets that a network load balancer is in, if their CIDRs
	// are needed.
	NetworkSubnets []vpc.Subnet
	// Selection is which security groups are used.
	Selection selection
}

// selection is which security groups a Service uses. It is computed once, from
// the security groups of the cluster, because it decides what else is read.
type selection struct {
	// Own is for the load balancer.
	Own securitygroup.Choice
	// Nodes are those of the nodes that let the load balancer in.
	Nodes securitygroup.NodeGroups
	// Surplus are those that were created for the Service and are not needed.
	Surplus []*securitygroup.Group
}

// desired is everything that a Service is to have.
type desired struct {
	// Classic or Network is set, by the kind of load balancer; neither if all is
	// to be deleted.
	Classic *classic.Model
	Network *network.Model
	// Managed is the security group that is created and kept up for the load
	// balancer, nil if users bring all of them.
	Managed *securitygroup.Managed
	// Detaching are security groups that a classic load balancer keeps until no
	// rule of the nodes names them, since the rules are found by them.
	Detaching []plan.Ref
	// Nodes is what the load balancer needs in the security groups of the nodes.
	Nodes securitygroup.Needs
	// Before is the same, but for rules that have to be removed before a load
	// balancer is deleted.
	Before securitygroup.Needs
	// Surplus are the security groups to delete.
	Surplus []*securitygroup.Group
	// Warnings are about settings of the Service that have no effect.
	Warnings []service.Warning
	// Incomplete is set if it could not be determined what some nodes need.
	// Only additions are made then.
	Incomplete error
}

// ends reports whether a security group is about to be deleted.
func (d *desired) ends(id string) bool { return slices.Contains(d.Nodes.Ending, id) }

// classicGroups returns the IDs of the groups of the classic load balancer.
func (o *observed) classicGroups() []string {
	if !o.hasClassic() {
		return nil
	}

	return slices.Clone(o.Classic.SecurityGroups)
}

// networkGroups returns the IDs of the groups of the network load balancer, nil
// without one.
func (o *observed) networkGroups() []string {
	if !o.hasNetwork() {
		return nil
	}

	return append([]string{}, o.Network.SecurityGroups()...)
}

// groups returns the IDs of the groups of all load balancers.
func (o *observed) groups() []string { return append(o.classicGroups(), o.networkGroups()...) }

// hasNetwork reports whether there is a network load balancer of ours.
func (o *observed) hasNetwork() bool {
	return o.Network != nil && o.Network.LoadBalancer != nil && o.Network.NotOwned() == nil
}

// hasClassic reports whether there is a classic load balancer of ours.
func (o *observed) hasClassic() bool { return o.Classic != nil && o.Classic.NotOwned() == nil }

// has reports whether there is a load balancer of ours.
func (o *observed) has(kind request.Kind) bool {
	if kind == request.Network {
		return o.hasNetwork()
	}

	return o.hasClassic()
}

// hostname returns that of the load balancer of a kind.
func (o *observed) hostname(kind request.Kind) string {
	switch {
	case kind != request.Network:
		return o.Classic.Hostname()
	case o.Network == nil:
		return ""
	default:
		return o.Network.Hostname()
	}
}

// ruleName is the name in the descriptions of rules that were created for the
// Service. It is empty if a load balancer of another cluster has the name: the
// rules are that cluster's then.
func (o *observed) ruleName(in input) string {
	if o.Network != nil && o.Network.NotOwned() != nil {
		return ""
	}

	return in.request.Name
}

// otherThan returns the other kind of load balancer.
func otherThan(kind request.Kind) request.Kind {
	if kind == request.Network {
		return request.Classic
	}

	return request.Network
}
