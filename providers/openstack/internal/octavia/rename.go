package octavia

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// Rename plans to give a load balancer and its parts the names and tags that they have in
// this cluster, if they have those of the same Service in a cluster of another name. The former
// name is that of its load balancer there, or its tag in one that was made for another Service.
// What is named after another Service stays, whatever its cluster is; so does what the same
// Service of a second cluster has in it.
//
// A load balancer whose tags are written gets that with the UID as well, unless it has one: a
// second cluster with the same Service could rename it back otherwise.
//
// A pool comes before its health monitor: where it stays PENDING_CREATE, its renaming ends that,
// and Octavia refuses changes of the monitor before. The load balancer is the last one, so that
// an interrupted run is completed by the next.
func Rename(o *Observed, names request.Names, former string) (change.Plan, []service.Warning) {
	r := &renamer{names: names.In(former), loadBalancer: o.LoadBalancer.ID}
	for _, id := range slices.Sorted(maps.Keys(o.Pools)) {
		p := o.Pools[id]
		r.pool(p)
		if p.Monitor != nil {
			r.monitor(p.Monitor)
		}
	}
	for _, l := range o.Listeners {
		r.listener(l)
	}
	r.balancer(o.LoadBalancer)
	if len(r.plan) == 0 {
		return nil, nil
	}

	return r.plan, []service.Warning{service.Warn(request.Renamed,
		"Load balancer %s and its parts get the names of this cluster: %s instead of %s", o.LoadBalancer.ID, names.LoadBalancer(), former)}
}

// renamer holds the plan of a renaming.
type renamer struct {
	names        request.Names
	loadBalancer string
	plan         change.Plan
}

// changes returns the changes of a name and of tags, and a text, which is empty if there are
// none.
func (r *renamer) changes(renamed func(string) (string, bool), name string, tags []string) (client.Change[string], client.Change[[]string], string) {
	var newName client.Change[string]
	var newTags client.Change[[]string]
	var text string
	if replacement, ok := renamed(name); ok {
		newName, text = client.Set(replacement), " name "+replacement
	}
	replaced := lists.Distinct(lists.Map(tags, func(tag string) string {
		if replacement, ok := r.names.Renamed(tag); ok {
			return replacement
		}

		return tag
	}))
	if !slices.Equal(replaced, lists.Distinct(tags)) {
		newTags, text = client.Set(replaced), text+" tags "+plan.Commas(replaced)
	}

	return newName, newTags, text
}

func (r *renamer) part(kind request.Part) func(string) (string, bool) {
	return func(name string) (string, bool) { return r.names.RenamedPart(kind, name) }
}

func (r *renamer) add(kind, what, text string, send func(context.Context, *change.Env) error) {
	r.plan = append(r.plan, plan.NewStep(kind, fmt.Sprintf("rename %s:%s", what, text), func(ctx context.Context, env *change.Env) error {
		return write(ctx, env, r.loadBalancer, func(ctx context.Context) error { return send(ctx, env) })
	}))
}

func (r *renamer) monitor(m *client.HealthMonitor) {
	name, tags, text := r.changes(r.part(request.PartMonitor), m.Name, m.Tags)
	if text == "" {
		return
	}
	r.add(kindUpdateMonitor, "health monitor "+m.ID, text, func(ctx context.Context, env *change.Env) error {
		_, err := env.Octavia.UpdateHealthMonitor(ctx, m.ID, client.MonitorUpdate{Name: name, Tags: tags})

		return err
	})
}

func (r *renamer) pool(p *Pool) {
	name, tags, text := r.changes(r.part(request.PartPool), p.Name, p.Tags)
	if text == "" {
		return
	}
	r.add(kindUpdatePool, "pool "+p.ID, text, func(ctx context.Context, env *change.Env) error {
		_, err := env.Octavia.UpdatePool(ctx, p.ID, client.PoolUpdate{Name: name, Tags: tags})

		return err
	})
}

func (r *renamer) listener(l *client.Listener) {
	name, tags, text := r.changes(r.part(request.PartListener), l.Name, l.Tags)
	if text == "" {
		return
	}
	r.add(kindUpdateListener, "listener "+l.ID, text, func(ctx context.Context, env *change.Env) error {
		_, err := env.Octavia.UpdateListener(ctx, l.ID, client.ListenerUpdate{Name: name, Tags: tags})

		return err
	})
}

func (r *renamer) balancer(lb *client.LoadBalancerInfo) {
	had := lb.Tags
	if _, owned := r.names.Renamed(lb.Name); owned && request.UIDOf(had) == "" && slices.Contains(had, lb.Name) {
		had = append(slices.Clone(had), r.names.UIDTag())
	}
	name, tags, text := r.changes(r.names.Renamed, lb.Name, had)
	if text == "" {
		return
	}
	r.add(kindUpdateLoadBalancer, "load balancer "+lb.ID, text, func(ctx context.Context, env *change.Env) error {
		_, err := env.Octavia.UpdateLoadBalancer(ctx, lb.ID, client.LoadBalancerUpdate{Name: name, Tags: tags})

		return err
	})
}
