package securitygroup

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/cache"
)

// maxAge is the maximum age of groups that were not written.
const maxAge = 15 * time.Second

// Reader reads security groups that many Services need, and shares the results
// for a short time, until a group is written through its client. It is safe for
// concurrent use; results are shared and must not be changed.
type Reader struct {
	client  *tracked
	cluster *cache.Value[Groups]
	byID    *cache.Cache[idsKey, Groups]
	writes  atomic.Int64
}

// idsKey is a list of IDs, and the number of writes when they were read.
type idsKey struct {
	ids    string
	writes int64
}

// NewReader returns a Reader for the groups of a VPC.
func NewReader(api client.EC2, vpc string, id cluster.ID) *Reader {
	r := &Reader{}
	r.client = &tracked{EC2: api, written: r.Written, rules: map[string]map[Rule]ruleWrite{}}
	r.cluster = cache.NewValue(func(ctx context.Context) (Groups, error) {
		return observe(ctx, r.client, vpc, id)
	}, cache.Options{TTL: maxAge, Timeout: client.ListTimeout})
	r.byID = cache.New(func(ctx context.Context, key idsKey) (Groups, error) {
		return ObserveIDs(ctx, r.client, vpc, strings.Split(key.ids, " "))
	}, cache.Options{TTL: maxAge, Timeout: client.ListTimeout, Size: 32})

	return r
}

// Client returns the client for writes of groups. Later reads of the client and
// the Reader take its writes into account.
func (r *Reader) Client() client.EC2 { return r.client }

// Recent returns the IDs of the groups whose rules were written recently. A
// filter on rules may not find them yet.
func (r *Reader) Recent() []string { return r.client.recent() }

// OfCluster returns the groups of the cluster.
func (r *Reader) OfCluster(ctx context.Context) (Groups, error) { return r.cluster.Get(ctx) }

// OfClusterNow is like OfCluster, but without the cache: groups that are not
// found count as deleted.
func (r *Reader) OfClusterNow(ctx context.Context) (Groups, error) {
	return r.cluster.GetWithin(ctx, 0)
}

// ByID returns groups by their IDs, whichever cluster they are for. IDs that do
// not exist are left out.
func (r *Reader) ByID(ctx context.Context, ids []string) (Groups, error) {
	if len(ids) == 0 {
		return nil, nil
	}

	return r.byID.Get(ctx, idsKey{strings.Join(slices.Sorted(slices.Values(ids)), " "), r.Writes()})
}

// Writes returns a number that changes when groups are written: earlier reads
// may be out of date then.
func (r *Reader) Writes() int64 { return r.writes.Load() }

// Written drops the cache. It is called after groups were written, or may have
// been.
func (r *Reader) Written() {
	// The number must never be newer than what is read after it.
	r.cluster.Forget()
	r.writes.Add(1)
}
