package floatingip

import (
	"context"
	"net/netip"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/networks"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// API reads floating IPs and their ports.
type API interface {
	FloatingIPsByPort(ctx context.Context, ports []string) ([]*client.FloatingIP, error)
	FloatingIPsByAddress(ctx context.Context, address string) ([]*client.FloatingIP, error)
	PortsByID(ctx context.Context, ids []string) ([]*client.Port, error)
}

var _ API = (*client.NetworkService)(nil)

// Desired is what a Service wants.
type Desired struct {
	// Request is that of the Service.
	Request *request.Request
	// Owner reports whether the load balancer is that of the Service, or new. Other
	// Services use the floating IP that is there.
	Owner bool
	// Kept is the VIP that the Service has published and keeps, see [Desired.Keeps]; the zero
	// Addr for none.
	Kept netip.Addr
	// Place is where a new floating IP comes from. It only has to be set if
	// [Desired.NeedsPlace] reports so.
	Place networks.Place
	// PlaceErr is why Place is not known. The plan then has this error where a new floating
	// IP is needed.
	PlaceErr error
}

// Build returns what a Service wants.
func Build(r *request.Request, owner bool) *Desired { return &Desired{Request: r, Owner: owner} }

// NeedsPlace reports whether the plan may create a floating IP, for which Place must be
// found. Observed is nil for a load balancer that does not exist yet.
func (d *Desired) NeedsPlace(o *Observed) bool {
	if o == nil {
		return d.Owner && !d.Request.Internal && d.Request.Family != address.IPv6
	}
	if !d.lacks(o) {
		return false
	}
	reused, err := d.reuse(o)

	return reused == nil && err == nil
}

// lacks reports whether the load balancer has no floating IP, and this Service is the one
// that gives it one.
func (d *Desired) lacks(o *Observed) bool {
	needs, _ := d.Request.NeedsFloatingIP(o.VIP)

	return d.Owner && needs && o.Current() == nil && !d.Keeps(o)
}

// Keeps reports whether the load balancer gets no floating IP because its VIP is published and
// is to stay the address: there is none, and the user names none.
func (d *Desired) Keeps(o *Observed) bool {
	needs, _ := d.Request.NeedsFloatingIP(o.VIP)

	return d.Owner && needs && o.Current() == nil && d.Kept.IsValid() && d.Kept == o.VIP && !d.Request.FloatingIP.Named
}

// Observed is a load balancer with what is associated with its VIP.
type Observed struct {
	// LoadBalancer is the ID.
	LoadBalancer string
	VIP          netip.Addr
	// PortID is that of the VIP, never empty. NetworkID is its network, empty if Octavia
	// does not have it.
	PortID, NetworkID string
	// Associated are the floating IPs of the VIP, the one that is used first. Several are
	// from different external networks.
	Associated []*client.FloatingIP
	// Existing are the floating IPs of the project with the wanted address, or else the
	// published one. They are only read if they are needed.
	Existing []*client.FloatingIP
	// Left is what [Remaining] has found for a load balancer that is to be deleted.
	Left *client.FloatingIP
}

// Current is the floating IP that is used, nil if there is none.
func (o *Observed) Current() *client.FloatingIP {
	if len(o.Associated) == 0 {
		return nil
	}

	return o.Associated[0]
}

// Address is the address of the load balancer: that of the floating IP, or else the VIP.
func (o *Observed) Address() netip.Addr {
	if current := o.Current(); current != nil && addressOf(current).IsValid() {
		return addressOf(current)
	}

	return o.VIP
}

// addressOf is the address of a floating IP, the zero Addr if it cannot be parsed.
func addressOf(f *client.FloatingIP) netip.Addr { return parse(f.Address) }

func parse(text string) netip.Addr {
	addr, _ := netip.ParseAddr(text)

	return addr.Unmap()
}
