package octavia

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// Create returns the step that creates a load balancer, with all its parts unless it is to be
// empty, and waits until it is ACTIVE. A creation that Octavia may have accepted is never sent
// again: the next sync finds the load balancer by its name.
func Create(d *Desired, empty bool) change.Step {
	return plan.NewStep(kindCreateLoadBalancer, d.createText(empty), func(ctx context.Context, env *change.Env) error {
		err := env.Create(ctx, func(ctx context.Context) (*client.LoadBalancerInfo, error) {
			return env.Octavia.CreateLoadBalancer(ctx, d.create(empty))
		})
		if empty || !IsAboutParts(err) {
			err = env.WarnOfQuota(d.LoadBalancer.Name, "load balancer in Octavia", err)
		}

		return err
	})
}

// createText describes the new load balancer.
func (d *Desired) createText(empty bool) string {
	lb := &d.LoadBalancer
	var b strings.Builder
	fmt.Fprintf(&b, "create load balancer %s", lb.Name)
	for _, setting := range []struct{ name, value string }{
		{"provider", lb.Provider},
		{"flavor", lb.FlavorID},
		{"availability zone", lb.Zone},
		{"port", lb.VIP.PortID},
		{"subnet", lb.VIP.SubnetID},
		{"network", lb.VIP.NetworkID},
		{"address", vipAddress(lb)},
		{"tags", strings.Join(lb.Tags, ", ")},
	} {
		if setting.value != "" {
			fmt.Fprintf(&b, ", %s %s", setting.name, setting.value)
		}
	}
	if empty {
		return b.String()
	}
	for i := range d.Ports {
		p := &d.Ports[i]
		fmt.Fprintf(&b, "; listener %s; pool %s; members %s", &p.Listener, &p.Pool, plan.FewCommas(p.Pool.Members))
		if p.Pool.Monitor != nil {
			fmt.Fprintf(&b, "; health monitor %s", p.Pool.Monitor)
		}
	}

	return b.String()
}

func vipAddress(lb *LoadBalancer) string {
	if !lb.VIP.Address.IsValid() {
		return ""
	}

	return lb.VIP.Address.String()
}

// create is the load balancer in a request.
func (d *Desired) create(empty bool) client.LoadBalancerCreate {
	lb := &d.LoadBalancer
	request := client.LoadBalancerCreate{
		Name: lb.Name, Description: lb.Description, Provider: lb.Provider, FlavorID: lb.FlavorID, Zone: lb.Zone,
		VIPAddress: vipAddress(lb), VIPPortID: lb.VIP.PortID, VIPSubnetID: lb.VIP.SubnetID, VIPNetworkID: lb.VIP.NetworkID,
		Tags: lb.Tags,
	}
	if !empty {
		request.Listeners = lists.Map(d.Ports, createWhole)
	}

	return request
}

// createWhole is a listener with its pool in a request.
func createWhole(p Port) client.ListenerCreate {
	listener, pool := p.Listener.create(), p.Pool.create()
	if len(p.Pool.Members) > 0 {
		pool.Members = lists.Map(p.Pool.Members, DesiredMember.spec)
	}
	if p.Pool.Monitor != nil {
		pool.Monitor = new(p.Pool.Monitor.create())
	}
	listener.DefaultPool = &pool

	return listener
}

// IsAboutParts reports whether the refusal of a load balancer may be about one of its parts, so that an
// empty one can be created.
func IsAboutParts(err error) bool {
	if client.MayBeApplied(err) {
		return false
	}
	if errors.Is(err, apierr.ErrQuota) {
		text := strings.ReplaceAll(strings.ToLower(change.Message(err)), " ", "")

		return !strings.Contains(text, "loadbalancer")
	}

	return errors.Is(err, apierr.ErrInvalid) || isDuplicate(err)
}
