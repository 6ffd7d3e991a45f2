package loadbalancers

import (
	"context"
	"fmt"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/sim"
)

// balancer reads the load balancer of a name, nil if there is none.
func (c *cloud) balancer(ctx context.Context, name string) (found *balancer, err error) {
	err = c.Read(ctx, func() {
		for _, lb := range c.balancers {
			if lb.name == name {
				found = lb.copyOf()
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read load balancer: %w", err)
	}

	return found, nil
}

// createBalancer creates a load balancer without ports. The name may exist already
// only if duplicates are allowed.
func (c *cloud) createBalancer(ctx context.Context, lb balancer, duplicates bool) error {
	err := c.Write(ctx, func() error {
		for _, other := range c.balancers {
			if other.name == lb.name && !duplicates {
				return apierr.Mark(apierr.ErrConflict, sim.ErrExists)
			}
		}
		c.Created++
		lb.address, lb.listeners = fmt.Sprintf("lb-%d.sim.example", c.Created), map[portKey]listener{}
		c.balancers = append(c.balancers, &lb)

		return nil
	})
	if err != nil {
		return fmt.Errorf("create load balancer: %w", err)
	}

	return nil
}

// deleteBalancer removes a load balancer with its ports.
func (c *cloud) deleteBalancer(ctx context.Context, name string) error {
	err := c.Write(ctx, func() error {
		for i, lb := range c.balancers {
			if lb.name == name {
				c.balancers = slices.Delete(c.balancers, i, i+1)

				return nil
			}
		}

		return apierr.Mark(apierr.ErrNotFound, sim.ErrMissing)
	})
	if err != nil {
		return fmt.Errorf("delete load balancer: %w", err)
	}

	return nil
}

// changeBalancer changes a load balancer.
func (c *cloud) changeBalancer(ctx context.Context, name string, change func(*balancer) error) error {
	err := c.Write(ctx, func() error {
		for _, lb := range c.balancers {
			if lb.name == name {
				return change(lb)
			}
		}

		return apierr.Mark(apierr.ErrNotFound, sim.ErrMissing)
	})
	if err != nil {
		return fmt.Errorf("change load balancer: %w", err)
	}

	return nil
}

// putListener creates or replaces a listener. A target that is no running machine
// fails the whole call.
func (c *cloud) putListener(ctx context.Context, name string, port portKey, l listener) error {
	return c.changeBalancer(ctx, name, func(lb *balancer) error {
		for _, id := range l.targets {
			if m := c.Machine(id); m == nil || m.Power != conformance.On && !slices.Contains(lb.listeners[port].targets, id) {
				return apierr.Mark(apierr.ErrInvalid, fmt.Errorf("target %q is no machine that runs", id))
			}
		}
		lb.listeners[port] = l

		return nil
	})
}

// ruleList reads all rules, and the machines that can be targets.
func (c *cloud) ruleList(ctx context.Context) (rules []rule, running []string, err error) {
	err = c.Read(ctx, func() {
		rules = slices.Clone(c.rules)
		for _, m := range c.Machines {
			if m.Power == conformance.On {
				running = append(running, m.Ref.ProviderID)
			}
		}
	})
	if err != nil {
		return nil, nil, fmt.Errorf("list rules: %w", err)
	}

	return rules, running, nil
}

// changeRules adds and removes rules in one call. One that is there cannot be
// added.
func (c *cloud) changeRules(ctx context.Context, add, drop []rule) error {
	err := c.Write(ctx, func() error {
		for _, rule := range add {
			if slices.Contains(c.rules, rule) {
				return apierr.Mark(apierr.ErrConflict, sim.ErrExists)
			}
		}
		c.rules = slices.DeleteFunc(c.rules, func(r rule) bool { return slices.Contains(drop, r) })
		c.rules = append(c.rules, add...)

		return nil
	})
	if err != nil {
		return fmt.Errorf("change rules: %w", err)
	}

	return nil
}
