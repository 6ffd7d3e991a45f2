package floatingip

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// keyAddress is the key under which steps store the address of the load balancer.
const keyAddress = "address of the load balancer"

// Address returns the address to publish after a plan was applied: that of the floating
// IP, or else the VIP.
func Address(o *Observed, ids *plan.IDs) netip.Addr {
	if text, err := ids.Get(keyAddress); err == nil {
		return parse(text)
	}

	return o.Address()
}

// from describes where a new floating IP comes from.
func from(d *Desired) string {
	var b strings.Builder
	if d.Place.NetworkID != "" {
		fmt.Fprintf(&b, " from network %s", d.Place.NetworkID)
	}
	if len(d.Place.SubnetIDs) > 0 {
		fmt.Fprintf(&b, ", subnet %s", strings.Join(d.Place.SubnetIDs, " or "))
	}
	if wanted := d.Request.FloatingIP.Address; wanted.IsValid() {
		fmt.Fprintf(&b, ", address %s", wanted)
	}

	return b.String()
}

// create returns the step that creates a floating IP on the VIP. It is never sent again
// if the response is lost: the next run finds it by the port.
func create(o *Observed, d *Desired) change.Step {
	text := fmt.Sprintf("create floating IP for VIP %s on port %s%s, description %q", o.VIP, o.PortID, from(d), d.Request.Names.FloatingIPDescription())

	return step("CreateFloatingIP", text, o.LoadBalancer, func(ctx context.Context, env *change.Env) (string, error) {
		made, err := attempt{o, d, d.Place.NetworkID}.create(ctx, env)
		if err != nil {
			return "", err
		}

		return made.Address, nil
	})
}

// associate returns the step that puts an existing floating IP on the VIP, unless something
// else has changed it since it was read.
func associate(o *Observed, d *Desired, f *client.FloatingIP) change.Step {
	text := fmt.Sprintf("associate floating IP %s (%s) with VIP %s on port %s", f.Address, f.ID, o.VIP, o.PortID)

	return step("AssociateFloatingIP", text, o.LoadBalancer, func(ctx context.Context, env *change.Env) (string, error) {
		changed, err := env.Network.AssociateFloatingIP(ctx, f, o.PortID, o.VIP.String())
		if err != nil {
			return "", attempt{o, d, f.NetworkID}.explain(ctx, env, err)
		}

		return changed.Address, nil
	})
}

// disassociate returns the step that takes a floating IP from the VIP, which is then the
// address.
func disassociate(o *Observed, f *client.FloatingIP) change.Step {
	text := fmt.Sprintf("disassociate floating IP %s (%s)", f.Address, f.ID)

	return step("DisassociateFloatingIP", text, o.LoadBalancer, func(ctx context.Context, env *change.Env) (string, error) {
		_, err := env.Network.DisassociateFloatingIP(ctx, f.ID)

		return o.VIP.String(), err
	}).Removal()
}

// remove returns the step that deletes a floating IP. The VIP is then the address of the
// load balancer. Observed is nil if that does not exist.
func remove(o *Observed, f *client.FloatingIP) change.Step {
	text := fmt.Sprintf("delete floating IP %s (%s)", f.Address, f.ID)
	var lb, vip string
	if o != nil {
		lb, vip = o.LoadBalancer, o.VIP.String()
	}

	return step("DeleteFloatingIP", text, lb, func(ctx context.Context, env *change.Env) (string, error) {
		return vip, env.Network.DeleteFloatingIP(ctx, f.ID)
	}).Removal()
}

// step returns a step that changes the address of a load balancer, which write returns,
// empty if it does not exist. If it fails, other steps go on: the load balancer works.
func step(kind, text, lb string, write func(context.Context, *change.Env) (string, error)) change.Step {
	return plan.NewStep(kind, text, func(ctx context.Context, env *change.Env) error {
		if env.Wrote != nil && lb != "" {
			env.Wrote(lb)
			defer env.Wrote(lb)
		}
		address, err := write(ctx, env)
		if err == nil && address != "" {
			env.IDs.Set(keyAddress, address)
		}

		return err
	}).Isolate()
}
