package openstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/nodes"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// reasonNotOwned is a load balancer that has the name of the Service, and was made for
// another one.
const reasonNotOwned service.Reason = "LoadBalancerNotOwned"

// reasonDuplicate is a second load balancer with the name of the Service.
const reasonDuplicate service.Reason = "LoadBalancerSurplus"

// reasonLost is a load balancer that was deleted outside of the cluster, and is replaced.
const reasonLost service.Reason = "LoadBalancerLost"

// errNoBalancer means that the annotation has the ID of a load balancer that does not
// exist.
var errNoBalancer = apierr.Mark(apierr.ErrInvalid, errors.New("there is no such load balancer"))

// errNoNodes means that the members of a load balancer cannot be compared with the Nodes.
var errNoNodes = apierr.Mark(apierr.ErrUnavailable, errors.New("the Nodes are not known yet"))

// errJustThere means that a load balancer is missing that was there a moment ago: a read may
// come from another node of the database.
var errJustThere = errors.New("it is missing, and was there less than a minute ago")

// errDeleted means that a load balancer is listed as one that was deleted.
var errDeleted = errors.New("it was deleted")

// balancer is the load balancer of a Service, as it was found.
type balancer struct {
	// info is nil if there is none.
	info *client.LoadBalancerInfo
	// fresh means that this sync has created it, and whole that it did so with all parts that the
	// Service wants, which need not be read. Empty ones and those that lack something are not whole.
	fresh, whole bool
	// owner is whether it was made for the Service.
	owner bool
	role  role
	// former and duplicates are the IDs of the load balancers with these roles, if this is the current
	// one. A former one may be [request.Requested].
	former, duplicates []string
	// lost is the ID of one that certainly does not exist.
	lost string
	// ignored is the load balancer of the annotation if the Service keeps another one, else empty.
	ignored string
	// renamed are the names of the Service in the load balancer of another one, if they are
	// those of a cluster that was renamed since, else nil.
	renamed *request.Names
	// facts are what the verdicts about it depend on.
	facts    certainty.LoadBalancer
	warnings []service.Warning
	// free ends the lock of its ID, which no other Service may change meanwhile. It is nil without a
	// load balancer.
	free func()
}

// role is what a load balancer is to a Service that may have parts in it.
type role int

const (
	// current is the one that the Service uses.
	current role = iota
	// former is a recorded one that it does not use any more.
	former
	// duplicate is another one that has its name.
	duplicate
)

// release ends the lock of the load balancer, if there is one.
func (b *balancer) release() {
	if b != nil && b.free != nil {
		b.free()
	}
}

// notedError is an error with a warning that says what a user can do.
type notedError struct {
	warning service.Warning
	cause   error
}

// Error implements error.
func (e *notedError) Error() string { return e.warning.Message }

// Unwrap returns the cause.
func (e *notedError) Unwrap() error { return e.cause }

// find returns the load balancer of a Service, locked: that of the record, or else that of the
// annotation, or that with its name; of several in the record and the annotation the one with the
// published address. It is an error if that may be one of another Service, or if
// it is not certain that there is none.
//
//	known by its ID, exists                        it
//	known, 404, the annotation has another one     that one, if project and region are proven
//	known, 404, one has the name                   that one
//	known, 404, the Service had it                 none, if project and region are proven
//	known, 404, the Service is deleted             the same
//	known, 404                                     error
//	known, any other response                      error
//	not known                                      the one with the name, or none
//
// None is an error as long as one may have been requested that lists do not show yet.
func (l *loadBalancer) find(ctx context.Context, in input) (*balancer, error) {
	found, err := l.findCurrent(ctx, in)
	if err == nil && found.info == nil {
		err = l.checkRequested(in)
	}
	if err != nil {
		return nil, err
	}
	found.former = in.formerOf(found)
	found.duplicates = in.duplicatesOf(found)

	return found, nil
}

// findOne returns the load balancer with the ID of a call, or else with its name.
func (l *loadBalancer) findOne(ctx context.Context, in input) (*balancer, error) {
	response := certainty.NoResponse
	if in.id != "" {
		found, err := l.get(ctx, in, in.id)
		if err == nil {
			return found, nil
		}
		if response = certainty.ResponseOf(err); response != certainty.NotFound {
			return nil, fmt.Errorf("annotation %s: %w", request.AnnotationLoadBalancerID, err)
		}
	}
	found, err := l.findByName(ctx, in)
	if err != nil || found.info != nil || in.id == "" && !in.hadAddress() {
		return found, err
	}
	if in.id != "" && !in.deletes && !in.had(in.id) {
		return nil, fmt.Errorf("load balancer %s of annotation %s: %w", in.id, request.AnnotationLoadBalancerID, errNoBalancer)
	}
	if err := l.confirmAbsent(ctx, in, response); err != nil || in.id == "" {
		return found, err
	}
	found.lost = in.id
	found.warnings = append(found.warnings, service.Warn(reasonLost,
		"Load balancer %s no longer exists: the Service gets a new one, with another address unless that is configured", in.id))

	return found, nil
}

// findOther returns a load balancer that the Service does not use, locked. It is empty if it certainly
// does not exist, or is that of another Service.
func (l *loadBalancer) findOther(ctx context.Context, in input, id string) (*balancer, error) {
	in.id, in.deletes = id, true
	if id == request.Requested {
		found, err := l.findByName(ctx, in)
		if err == nil && found.info == nil {
			err = l.checkRequested(in)
		}

		return found, err
	}
	found, err := l.get(ctx, in, id)
	if certainty.ResponseOf(err) == certainty.NotFound {
		return &balancer{}, l.confirmAbsent(ctx, in, certainty.NotFound)
	}

	return found, err
}

// lock locks a load balancer. Another Service that shares it may be changing it, which is awaited
// as changes are: not by all workers.
func (l *loadBalancer) lock(ctx context.Context, id string) (free func(), err error) {
	waiting, end := l.waiter.Within(ctx)
	defer end()
	free, err = l.balancers.Lock(waiting, id)
	if err != nil && ctx.Err() == nil {
		return nil, api.NewRetryError(fmt.Sprintf("load balancer %s: %v", id, err), minRetryAfter)
	}

	return free, err
}

// get returns a load balancer, locked. The error is an apierr.ErrNotFound if Octavia has none
// with this ID. One that was there a moment ago is any other error.
func (l *loadBalancer) get(ctx context.Context, in input, id string) (*balancer, error) {
	free, err := l.lock(ctx, id)
	if err != nil {
		return nil, err
	}
	info, err := l.Octavia.GetLoadBalancer(ctx, id)
	if err == nil && !info.Provisioning.IsDeleted() {
		found, err := l.take(ctx, in, info, free)
		if err != nil || found.info == nil {
			free()
		}

		return found, err
	}
	free()

	return nil, l.missing(id, err)
}

// missing returns the error about a load balancer that was not returned, or as one that was deleted.
// It is no apierr.ErrNotFound if the load balancer was there a moment ago.
func (l *loadBalancer) missing(id string, err error) error {
	if err == nil {
		err = apierr.Mark(apierr.ErrNotFound, errDeleted)
	}
	if at, ok := l.seen.Load(id); ok && certainty.ResponseOf(err) == certainty.NotFound && time.Since(at.(time.Time)) < l.Tuning.unclear() {
		return api.NewRetryError(fmt.Sprintf("load balancer %s: %v", id, errJustThere), minRetryAfter)
	}

	return fmt.Errorf("load balancer %s: %w", id, err)
}

// take returns a load balancer that was read, with its lock, or none if it is to be deleted and is that of
// another Service.
func (l *loadBalancer) take(ctx context.Context, in input, info *client.LoadBalancerInfo, free func()) (*balancer, error) {
	project, err := l.Project(ctx)
	if err != nil {
		return nil, err
	}
	found := &balancer{info: info, facts: in.factsOf(info, project, true), free: free}
	ownership, err := found.facts.Ownership(in.names)
	if errors.Is(err, certainty.ErrForeignService) && in.deletes {
		return &balancer{}, nil
	}
	if err != nil {
		return nil, in.notOwned(info, err)
	}
	found.owner = ownership == certainty.Owner
	if found.renamed, err = l.renamedNames(ctx, in, found); err != nil {
		return nil, err
	}
	if info.Provisioning != client.ProvisioningPendingDelete {
		l.seen.Store(info.ID, time.Now())
	}

	return found, nil
}

// factsOf returns what the verdicts about a load balancer depend on.
func (in input) factsOf(info *client.LoadBalancerInfo, project string, annotated bool) certainty.LoadBalancer {
	facts := certainty.LoadBalancer{Name: info.Name, Project: info.ProjectID, Tags: info.Tags, Pinned: project, Annotated: annotated}
	if info.ID == in.existing.LoadBalancerID {
		facts.Former = in.existing.Former
	}

	return facts
}

// confirmAbsent returns an error unless it is certain that the load balancer that the
// Service had does not exist. Its name is in no list.
func (l *loadBalancer) confirmAbsent(ctx context.Context, in input, response certainty.Response) error {
	project, err := l.Project(ctx)
	if err != nil {
		return err
	}
	proof := l.Inventory.Prove(ctx)
	verdict := certainty.LoadBalancerEvidence{
		Scope:    certainty.Scope{Project: project, Region: l.Region},
		ID:       in.id,
		Response: response, Complete: true, Recorded: l.recordedRegion(),
		Other: proof.Other, NoServers: in.deletes && proof.Known && proof.Servers == 0, Now: proof.Now,
	}.Verdict()
	if verdict.Kind != certainty.Absent {
		return fmt.Errorf("load balancer %s of the Service: %w", cmp.Or(in.id, in.names.LoadBalancer()), verdict.Reason)
	}

	return nil
}

// recordedRegion returns the region of the Nodes, empty if they have none. A Node in the
// configured region is enough.
func (l *loadBalancer) recordedRegion() string {
	configured, other := nodes.RegionLabel(l.Region), ""
	for _, node := range l.Nodes().List() {
		region := node.Labels[v1.LabelTopologyRegion]
		if len(l.ServerOf(node)) == 0 || region == "" {
			continue
		}
		if region == configured {
			return l.Region
		}
		other = region
	}

	return other
}

// findByName returns the load balancer that has the name of the Service, or else its
// legacy name, locked.
func (l *loadBalancer) findByName(ctx context.Context, in input) (*balancer, error) {
	project, err := l.Project(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{in.names.LoadBalancer(), in.names.Legacy()} {
		rows, err := l.list(ctx, client.LoadBalancerQuery{Name: name})
		if err != nil {
			return nil, fmt.Errorf("find load balancer %s: %w", name, err)
		}
		own, err := l.choose(ctx, in, project, rows)
		if err != nil {
			return nil, err
		}
		if len(own) == 0 {
			continue
		}
		found, err := l.get(ctx, in, own[0]) // again: the Service may have waited for the lock
		if err != nil {
			return nil, apierr.Mark(apierr.ErrConflict, err)
		}
		found.duplicates = own[1:]

		return found, nil
	}

	return &balancer{}, nil
}

// list returns load balancers, oldest first, without those that are being deleted. A list of
// all may take longer than a gateway permits in a large project: only those that fit are listed.
func (l *loadBalancer) list(ctx context.Context, q client.LoadBalancerQuery) ([]*client.LoadBalancerInfo, error) {
	rows, err := l.Octavia.ListLoadBalancers(ctx, q)
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(row *client.LoadBalancerInfo) bool {
		return row.Provisioning.IsDeleted() || row.Provisioning == client.ProvisioningPendingDelete
	})
	slices.SortFunc(rows, func(a, b *client.LoadBalancerInfo) int {
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})

	return rows, nil
}

// choose returns the IDs of the load balancers of the Service among those with its name. The one
// with the address of the Service is the first, then those that have its tag, then the oldest.
func (l *loadBalancer) choose(ctx context.Context, in input, project string, rows []*client.LoadBalancerInfo) ([]string, error) {
	var own []*client.LoadBalancerInfo
	var refused error
	for _, row := range rows {
		ownership, err := in.factsOf(row, project, false).Ownership(in.names)
		if ownership == certainty.Unproven {
			ownership, err = l.adopt(ctx, in, row)
		}
		switch {
		case ownership == certainty.Owner:
			own = append(own, row)
		case errors.Is(err, certainty.ErrForeignService) && in.deletes:
		case errors.Is(err, certainty.ErrForeignService):
			refused = in.notOwned(row, err)
		case err != nil && !errors.Is(err, certainty.ErrForeignProject):
			return nil, err
		}
	}
	if len(own) == 0 {
		return nil, refused
	}
	var serving *client.LoadBalancerInfo
	if len(own) > 1 {
		var err error
		if serving, err = l.withAddress(ctx, in, own); err != nil {
			return nil, err
		}
	}
	rank := func(row *client.LoadBalancerInfo) int {
		switch {
		case row == serving:
			return 0
		case request.UIDOf(row.Tags) == in.names.UID:
			return 1
		}

		return 2
	}
	slices.SortStableFunc(own, func(a, b *client.LoadBalancerInfo) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})

	return lists.Map(own, func(row *client.LoadBalancerInfo) string { return row.ID }), nil
}

// notOwned returns the error about a load balancer that the Service must not touch.
func (in input) notOwned(info *client.LoadBalancerInfo, err error) error {
	if !errors.Is(err, certainty.ErrForeignService) {
		return fmt.Errorf("load balancer %s: %w", info.ID, err)
	}
	const begin = "Load balancer %s has the name %s of this Service and was made for another one, perhaps in another cluster with the name %s. "
	text := fmt.Sprintf(begin+"To take it over, set the annotation %s to its ID; to get a new one, change the name of the cluster or of the Service",
		info.ID, info.Name, in.names.Cluster, request.AnnotationLoadBalancerID)
	if uid := request.UIDOf(info.Tags); uid != "" {
		text = fmt.Sprintf(begin+"If the Service with the UID %s is gone, set the annotations %s to its ID and %s to that UID to take it over; to get a new one, "+
			"change the name of the cluster or of the Service", info.ID, info.Name, in.names.Cluster, uid, request.AnnotationLoadBalancerID, request.AnnotationTakeOver)
	}

	return &notedError{warning: service.Warning{Reason: reasonNotOwned, Message: text}, cause: err}
}
