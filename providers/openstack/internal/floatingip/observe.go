package floatingip

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// ErrNoPort means that a load balancer has no VIP port: Octavia has not created it yet, or
// has failed to. It has no floating IP then.
var ErrNoPort = apierr.Mark(apierr.ErrConflict, errors.New("the load balancer has no VIP port"))

// Observe reads the floating IPs of a load balancer, and those that it may get instead of
// a new one. Desired may be nil if nothing is to be changed. It costs one call, and one
// more if a floating IP is missing and an address is wanted or was published. The error
// is an [ErrNoPort] for a load balancer without a VIP port.
func Observe(ctx context.Context, api API, lb *client.LoadBalancerInfo, d *Desired) (*Observed, error) {
	if lb.VIPPortID == "" {
		return nil, fmt.Errorf("observe floating IP of %s: %w", lb.ID, ErrNoPort)
	}
	associated, err := api.FloatingIPsByPort(ctx, []string{lb.VIPPortID})
	if err != nil {
		return nil, fmt.Errorf("observe floating IP of %s: %w", lb.ID, err)
	}
	o, err := From(lb, associated, d)
	if err != nil || d == nil {
		return o, err
	}
	addr := d.reusable(o)
	if !addr.IsValid() {
		return o, nil
	}
	existing, err := api.FloatingIPsByAddress(ctx, addr.String())
	if err != nil {
		return nil, fmt.Errorf("observe floating IP %s: %w", addr, err)
	}
	// One that is on the port was missing in the first list.
	o, err = From(lb, slices.Concat(associated, existing), d)
	if err == nil {
		o.Existing = existing
	}

	return o, err
}

// ObserveDeletion is [Observe] for a load balancer that is to be deleted. It may be deleted
// already, which a read that is behind does not show: if it has no floating IP and another
// address was published, what it has left is read, which costs one more call.
func ObserveDeletion(ctx context.Context, api API, lb *client.LoadBalancerInfo, existing request.Existing) (*Observed, error) {
	o, err := Observe(ctx, api, lb, nil)
	if err != nil || o.Current() != nil || parse(existing.Published) == o.VIP {
		return o, err
	}
	o.Left, err = Remaining(ctx, api, existing, lb.ID)

	return o, err
}

// From returns what is observed of a load balancer, from floating IPs that were read
// before: those of other ports are ignored. Desired may be nil. If [Desired.NeedsPlace]
// reports that a floating IP is missing, use [Observe].
func From(lb *client.LoadBalancerInfo, all []*client.FloatingIP, d *Desired) (*Observed, error) {
	o := &Observed{LoadBalancer: lb.ID, VIP: parse(lb.VIPAddress), PortID: lb.VIPPortID, NetworkID: lb.VIPNetworkID}
	switch {
	case o.PortID == "":
		return nil, fmt.Errorf("observe floating IP of %s: %w", lb.ID, ErrNoPort)
	case !o.VIP.IsValid():
		return nil, apierr.Mark(apierr.ErrUnavailable, fmt.Errorf("observe floating IP of %s: its VIP %q is no address", lb.ID, lb.VIPAddress))
	}
	for _, f := range all {
		// The port may have other addresses, with floating IPs of their own.
		if f.PortID == o.PortID && (f.FixedAddress == "" || parse(f.FixedAddress) == o.VIP) {
			o.Associated = append(o.Associated, f)
		}
	}
	slices.SortFunc(o.Associated, func(a, b *client.FloatingIP) int {
		return cmp.Or(d.rank(a)-d.rank(b), cmp.Compare(a.ID, b.ID))
	})

	return o, nil
}

// rank is the order in which floating IPs of a VIP are used: one with the wanted address,
// one with the published address, others.
func (d *Desired) rank(f *client.FloatingIP) int {
	switch addr := addressOf(f); {
	case d == nil || !addr.IsValid():
		return 2
	case addr == d.Request.FloatingIP.Address:
		return 0
	case addr == parse(d.Request.Published):
		return 1
	default:
		return 2
	}
}

// reusable is the address of a floating IP that may exist and is to be associated instead
// of a new one, the zero Addr for none.
func (d *Desired) reusable(o *Observed) netip.Addr {
	wanted, published := d.Request.FloatingIP.Address, parse(d.Request.Published)
	switch {
	case !d.lacks(o):
		return netip.Addr{}
	case wanted.IsValid():
		return wanted
	case published.Is4() && published != o.VIP:
		return published
	default:
		return netip.Addr{}
	}
}

// ErrStale means that a floating IP is still shown on the port of a load balancer that does
// not exist any more: the read was from before its deletion.
var ErrStale = apierr.Mark(apierr.ErrConflict, errors.New("the floating IP is on the port of a load balancer that was deleted"))

// devicePrefix is what the device of the port that Octavia makes for a load balancer has in
// front of the ID (octavia: network/drivers/neutron/allowed_address_pairs.py, allocate_vip).
const devicePrefix = "lb-"

// Remaining returns the floating IP that remained when the load balancer of a Service was
// deleted, nil if there is none. It is found by the published address, by the description
// of this very Service, and by being on no port. One that is to be kept is none. It costs
// one call if an address was published, and one more if the floating IP is on a port. The
// error is an [ErrStale] if that port is gone, or is that of the load balancer with the ID
// gone, which is empty if the load balancer exists.
func Remaining(ctx context.Context, api API, existing request.Existing, gone string) (*client.FloatingIP, error) {
	published := parse(existing.Published)
	if existing.KeepFloatingIP || !published.Is4() {
		return nil, nil
	}
	found, err := api.FloatingIPsByAddress(ctx, published.String())
	if err != nil {
		return nil, fmt.Errorf("find floating IP of a deleted load balancer: %w", err)
	}
	if free := left(found, existing.Names, published); free != nil {
		return free, nil
	}
	for _, f := range found {
		if !certainty.IsLeftFloatingIP(existing.Names, "", f.Description, addressOf(f), published) {
			continue
		}
		if err := checkInUse(ctx, api, f, gone); err != nil {
			return nil, fmt.Errorf("floating IP %s (%s): %w", f.Address, f.ID, err)
		}
	}

	return nil, nil
}

// checkInUse returns an error unless a floating IP of a Service is on a port of something
// else that exists.
func checkInUse(ctx context.Context, api API, f *client.FloatingIP, gone string) error {
	ports, err := api.PortsByID(ctx, []string{f.PortID})
	if err != nil {
		return err
	}
	if len(ports) == 0 || gone != "" && ports[0].DeviceID == devicePrefix+gone {
		return ErrStale
	}

	return nil
}

// left returns the floating IP that a deletion left, the first one by ID.
func left(all []*client.FloatingIP, names request.Names, published netip.Addr) *client.FloatingIP {
	var first *client.FloatingIP
	for _, f := range all {
		if certainty.IsLeftFloatingIP(names, f.PortID, f.Description, addressOf(f), published) && (first == nil || f.ID < first.ID) {
			first = f
		}
	}

	return first
}
