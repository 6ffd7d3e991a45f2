package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/snapshot"
)

// Defaults of [Config]. The list of a cluster is fetched again when its last page
// is older than DefaultMaxAge, so at most twice a minute; with the legacy tag it is fetched
// by two queries each time. That is less than the time
// after which a Node whose kubelet does not report counts as not Ready
// (--node-monitor-grace-period of kube-controller-manager, 40 seconds or more):
// when such a Node is looked up, the list is from after the kubelet's last report.
const (
	DefaultMaxAge     = 30 * time.Second
	DefaultMissingAge = 30 * time.Second
	DefaultWindow     = 50 * time.Millisecond
	DefaultTimeout    = client.CallTimeout
)

// Config selects the instances that are listed, and bounds the age of results.
type Config struct {
	// Cluster is the cluster whose instances are listed, and found by name.
	Cluster cluster.ID
	// VPC limits the list for a cluster without an ID. Empty means the whole
	// region.
	VPC string
	// MaxAge, MissingAge, Window, ListWait, Clock and Metrics are fields of
	// snapshot.Options.
	MaxAge, MissingAge, Window, ListWait time.Duration

	Clock   clock.PassiveClock
	Metrics *metrics.Snapshot
	// Timeout bounds one call with its attempts. A list is one call for each page;
	// see LongestFetch.
	Timeout time.Duration
}

func (c Config) withDefaults() Config {
	c.MaxAge = cmp.Or(c.MaxAge, DefaultMaxAge)
	c.MissingAge = cmp.Or(c.MissingAge, DefaultMissingAge)
	c.Window = cmp.Or(c.Window, DefaultWindow)
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)

	return c
}

// LongestFetch returns the maximum duration of all calls for one lookup, for a
// maximum duration of one call.
func LongestFetch(timeout time.Duration) time.Duration { return 4 * timeout }

// ErrAbsent means that EC2 has responded and has no such instance. It is also
// apierr.ErrNotFound, but only this package returns ErrAbsent.
var ErrAbsent = apierr.Mark(apierr.ErrNotFound, errors.New("EC2 has no such instance"))

// Errors of lookups by name. Both are also apierr.ErrConflict.
var (
	// ErrAmbiguous means that several instances of the cluster have the name.
	ErrAmbiguous = apierr.Mark(apierr.ErrConflict, errors.New("more than one instance"))
	// ErrUntagged means that an instance has the name but not the cluster's tag.
	ErrUntagged = apierr.Mark(apierr.ErrConflict, errors.New("not tagged for this cluster"))
)

// Inventory finds instances. It is safe for concurrent use.
type Inventory struct {
	api      client.Instances
	config   Config
	snapshot *snapshot.Snapshot[Instance]
}

// New returns an Inventory that has not read anything yet.
func New(api client.Instances, config Config) *Inventory {
	i := &Inventory{api: api, config: config.withDefaults()}
	i.snapshot = snapshot.New(snapshot.API[Instance]{
		List:       i.describeCluster,
		Get:        i.describeIDs,
		GetByAlias: i.describeMembers,
		Key:        func(one *Instance) string { return one.ID },
		Alias:      func(one *Instance) string { return one.PrivateDNSName },
	}, snapshot.Options{
		MaxAge:     i.config.MaxAge,
		MissingAge: i.config.MissingAge,
		Window:     i.config.Window,
		Timeout:    LongestFetch(i.config.Timeout),
		ListWait:   i.config.ListWait,
		MaxKeys:    maxIDs,
		MaxAliases: maxNames,
		Clock:      i.config.Clock,
		Metrics:    i.config.Metrics,
		ListFailed: logFailedList,
	})

	return i
}

func logFailedList(ctx context.Context, listed int, err error) {
	klog.FromContext(ctx).Info("The cluster could not be listed, describing single instances", "listed", listed, "err", err)
}

// Find returns the instance with an ID, in any state, or ErrAbsent.
func (i *Inventory) Find(ctx context.Context, id string) (*Instance, error) {
	found, err := i.snapshot.Find(ctx, id)
	if err == nil && found == nil {
		err = ErrAbsent
	}
	if err != nil {
		return nil, fmt.Errorf("find instance %s: %w", id, err)
	}

	return found, nil
}

// FindByName returns the living instance of the cluster with a private DNS name,
// ErrAbsent or ErrAmbiguous.
func (i *Inventory) FindByName(ctx context.Context, name string) (*Instance, error) {
	found, err := i.snapshot.FindByAlias(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("find instance named %s: %w", name, err)
	}

	return only(name, found)
}

// Get returns the instances with these IDs, in any state. Those that do not
// exist are left out.
func (i *Inventory) Get(ctx context.Context, ids []string) (map[string]*Instance, error) {
	found, err := i.snapshot.Get(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("get %d instances: %w", len(ids), err)
	}

	return found, nil
}

// Refresh describes these IDs without the cache, and returns them like Get: for
// instances that are about to change their state.
func (i *Inventory) Refresh(ctx context.Context, ids []string) (map[string]*Instance, error) {
	found, err := i.snapshot.Refresh(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("list %d instances again: %w", len(ids), err)
	}

	return found, nil
}

// Confirm describes one instance by its own call, without the cache. ErrAbsent
// is certain here. The result is cached.
func (i *Inventory) Confirm(ctx context.Context, id string) (*Instance, error) {
	found, err := i.snapshot.Confirm(ctx, id, func(ctx context.Context) (*Instance, error) { return i.describeOne(ctx, id) })
	if err == nil && found == nil {
		err = ErrAbsent
	}
	if err != nil {
		return nil, fmt.Errorf("confirm instance %s: %w", id, err)
	}

	return found, nil
}

// ConfirmByName describes the instances with a name. ErrAbsent is certain: no
// living instance has this name. An instance that is not of the cluster is
// ErrUntagged.
func (i *Inventory) ConfirmByName(ctx context.Context, name string) (*Instance, error) {
	var all []*Instance
	members, err := i.snapshot.ConfirmByAlias(ctx, name, func(ctx context.Context) ([]*Instance, error) {
		found, err := i.describeNames(ctx, []string{name})
		all = lists.Filter(found, func(one *Instance) bool { return one.PrivateDNSName == name })

		return i.members(all), err
	})
	if err != nil {
		return nil, fmt.Errorf("confirm instance named %s: %w", name, err)
	}
	if len(members) == 0 && len(all) > 0 {
		return nil, fmt.Errorf("instance %s is named %s: %w: the tag %s is missing", enumerate(all), name, ErrUntagged, i.config.Cluster.Tag())
	}

	return only(name, members)
}

// Peek returns the instances of the last list of the cluster, none if that is
// older than age. It makes no call.
func (i *Inventory) Peek(age time.Duration) []*Instance { return i.snapshot.Peek(age) }

// members returns the instances of the cluster.
func (i *Inventory) members(all []*Instance) []*Instance {
	return lists.Filter(all, func(one *Instance) bool { return i.config.Cluster.Member(one.Tags) })
}

// only returns the one instance with a name.
func only(name string, found []*Instance) (*Instance, error) {
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("find instance named %s: %w", name, ErrAbsent)
	case 1:
		return found[0], nil
	}

	return nil, fmt.Errorf("%w is named %s: %s", ErrAmbiguous, name, enumerate(found))
}

// enumerate formats instances for a message, in a stable order.
func enumerate(found []*Instance) string {
	ids := lists.Map(found, func(one *Instance) string { return one.ID })
	slices.Sort(ids)

	return strings.Join(ids, ", ")
}
