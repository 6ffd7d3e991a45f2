package openstack

import (
	"context"
	"fmt"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// othersOf returns the load balancers besides the found one that the Service may have parts
// in: those of the record, or those that the upstream controller has left.
func (l *loadBalancer) othersOf(ctx context.Context, in input, found *balancer) ([]string, error) {
	recorded := in.existing.Recorded
	if len(recorded) == 0 {
		return l.upstreamOthers(ctx, in, found)
	}
	used := []string{found.lost}
	if found.info != nil {
		used = append(used, found.info.ID)
	}
	if found.info == nil || found.owner {
		used = append(used, request.Requested)
	}

	return lists.Without(recorded, used), nil
}

// upstreamOthers returns the load balancers besides the found one that a Service of the upstream
// controller may have parts in. If it has something in the found one there are none, or else the
// annotation may have been changed, and the one with its tag and its address is the former one.
// A tag alone is also that of the Service with the same name in another cluster.
func (l *loadBalancer) upstreamOthers(ctx context.Context, in input, found *balancer) ([]string, error) {
	tag := in.names.LoadBalancer()
	if !in.publishedAddress().IsValid() || found.info != nil && (found.owner || slices.Contains(found.info.Tags, tag)) {
		return nil, nil
	}
	rows, err := l.list(ctx, client.LoadBalancerQuery{Tags: []string{tag}})
	if err != nil {
		return nil, fmt.Errorf("find load balancers with tag %s: %w", tag, err)
	}
	rows = lists.Filter(rows, func(row *client.LoadBalancerInfo) bool {
		return row.ID != found.lost && (found.info == nil || row.ID != found.info.ID)
	})
	former, err := l.withAddress(ctx, in, rows)
	if err != nil || former == nil {
		return nil, err
	}

	return []string{former.ID}, nil
}

// formerNames returns the names that the Service has in the load balancer of another one since
// before the cluster was renamed, nil if nothing proves it: the same Service of a second cluster
// can have such a tag, too. The proof is that the record, which has the UID of the Service, is
// that it uses this load balancer alone, that it has its address, and that the only tag of a
// Service with its name is of another cluster.
func (l *loadBalancer) formerNames(ctx context.Context, in input, found *balancer) (*request.Names, error) {
	tags := request.ServiceTags(found.info.Tags)
	recorded := slices.Equal(in.existing.Recorded, []string{found.info.ID})
	if found.owner || !recorded || slices.Contains(tags, in.names.LoadBalancer()) {
		return nil, nil
	}
	var all []request.Names
	for _, tag := range tags {
		if names, ok := in.names.Former(tag); ok {
			all = append(all, names)
		}
	}
	if len(all) != 1 {
		return nil, nil
	}
	serving, err := l.withAddress(ctx, in, []*client.LoadBalancerInfo{found.info})
	if err != nil || serving == nil {
		return nil, err
	}

	return &all[0], nil
}

// namesIn returns the names that the Service has in a load balancer now.
func (in input) namesIn(found *balancer) request.Names {
	if found.former != nil {
		return *found.former
	}

	return in.names
}

// record stores in the Service that it may have parts in load balancers, before anything is
// written in the first one, so that they are found whatever happens later.
func (r *run) record(ctx context.Context, ids ...string) error {
	if slices.Contains(r.existing.Recorded, ids[0]) {
		return nil
	}
	recorded := slices.Concat(ids, r.others)
	version, err := r.publisher.annotate(ctx, r.service, r.recordOf(recorded))
	if err != nil {
		return err
	}
	r.existing.Recorded, r.existing.Kept, r.recorded = recorded, r.kept, version

	return nil
}

// recordOf returns the annotation with a record, which is removed if that is empty.
func (r *run) recordOf(recorded []string) map[annotation.Name]string {
	value := ""
	if len(recorded) > 0 {
		value = r.names.Record(r.kept, recorded...)
	}

	return map[annotation.Name]string{request.AnnotationLoadBalancers: value}
}
