package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// serving returns the one of several load balancers that has the address of the Service, as
// its VIP or its floating IP, nil without one. It costs one call if there are several, and the
// address is no VIP.
func (l *loadBalancer) serving(ctx context.Context, in input, rows []*client.LoadBalancerInfo) (*client.LoadBalancerInfo, error) {
	if len(rows) < 2 {
		return nil, nil
	}

	return l.withAddress(ctx, in, rows)
}

// withAddress returns the load balancer that has the address of the Service, nil without one.
func (l *loadBalancer) withAddress(ctx context.Context, in input, rows []*client.LoadBalancerInfo) (*client.LoadBalancerInfo, error) {
	addr := in.publishedAddress()
	if len(rows) == 0 || !addr.IsValid() {
		return nil, nil
	}
	if at := slices.IndexFunc(rows, func(row *client.LoadBalancerInfo) bool { return hasVIP(row, addr) }); at >= 0 {
		return rows[at], nil
	}
	if !addr.Is4() {
		return nil, nil // there are no other floating IPs
	}
	found, err := l.Network.FloatingIPsByAddress(ctx, addr.String())
	if err != nil {
		return nil, fmt.Errorf("find the load balancer with address %s: %w", addr, err)
	}
	for _, row := range rows {
		onPort := func(f *client.FloatingIP) bool { return f.PortID == row.VIPPortID }
		if row.VIPPortID != "" && slices.ContainsFunc(found, onPort) {
			return row, nil
		}
	}

	return nil, nil
}

// hasVIP reports whether an address is a VIP of a load balancer.
func hasVIP(info *client.LoadBalancerInfo, addr netip.Addr) bool {
	vips := []string{info.VIPAddress}
	for _, vip := range info.AdditionalVIPs {
		vips = append(vips, vip.Address)
	}

	return slices.ContainsFunc(vips, func(text string) bool {
		vip, err := netip.ParseAddr(text)

		return err == nil && vip.Unmap() == addr
	})
}

// isDuplicate reports whether a second load balancer may be deleted: it was made for this very
// Service, nothing in it is of another one, and it has neither the address of the Service nor
// a floating IP.
func (r *run) isDuplicate(ctx context.Context, info *client.LoadBalancerInfo) (bool, error) {
	project, err := r.Project(ctx)
	if err != nil {
		return false, err
	}
	addr := r.publishedAddress()
	if request.UIDOf(info.Tags) != r.names.UID || info.VIPPortID == "" || addr.IsValid() && hasVIP(info, addr) {
		return false, nil
	}
	own, err := r.isOurs(ctx, r.input, &balancer{info: info, owner: true, facts: r.factsOf(info, project, false)})
	if err != nil || !own {
		return false, err
	}
	floating, err := r.Network.FloatingIPsByPort(ctx, []string{info.VIPPortID})

	return err == nil && len(floating) == 0, err
}

// removeDuplicates deletes other load balancers that were made for the Service: a creation
// whose response was lost may have been repeated by an old version. One with a floating IP
// may serve, and stays.
func (r *run) removeDuplicates(ctx context.Context, found *balancer) error {
	var errs []error
	for _, info := range found.duplicates {
		if err := r.removeOne(ctx, info); err != nil {
			errs = append(errs, fmt.Errorf("duplicate load balancer %s: %w", info.ID, err))
		}
	}

	return errors.Join(errs...)
}

// removeOne deletes one of them. It is read again with its lock: it was listed before.
func (r *run) removeOne(ctx context.Context, listed *client.LoadBalancerInfo) error {
	free, err := r.lock(ctx, listed.ID)
	if err != nil {
		return err
	}
	defer free()
	info, err := r.Octavia.GetLoadBalancer(ctx, listed.ID)
	if errors.Is(err, apierr.ErrNotFound) || err == nil && info.Provisioning.IsDeleted() {
		return nil
	}
	if err != nil {
		return err
	}
	own, err := r.isDuplicate(ctx, info)
	if err != nil {
		return err
	}
	if !own {
		r.warn(service.Warn(reasonDuplicate,
			"Load balancer %s has the name %s of this Service, which uses another one: delete it if nothing else does", info.ID, info.Name))

		return nil
	}
	steps, err := r.deletion(ctx, info)
	if err != nil {
		return err
	}

	return r.apply(ctx, r.env(), steps)
}
