package network

import (
	"context"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
)

// readTags reads tags, and keeps only target groups that belong, or may belong,
// to the Service. The parts of the load balancer have its tags: they are
// written together, the load balancer's last.
func (r reader) readTags(ctx context.Context, balancer *LoadBalancer, groups []GroupState) ([]GroupState, error) {
	prefix := request.NamePrefix(r.query.Service)
	part := func(group GroupState) bool { return group.Attached && strings.HasPrefix(group.Name, prefix) }
	var arns []string
	if balancer != nil {
		arns = append(arns, balancer.ARN)
	}
	for _, group := range groups {
		if !part(group) {
			arns = append(arns, group.ARN)
		}
	}
	all, err := r.api.Tags(ctx, arns)
	if err != nil {
		return nil, err
	}
	if balancer != nil {
		balancer.Tags = all[balancer.ARN]
		for i := range balancer.Listeners {
			balancer.Listeners[i].Tags = balancer.Tags
		}
	}
	kept := groups[:0]
	for _, group := range groups {
		tags, found := all[group.ARN]
		if part(group) {
			tags, found = balancer.Tags, true
		}
		group.Tags = tags
		group.Owned = r.owned(group)
		if all == nil || found && group.Owned {
			kept = append(kept, group)
		}
	}

	return kept, nil
}

// owned reports whether a target group was created for the Service. If its tags
// cannot be read, the load balancer that uses or used it decides, or its name.
func (r reader) owned(group GroupState) bool {
	if group.Tags == nil {
		return group.Attached || r.api.LastUser(group.ARN) == r.query.Name || madeFor(r.query.Cluster, r.query.Service, group)
	}
	name, named := group.Tags[cluster.ServiceNameTag]
	if named {
		return name == r.query.Service.String() && r.query.Cluster.Member(group.Tags)
	}

	return group.Attached && r.query.Cluster.Owns(group.Tags)
}
