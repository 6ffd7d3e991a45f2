package floatingip

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// AddressIgnored is the reason of the warning that the wanted address is not used, since
// the load balancer has another floating IP.
const AddressIgnored service.Reason = "LoadBalancerAddressIgnored"

// AddressKept is the reason of the warning that an external Service keeps its VIP as the
// address, since that is published.
const AddressKept service.Reason = "LoadBalancerAddressKept"

// ErrShared means that an external Service shares a load balancer without floating IP: only
// the Service that owns it makes one.
var ErrShared = apierr.Mark(apierr.ErrInvalid, errors.New("the shared load balancer has no floating IP, and only the service that owns it creates one: "+
	"give it one, or set annotation "+string(request.AnnotationInternal)+"=true"))

// Check returns what must be an error before anything is written for the Service.
func Check(o *Observed, d *Desired) error {
	if needs, _ := d.Request.NeedsFloatingIP(o.VIP); needs && !d.Owner && o.Current() == nil {
		return fmt.Errorf("load balancer %s: %w", o.LoadBalancer, ErrShared)
	}

	return nil
}

// Diff plans how the floating IP becomes what the Service wants. The steps are isolated:
// if they fail, the load balancer works under its VIP.
func Diff(o *Observed, d *Desired) (change.Plan, []service.Warning) {
	r := d.Request
	if r.Internal {
		return d.removals(o), nil
	}
	needs, warnings := r.NeedsFloatingIP(o.VIP)
	current, wanted := o.Current(), r.FloatingIP.Address
	switch {
	case !needs:
		return nil, warnings
	case current != nil && wanted.IsValid() && addressOf(current) != wanted:
		return nil, []service.Warning{service.Warn(AddressIgnored,
			"Address %s of spec.loadBalancerIP is not used: the load balancer has the floating IP %s", wanted, current.Address)}
	case current != nil:
		return nil, nil
	case d.Keeps(o):
		return nil, []service.Warning{service.Warn(AddressKept,
			"The load balancer has no floating IP and keeps its address %s, which was published before this controller took it over. "+
				"To get a floating IP, which changes the address, set floating-network-id", o.VIP)}
	}
	if err := Check(o, d); err != nil {
		return change.Plan{refuse(err)}, nil
	}
	reused, err := d.reuse(o)
	switch {
	case err != nil:
		return change.Plan{refuse(err)}, nil
	case reused != nil:
		return change.Plan{associate(o, d, reused)}, nil
	case d.PlaceErr != nil:
		return change.Plan{refuse(d.PlaceErr)}, nil
	case d.Place.NetworkID == "":
		return nil, []service.Warning{service.Warn(request.ForcedInternal,
			"The load balancer has no floating IP, its address is %s: there is no external network. Set floating-network-id", o.VIP)}
	}

	return change.Plan{create(o, d)}, nil
}

// refuse returns a step that fails without an effect on others.
func refuse(err error) change.Step { return plan.Refuse[*change.Env](err).Isolate() }

// reuse returns the floating IP that exists and is to be associated, nil if a new one is to
// be created. It is an error that the one with the wanted address is in use.
func (d *Desired) reuse(o *Observed) (*client.FloatingIP, error) {
	wanted := d.Request.FloatingIP.Address
	if !wanted.IsValid() {
		return left(o.Existing, d.Request.Names, parse(d.Request.Published)), nil
	}
	same := slices.DeleteFunc(slices.Clone(o.Existing), func(f *client.FloatingIP) bool { return addressOf(f) != wanted })
	slices.SortFunc(same, func(a, b *client.FloatingIP) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortStableFunc(same, func(a, b *client.FloatingIP) int { return d.otherNetwork(a) - d.otherNetwork(b) })
	if free := slices.IndexFunc(same, func(f *client.FloatingIP) bool { return f.PortID == "" }); free >= 0 {
		return same[free], nil
	}
	if len(same) > 0 {
		return nil, apierr.Mark(apierr.ErrConflict, fmt.Errorf("floating IP %s of spec.loadBalancerIP is in use: it is associated with port %s", wanted, same[0].PortID))
	}

	return nil, nil
}

// otherNetwork is 1 for a floating IP that is not from the wanted network. It is used
// nevertheless: the address takes precedence.
func (d *Desired) otherNetwork(f *client.FloatingIP) int {
	if network := d.Request.FloatingIP.NetworkID; network != "" && f.NetworkID != network {
		return 1
	}

	return 0
}

// removals plans to end what is public about an internal Service.
func (d *Desired) removals(o *Observed) change.Plan {
	if !d.Owner {
		return nil
	}
	var steps change.Plan
	for _, f := range o.Associated {
		if d.Request.FloatingIP.Keep || !certainty.IsOwnFloatingIP(f.PortID, o.PortID, f.Description) {
			steps = append(steps, disassociate(o, f))
		} else {
			steps = append(steps, remove(o, f))
		}
	}

	return steps
}

// DiffDelete plans what follows the deletion of the load balancer of a Service, once
// Octavia has accepted it. A floating IP that is kept, or that a user made, needs no step:
// Neutron disassociates it when Octavia deletes the port, and it stays on a port that a
// user made. Observed is nil if there was no VIP port.
func DiffDelete(o *Observed, existing request.Existing) change.Plan {
	if o == nil || existing.KeepFloatingIP {
		return nil
	}
	steps := DeleteRemaining(o.Left)
	for _, f := range o.Associated {
		if certainty.IsOwnFloatingIP(f.PortID, o.PortID, f.Description) {
			steps = append(steps, remove(o, f))
		}
	}

	return steps
}

// DeleteRemaining plans to delete what [Remaining] has found, nil for nothing.
func DeleteRemaining(f *client.FloatingIP) change.Plan {
	if f == nil {
		return nil
	}

	return change.Plan{remove(nil, f)}
}
