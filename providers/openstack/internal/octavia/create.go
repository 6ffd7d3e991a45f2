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
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/pending"
)

// maxCreations is how often a load balancer with all its parts is requested. Each request
// that Octavia refuses because of a part may cost an address of the network: some releases
// keep the port of the VIP.
const maxCreations = 2

// ErrDiscarded means that a load balancer that never became ACTIVE was deleted.
var ErrDiscarded = errors.New("it could not be created and was deleted: its provisioning status was ERROR")

// Create returns the step that creates a load balancer with all its parts, and stores its
// ID under [KeyLoadBalancer]. It waits until the load balancer is ACTIVE.
//
//	Octavia refuses               then
//	members                       once more without them, with a warning
//	a quota for load balancers,
//	an algorithm                  error
//	something else                the load balancer is created empty, and the parts one by
//	                              one: what is refused costs itself
//
// A creation that may have been carried out is not repeated: the next run finds the load
// balancer by its name. One that never becomes ACTIVE is deleted, which is an [ErrDiscarded].
func Create(d *Desired) change.Step {
	return plan.NewStep(kindCreateLoadBalancer, d.createText(), func(ctx context.Context, env *change.Env) error {
		c := &creation{desired: *d, env: env}
		if d.Serial {
			return c.inParts(ctx)
		}

		return c.whole(ctx)
	})
}

// createText describes the new load balancer.
func (d *Desired) createText() string {
	lb := &d.LoadBalancer
	var b strings.Builder
	fmt.Fprintf(&b, "create load balancer %s", lb.Name)
	if d.Serial {
		b.WriteString(", part by part")
	}
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

// creation is one creation of a load balancer.
type creation struct {
	desired Desired
	env     *change.Env
}

// whole creates the load balancer with all its parts in one call.
func (c *creation) whole(ctx context.Context) error {
	var err error
	for range maxCreations {
		if err = c.post(ctx, c.parts); err == nil || !c.isAboutParts(err) {
			return c.warnOfQuota(err)
		}
		if !c.reduce(err) {
			break
		}
	}

	return c.inParts(ctx)
}

// inParts creates the load balancer empty, and then its parts one by one. Once the load
// balancer is there, the run goes on.
func (c *creation) inParts(ctx context.Context) error {
	if err := c.post(ctx, nil); err != nil {
		return c.warnOfQuota(err)
	}
	id, err := c.env.IDs.Get(KeyLoadBalancer)
	if err != nil {
		return err
	}
	lb, err := c.env.Octavia.GetLoadBalancer(ctx, id)
	if err != nil {
		return plan.Partial(err)
	}
	steps, _ := Diff(&Observed{LoadBalancer: lb}, &c.desired)

	return plan.Partial(steps.Apply(ctx, c.env, nil))
}

func (c *creation) warnOfQuota(err error) error {
	if _, created := c.env.IDs.Get(KeyLoadBalancer); created == nil || !errors.Is(err, apierr.ErrQuota) {
		return err
	}

	return c.env.WarnOfQuota(c.desired.LoadBalancer.Name, "load balancer in Octavia", err)
}

// post sends the request, and waits. The parts, nil for none, are only in memory while the
// request is sent: with many Nodes they are large, and many Services may wait.
func (c *creation) post(ctx context.Context, parts func() []client.ListenerCreate) error {
	id, err := c.env.Create(ctx, func(ctx context.Context) (string, error) {
		lb := &c.desired.LoadBalancer
		request := client.LoadBalancerCreate{
			Name: lb.Name, Description: lb.Description, Provider: lb.Provider, FlavorID: lb.FlavorID, Zone: lb.Zone,
			VIPAddress: vipAddress(lb), VIPPortID: lb.VIP.PortID, VIPSubnetID: lb.VIP.SubnetID, VIPNetworkID: lb.VIP.NetworkID,
			Tags: lb.Tags,
		}
		if parts != nil {
			request.Listeners = parts()
		}
		made, err := c.env.Octavia.CreateLoadBalancer(ctx, request)
		if err != nil {
			return "", err
		}
		c.env.IDs.Set(KeyLoadBalancer, made.ID)

		return made.ID, nil
	})
	if errors.Is(err, pending.ErrFailed) {
		return c.discard(ctx, id, parts != nil, err)
	}

	return err
}

// discard deletes a load balancer whose creation has failed.
func (c *creation) discard(ctx context.Context, id string, cascade bool, cause error) error {
	if err := c.env.Octavia.DeleteLoadBalancer(ctx, id, cascade); err != nil {
		return errors.Join(cause, fmt.Errorf("delete load balancer %s, whose creation has failed: %w", id, err))
	}

	return fmt.Errorf("load balancer %s: %w: %w", id, ErrDiscarded, cause)
}

// parts returns the listeners with their pools in the request for all of it.
func (c *creation) parts() []client.ListenerCreate {
	return lists.Map(c.desired.Ports, func(p Port) client.ListenerCreate {
		listener, pool := p.Listener.create(), p.Pool.create()
		if len(p.Pool.Members) > 0 {
			pool.Members = lists.Map(p.Pool.Members, DesiredMember.spec)
		}
		if p.Pool.Monitor != nil {
			pool.Monitor = new(p.Pool.Monitor.create())
		}
		listener.DefaultPool = &pool

		return listener
	})
}

// isAboutParts reports whether an error may be about a part of the load balancer, which can
// be created without it.
func (c *creation) isAboutParts(err error) bool {
	if _, created := c.env.IDs.Get(KeyLoadBalancer); created == nil || client.MayBeApplied(err) || isAboutAlgorithm(err) {
		return false
	}
	if errors.Is(err, apierr.ErrQuota) {
		text := strings.ReplaceAll(strings.ToLower(change.Message(err)), " ", "")

		return !strings.Contains(text, "loadbalancer")
	}

	return errors.Is(err, apierr.ErrInvalid) || isDuplicate(err)
}

// reduce leaves out the members that an error names, and reports whether it names any.
func (c *creation) reduce(err error) bool {
	text := change.Message(err)
	var named []DesiredMember
	ports := make([]Port, 0, len(c.desired.Ports))
	for _, p := range c.desired.Ports {
		isNamed := func(m DesiredMember) bool { return mentions(text, m.Address.String()) }
		refused, rest := lists.Split(p.Pool.Members, isNamed)
		named, p.Pool.Members = append(named, refused...), rest
		ports = append(ports, p)
	}
	if len(named) == 0 {
		return false
	}
	c.env.WarnOfMembers(c.desired.LoadBalancer.Name, lists.Map(named, DesiredMember.String), err)
	c.desired.Ports = ports

	return true
}
