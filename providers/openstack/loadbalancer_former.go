package openstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/cloud-provider/api"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// findCurrent returns the load balancer that the Service uses, whatever its annotation has now: of
// those in the record and the annotation the one with the published address, or else the recorded
// one. The upstream controller follows the annotation, and leaves the record as it is.
func (l *loadBalancer) findCurrent(ctx context.Context, in input) (*balancer, error) {
	annotated := in.existing.LoadBalancerID
	ids := in.existing.RecordedIDs()
	if len(ids) > 0 && annotated != "" && !slices.Contains(ids, annotated) {
		ids = append(ids, annotated)
	}
	var err error
	if len(ids) > 1 {
		if in.id, err = l.published(ctx, in, ids); err != nil {
			return nil, err
		}
	}
	if in.id == annotated || annotated == "" || in.deletes { // it has nothing in an ignored one
		return l.findUpstream(ctx, in)
	}
	found, err := l.get(ctx, in, in.id)
	if err == nil {
		if !slices.Contains(in.existing.Recorded, annotated) {
			found.ignored = annotated
		}

		return found, nil
	}
	if certainty.ResponseOf(err) != certainty.NotFound {
		return nil, err
	}
	if err := l.confirmAbsent(ctx, in, certainty.NotFound); err != nil {
		return nil, err
	}
	lost := in.id
	in.id = annotated
	found, err = l.findOne(ctx, in)
	if err == nil {
		found.lost = cmp.Or(found.lost, lost)
	}

	return found, err
}

// published returns the one of several load balancers that has the published address. Without such
// an address, or if one of two is left, it is the one that is in use according to the record and the
// annotation.
func (l *loadBalancer) published(ctx context.Context, in input, ids []string) (string, error) {
	var rows []*client.LoadBalancerInfo
	for _, id := range ids {
		info, err := l.Octavia.GetLoadBalancer(ctx, id)
		if err == nil && !info.Provisioning.IsDeleted() {
			rows = append(rows, info)

			continue
		}
		if err = l.missing(id, err); certainty.ResponseOf(err) != certainty.NotFound && !errors.Is(err, apierr.ErrDenied) {
			return "", err
		}
	}
	serving, err := l.withAddress(ctx, in, rows)
	switch {
	case err != nil:
		return "", err
	case serving != nil:
		return serving.ID, nil
	case len(rows) > 1 && in.publishedAddress().IsValid() && !in.deletes:
		return "", api.NewRetryError(fmt.Sprintf("it is not known which of load balancers %s has the address %s", plan.Commas(ids), in.publishedAddress()), minRetryAfter)
	}

	return in.id, nil
}

// withAddress returns the one of some load balancers that has the address of the Service, as its VIP
// or its floating IP, nil without one. It costs one call if the address is no VIP.
func (l *loadBalancer) withAddress(ctx context.Context, in input, rows []*client.LoadBalancerInfo) (*client.LoadBalancerInfo, error) {
	addr := in.publishedAddress()
	if len(rows) == 0 || !addr.IsValid() {
		return nil, nil
	}
	if at := slices.IndexFunc(rows, func(row *client.LoadBalancerInfo) bool { return hasVIP(row, addr) }); at >= 0 {
		return rows[at], nil
	}
	if !addr.Is4() {
		return nil, nil // there are no other floating IPs
	}
	found, err := l.Network.FloatingIPsByAddress(ctx, addr.String())
	if err != nil {
		return nil, fmt.Errorf("find the load balancer with address %s: %w", addr, err)
	}
	for _, row := range rows {
		onPort := func(f *client.FloatingIP) bool { return f.PortID == row.VIPPortID }
		if row.VIPPortID != "" && slices.ContainsFunc(found, onPort) {
			return row, nil
		}
	}

	return nil, nil
}

// hasVIP reports whether an address is a VIP of a load balancer.
func hasVIP(info *client.LoadBalancerInfo, addr netip.Addr) bool {
	vips := []string{info.VIPAddress}
	for _, vip := range info.AdditionalVIPs {
		vips = append(vips, vip.Address)
	}

	return slices.ContainsFunc(vips, func(text string) bool {
		vip, err := netip.ParseAddr(text)

		return err == nil && vip.Unmap() == addr
	})
}

// findUpstream is findOne unless the Service is one of the upstream controller, has nothing in the
// found load balancer, and its tag and its address are those of another one: the annotation was
// changed. A tag alone is also that of the Service with the same name in another cluster.
func (l *loadBalancer) findUpstream(ctx context.Context, in input) (*balancer, error) {
	found, err := l.findOne(ctx, in)
	tag := in.names.LoadBalancer()
	if err != nil || len(in.existing.Recorded) > 0 || !in.publishedAddress().IsValid() ||
		found.info != nil && (found.owner || slices.Contains(found.info.Tags, tag)) {
		return found, err
	}
	rows, err := l.list(ctx, client.LoadBalancerQuery{Tags: []string{tag}})
	if err != nil {
		found.release()

		return nil, fmt.Errorf("find load balancers with tag %s: %w", tag, err)
	}
	rows = lists.Filter(rows, func(row *client.LoadBalancerInfo) bool {
		return row.ID != found.lost && (found.info == nil || row.ID != found.info.ID)
	})
	serving, err := l.withAddress(ctx, in, rows)
	if err == nil && serving == nil {
		return found, nil
	}
	found.release()
	if err != nil {
		return nil, err
	}
	found, err = l.get(ctx, in, serving.ID)
	if err == nil {
		found.ignored = in.id
	}

	return found, err
}

// formerOf returns the recorded load balancers that the Service does not use any more.
func (in input) formerOf(found *balancer) []string {
	used := []string{found.lost}
	if found.info != nil {
		used = append(used, found.info.ID)
	}
	if found.info == nil || found.owner {
		used = append(used, request.Requested)
	}

	return lists.Without(in.existing.Recorded, used)
}

// duplicatesOf returns the load balancers that were found with the current one, and those that were left
// before.
func (in input) duplicatesOf(found *balancer) []string {
	all := lists.Distinct(slices.Concat(found.duplicates, in.state.duplicates))
	if found.info == nil {
		return all
	}

	return lists.Without(all, []string{found.info.ID})
}

// renamedNames returns the names that the Service has in the load balancer of another one since
// before the cluster was renamed, nil if nothing proves it: the same Service of a second cluster
// can have such a tag, too. The proof is that the record, which has the UID of the Service, is
// that it uses this load balancer alone, that it has its address, and that the only tag of a
// Service with its name is of another cluster.
func (l *loadBalancer) renamedNames(ctx context.Context, in input, found *balancer) (*request.Names, error) {
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
	if found.renamed != nil {
		return *found.renamed
	}

	return in.names
}

// record stores in the Service that it may have parts in load balancers, before anything is
// written in the first one, so that they are found whatever happens later.
func (r *run) record(ctx context.Context, ids ...string) error {
	if slices.Contains(r.existing.Recorded, ids[0]) {
		return nil
	}
	recorded := slices.Concat(ids, r.found.former)
	if err := r.publisher.annotate(ctx, r.service, r.recordOf(recorded)); err != nil {
		return err
	}
	r.existing.Recorded, r.existing.Kept = recorded, r.kept

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
