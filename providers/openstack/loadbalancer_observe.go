package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/floatingip"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/octavia"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/securitygroup"
)

var (
	// errNoKeyManager means that there is no service that has TLS certificates.
	errNoKeyManager = errors.New("the cloud has no key manager, which TLS listeners need")
	// errNoServer means that a Node has no provider ID yet.
	errNoServer = apierr.Mark(apierr.ErrUnavailable, errors.New("the node is not initialized yet"))
)

// observe reads what the Service has, and what its load balancer depends on. Found has no
// load balancer if one is to be made. An update needs neither certificates nor floating IPs.
func (r *run) observe(ctx context.Context, found *balancer) (*observed, error) {
	o := &observed{balancer: found}
	var err error
	if o.features, err = r.featuresOf(ctx, found.info); err != nil {
		return nil, err
	}
	if r.create && !found.whole {
		if err := r.checkTLS(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.observeParts(ctx, o); err != nil {
		return nil, err
	}
	if r.create {
		if err := r.observeFloatingIP(ctx, o); err != nil {
			return nil, err
		}
	}

	if err := r.observeNodes(ctx, o); err != nil {
		return nil, err
	}

	return o, r.observePrefixes(ctx, o)
}

// observeParts reads the listeners, pools, members and health monitors.
func (r *run) observeParts(ctx context.Context, o *observed) error {
	if o.info == nil {
		return nil
	}
	if o.created = o.whole || r.isAsCreated(ctx, o.info.ID); o.created {
		o.parts = asCreated(o.info)

		return nil
	}
	var err error
	o.parts, err = octavia.Read(ctx, r.Octavia, o.info, r.owns(o.balancer))

	return err
}

// checkTLS returns an error if the certificate of TLS listeners does not exist. That it
// does is no proof that Octavia may read it.
func (r *run) checkTLS(ctx context.Context) error {
	tls := r.request.TLS
	if tls == nil {
		return nil
	}
	if err := r.KeyManager.Available(ctx); err != nil {
		return fmt.Errorf("%w: %w", errNoKeyManager, err)
	}
	if tls.Container == "" && tls.Secret == "" {
		return nil
	}
	if err := r.KeyManager.CheckReference(ctx, tls.Ref); err != nil {
		return fmt.Errorf("TLS certificate %s: %w", tls.Ref, err)
	}

	return nil
}

// observeFloatingIP reads the floating IP, and where a new one comes from if it is needed.
func (r *run) observeFloatingIP(ctx context.Context, o *observed) error {
	wanted := r.floatingIP(o)
	var err error
	if o.info != nil {
		if o.floating, err = floatingip.Observe(ctx, r.Network, o.info, wanted); err != nil {
			return err
		}
		r.keep(o, wanted)
	}

	r.placeFloatingIP(ctx, o, wanted)

	return nil
}

// placeFloatingIP finds where a new floating IP comes from. That of a new load balancer is only checked,
// and not if it depends on a subnet that Octavia chooses.
func (r *run) placeFloatingIP(ctx context.Context, o *observed, wanted *floatingip.Desired) {
	isUnknown := o.info == nil && r.request.FloatingIP.NetworkID == "" && !r.request.VIP.Detect && r.request.VIP.SubnetID == ""
	if isUnknown || !wanted.NeedsPlace(o.floating) {
		return
	}
	place, warnings, err := r.networks.Place(ctx, r.request.FloatingIP, func(ctx context.Context) (string, error) {
		switch {
		case o.info != nil:
			return o.info.VIPSubnetID, nil
		case r.request.VIP.Detect:
			return r.networks.VIPSubnet(ctx, r.request.DetectFrom, r.serverOf)
		default:
			return r.request.VIP.SubnetID, nil
		}
	})
	r.warn(warnings...)
	o.place, o.placeErr = place, err
}

// isOwner reports whether the load balancer is that of the Service, or new.
func (o *observed) isOwner() bool { return o.info == nil || o.owner }

// observeNodes reads the servers of Nodes and their subnets, as far as they are needed, and what is
// known of their members.
func (r *run) observeNodes(ctx context.Context, o *observed) error {
	o.refused = r.refusals.Members(o.pools())
	if o.info == nil && r.request.VIP.Detect {
		var err error
		if o.vipSubnet, err = r.networks.VIPSubnet(ctx, r.request.DetectFrom, r.serverOf); err != nil {
			return err
		}
	}
	if !r.request.MemberSubnet.Detect && !r.request.ManageSecurityGroups {
		return nil
	}
	o.servers = map[string]string{}
	var known []request.Target
	for _, target := range r.request.Members {
		switch id, err := r.serverOf(target.Node); {
		case err != nil:
			o.waiting = append(o.waiting, target.Node)
		case id == "":
			o.foreign = append(o.foreign, target.Node)
			known = append(known, target)
		default:
			o.servers[target.Node] = id
			known = append(known, target)
		}
	}
	if len(o.waiting) > 0 {
		o.staying = r.nodeAddresses(r.input)
	}
	if r.request.MemberSubnet.Detect {
		o.subnets = r.networks.MemberSubnets(ctx, known, r.serverOf)
	}

	return nil
}

// serverOf returns the ID of the server of a Node, empty if it is a Node of another cloud. A
// new Node may become one of this cloud.
func (r *run) serverOf(name string) (string, error) {
	if r.byName == nil {
		r.byName = make(map[string]*v1.Node, len(r.nodes))
		for _, node := range r.nodes {
			r.byName[node.Name] = node
		}
	}
	node := r.byName[name]
	if node == nil {
		return "", nil
	}
	if ids := r.ServerOf(node); len(ids) > 0 {
		return ids[0], nil
	}
	if node.Spec.ProviderID == "" && time.Since(node.CreationTimestamp.Time) < waitLimit {
		return "", errNoServer
	}

	return "", nil
}

// owns returns a function that reports whether a part of a load balancer can belong to the
// Service.
func (in input) owns(found *balancer) octavia.Own {
	names := in.namesIn(found)

	return func(kind request.Part, name string, tags []string) bool {
		return certainty.IsOwnPart(names, kind, name, tags, found.owner)
	}
}

// given returns what the request is resolved with.
func (o *observed) given() request.Given {
	given := request.Given{Features: o.features}
	if o.info == nil {
		return given
	}
	vips := []string{o.info.VIPAddress}
	for _, vip := range o.info.AdditionalVIPs {
		vips = append(vips, vip.Address)
	}
	for _, text := range vips {
		if addr, err := netip.ParseAddr(text); err == nil {
			if family := address.FamilyOf(addr.Unmap()); !slices.Contains(given.Families, family) {
				given.Families = append(given.Families, family)
			}
		}
	}
	given.VIPSecurityGroups = len(o.info.VIPGroups) > 0

	return given
}

// observeGroup reads the security group of the Service. Desired is nil if there must be
// none.
func (r *run) observeGroup(ctx context.Context, api securitygroup.API, wanted *securitygroup.Desired) (*securitygroup.Observed, error) {
	project, err := r.Project(ctx)
	if err != nil {
		return nil, err
	}
	if wanted == nil {
		return securitygroup.Find(ctx, api, r.names, project)
	}

	return securitygroup.Observe(ctx, api, wanted, project)
}

// observePrefixes reads the CIDRs of all subnets that traffic to members can come from, for the
// security group.
func (r *run) observePrefixes(ctx context.Context, o *observed) error {
	if o.info == nil || !r.request.ManageSecurityGroups {
		return nil
	}
	ids := sets.New(r.request.MemberSubnet.ID, o.info.VIPSubnetID)
	for _, id := range o.subnets.ByNode {
		ids.Insert(id)
	}
	for _, pool := range o.parts.Pools {
		for _, member := range pool.Members {
			if member.Full != nil {
				ids.Insert(member.Full.SubnetID)
			}
		}
	}
	ids.Delete("")
	var err error
	o.prefixes, err = r.prefixes.of(ctx, r.Network, sets.List(ids))

	return err
}
