package octavia

import (
	"context"
	"fmt"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/pending"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// Claim plans to put the tag of the Service on a load balancer, before anything is created
// in it. The plan is empty if the tag is there, if the API has no tags, or if the Service can have
// none of its ports in the load balancer of another one. A Service that takes a load balancer over
// replaces the UID of the former one.
//
// The most is how many Services may use a load balancer, its owner included. It counts for
// Services that do not own it, and is checked with tags that are read right before.
//
// The tag with the UID is added along with the other one, to a load balancer of the Service
// only: every change makes a load balancer pending.
func Claim(o *Observed, d *Desired, most int) change.Plan {
	tag, uid := d.Names.LoadBalancer(), request.UIDOf(o.LoadBalancer.Tags)
	takesOver := d.Owner && uid != "" && !slices.Contains(o.LoadBalancer.Tags, d.Names.UIDTag())
	if !d.Features.Has(features.Tags) || slices.Contains(o.LoadBalancer.Tags, tag) && !takesOver || !d.Owner && !hasRoom(o, d) {
		return nil
	}
	wanted := []string{tag}
	if d.Owner && uid == "" || takesOver {
		wanted = d.Names.Tags()
	}
	text := fmt.Sprintf("add tags to load balancer %s: %s", o.LoadBalancer.ID, plan.Commas(wanted))
	switch {
	case takesOver:
		text += fmt.Sprintf("; instead of the UID %s", uid)
	case !d.Owner:
		text += fmt.Sprintf(", unless %d services use it", most)
	}

	return change.Plan{plan.NewStep(kindUpdateLoadBalancer, text, func(ctx context.Context, env *change.Env) error {
		return retag(ctx, env, o.LoadBalancer.ID, func(tags []string) ([]string, error) {
			users := request.ServiceTags(tags)
			if !d.Owner && !slices.Contains(users, tag) && len(users)+1 > most {
				return nil, apierr.Mark(apierr.ErrConflict, fmt.Errorf("load balancer %s is used by %s already, and max-shared-lb is %d",
					o.LoadBalancer.ID, plan.Commas(users), most))
			}

			if current := request.UIDOf(tags); takesOver && current != uid && current != d.Names.UID {
				return nil, apierr.Mark(apierr.ErrConflict, fmt.Errorf("load balancer %s is that of the service with the UID %s now", o.LoadBalancer.ID, current))
			}
			if takesOver {
				tags = lists.Without(tags, []string{request.Names{UID: uid}.UIDTag()})
			}

			return append(lists.Distinct(tags), lists.Without(wanted, tags)...), nil
		})
	})}
}

// hasRoom reports whether the load balancer has a port that the Service wants, and that nothing of
// another Service or of a user has.
func hasRoom(o *Observed, d *Desired) bool {
	f := newDiffer(o, d)

	return slices.ContainsFunc(d.Ports, func(p Port) bool {
		l := f.listeners[p.key()]

		return l == nil || f.owns(request.PartListener, l.Name, l.Tags)
	})
}

// Release plans to remove the tags of the Service from a load balancer that stays. The plan
// is empty if there are none.
func Release(o *Observed, names request.Names) change.Plan {
	own := names.Tags()
	if len(lists.Without(own, o.LoadBalancer.Tags)) == len(own) {
		return nil
	}
	text := fmt.Sprintf("remove tags from load balancer %s: %s", o.LoadBalancer.ID, plan.Commas(own))
	step := plan.NewStep(kindUpdateLoadBalancer, text, func(ctx context.Context, env *change.Env) error {
		return retag(ctx, env, o.LoadBalancer.ID, func(tags []string) ([]string, error) { return lists.Without(tags, own), nil })
	})

	return change.Plan{step.Removal()}
}

// retag changes the tags of a load balancer, as they are right before. Tags of others stay.
func retag(ctx context.Context, env *change.Env, id string, edit func([]string) ([]string, error)) error {
	lb, err := env.Octavia.GetLoadBalancer(ctx, id)
	if err != nil {
		return err
	}
	if lb.Provisioning.IsDeleted() || lb.Provisioning == client.ProvisioningPendingDelete {
		return fmt.Errorf("load balancer %s: %w", id, pending.ErrGone)
	}
	tags, err := edit(lb.Tags)
	if err != nil || slices.Equal(tags, lb.Tags) {
		return err
	}

	return write(ctx, env, id, func(ctx context.Context) error {
		_, err := env.Octavia.UpdateLoadBalancer(ctx, id, client.LoadBalancerUpdate{Tags: client.Set(tags)})

		return err
	})
}
