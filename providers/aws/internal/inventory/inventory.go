package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/batch"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/cache"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
)

// Defaults of [Config]. The list of a cluster is fetched again when its last page
// is older than DefaultMaxAge, so at most twice a minute; with the legacy tag it is fetched
// by two queries each time. That is less than the time
// after which a Node whose kubelet is silent counts as not Ready
// (--node-monitor-grace-period of kube-controller-manager, 40 seconds or more):
// when such a Node is asked about, the list is younger than the silence.
const (
	DefaultMaxAge     = 30 * time.Second
	DefaultMissingAge = 30 * time.Second
	DefaultWindow     = 50 * time.Millisecond
	DefaultTimeout    = 20 * time.Second
)

// Config says which instances are listed, and how old answers may be.
type Config struct {
	// Cluster is whose instances are listed, and found by name.
	Cluster cluster.ID
	// VPC bounds the list of a cluster without an ID. Empty means all of the
	// region.
	VPC string
	// MaxAge is how old an answer may be; MissingAge is that for the answer
	// that an instance is not there.
	MaxAge, MissingAge time.Duration
	// Window is how long a first question waits for others.
	Window time.Duration
	// Timeout bounds one call with its attempts. A list is one call for each page;
	// see LongestFetch.
	Timeout time.Duration
	// Clock tells the age of answers; by default it is the real one.
	Clock clock.PassiveClock
	// Metrics counts questions and lists, if it is there.
	Metrics *metrics.Snapshot
}

func (c Config) withDefaults() Config {
	c.MaxAge = cmp.Or(c.MaxAge, DefaultMaxAge)
	c.MissingAge = cmp.Or(c.MissingAge, DefaultMissingAge)
	c.Window = cmp.Or(c.Window, DefaultWindow)
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	return c
}

// LongestFetch returns what all calls for one lookup may take together, if one of
// them may take so long.
func LongestFetch(timeout time.Duration) time.Duration { return 6 * timeout }

// ErrAbsent means that EC2 has answered and knows no such instance. It is also
// apierr.ErrNotFound, but only this package says ErrAbsent.
var ErrAbsent = apierr.Mark(apierr.ErrNotFound, errors.New("EC2 knows no such instance"))

// What makes the answer to a name none of ErrAbsent. Both are also
// apierr.ErrConflict.
var (
	// ErrAmbiguous means that several instances of the cluster have the name.
	ErrAmbiguous = apierr.Mark(apierr.ErrConflict, errors.New("more than one instance"))
	// ErrUntagged means that an instance has the name but not the cluster's tag.
	ErrUntagged = apierr.Mark(apierr.ErrConflict, errors.New("not tagged for this cluster"))
)

// Inventory answers questions about instances. It is safe for concurrent use.
type Inventory struct {
	api    client.Instances
	config Config
	memory *memory
	// turn is held by the one who asks EC2, crowd is guarded by it.
	turn  *turn
	crowd crowd
	ids   *batch.Batcher[string, *Instance]
	names *batch.Batcher[string, []*Instance]
}

// New makes an Inventory that knows nothing yet.
func New(api client.Instances, config Config) *Inventory {
	config = config.withDefaults()
	i := &Inventory{
		api:    api,
		config: config,
		memory: newMemory(config.MaxAge, config.MissingAge),
		turn:   newTurn(LongestFetch(config.Timeout)),
		crowd:  crowd{span: config.MaxAge},
	}
	i.ids = batch.New(i.batchIDs, batch.Options{Window: config.Window, MaxSize: maxIDs, Timeout: LongestFetch(config.Timeout)})
	i.names = batch.New(i.batchNames, batch.Options{Window: config.Window, MaxSize: maxNames, Timeout: LongestFetch(config.Timeout)})
	return i
}

// Find gives the instance with an ID, in whatever state, or ErrAbsent.
func (i *Inventory) Find(ctx context.Context, id string) (*Instance, error) {
	found, known := i.memory.lookUp(id, i.now())
	if known {
		i.observe(cache.Hit)
	} else {
		var err error
		if found, err = i.ids.Get(ctx, id); err != nil {
			return nil, fmt.Errorf("find instance %s: %w", id, err)
		}
	}
	if found == nil {
		return nil, fmt.Errorf("find instance %s: %w", id, ErrAbsent)
	}
	return found, nil
}

// FindByName gives the living instance of the cluster with a private DNS name,
// ErrAbsent or ErrAmbiguous.
func (i *Inventory) FindByName(ctx context.Context, name string) (*Instance, error) {
	found, known := i.memory.lookUpName(name, i.now())
	if known {
		i.observe(cache.Hit)
	} else {
		var err error
		if found, err = i.names.Get(ctx, name); err != nil {
			return nil, fmt.Errorf("find instance named %s: %w", name, err)
		}
	}
	return only(name, found)
}

// Get gives the instances with these IDs, in whatever state. Those that do not
// exist are missing in the answer.
func (i *Inventory) Get(ctx context.Context, ids []string) (map[string]*Instance, error) {
	ctx, cancel := context.WithTimeout(ctx, LongestFetch(i.config.Timeout))
	defer cancel()
	answers, err := i.learn(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("get %d instances: %w", len(ids), err)
	}
	return present(answers), nil
}

// Renew asks EC2 about these IDs, whatever is known, and answers like Get: for
// instances that are about to change their state.
func (i *Inventory) Renew(ctx context.Context, ids []string) (map[string]*Instance, error) {
	ctx, cancel := context.WithTimeout(ctx, LongestFetch(i.config.Timeout))
	defer cancel()
	answers, err := i.ask(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("renew %d instances: %w", len(ids), err)
	}
	return present(answers), nil
}

// present drops the answers that an instance is not there.
func present(answers map[string]*Instance) map[string]*Instance {
	maps.DeleteFunc(answers, func(_ string, found *Instance) bool { return found == nil })
	return answers
}

// Confirm asks EC2 itself about an ID, alone and past everything that is known.
// ErrAbsent is certain here. What it learns is known afterwards.
func (i *Inventory) Confirm(ctx context.Context, id string) (*Instance, error) {
	at := i.now()
	found, err := i.describeOne(ctx, id)
	if err != nil && !errors.Is(err, ErrAbsent) {
		return nil, fmt.Errorf("confirm instance %s: %w", id, err)
	}
	if err != nil {
		i.memory.store([]string{id}, nil, at, at)
		return nil, fmt.Errorf("confirm instance %s: %w", id, err)
	}
	i.memory.store(nil, []*Instance{found}, at, at)
	return found, nil
}

// ConfirmByName asks EC2 itself about a name. ErrAbsent is certain: no living
// instance at all has it. One that is not of the cluster is ErrUntagged.
func (i *Inventory) ConfirmByName(ctx context.Context, name string) (*Instance, error) {
	at := i.now()
	all, err := i.describeNames(ctx, []string{name})
	if err != nil {
		return nil, fmt.Errorf("confirm instance named %s: %w", name, err)
	}
	all = named(all, name)
	members := i.members(all)
	i.memory.storeName(name, members, at, at)
	if len(members) == 0 && len(all) > 0 {
		return nil, fmt.Errorf("instance %s is named %s: %w: the tag %s is missing", enumerate(all), name, ErrUntagged, i.config.Cluster.Tag())
	}
	return only(name, members)
}

// Seen gives the instances of the cluster as they were last listed, or nothing
// if that was longer ago than age. It asks nobody.
func (i *Inventory) Seen(age time.Duration) []*Instance { return i.memory.instances(i.now(), age) }

func (i *Inventory) now() time.Time { return i.config.Clock.Now() }

func (i *Inventory) observe(outcome cache.Outcome) {
	if i.config.Metrics != nil {
		i.config.Metrics.Observe(outcome)
	}
}

// members are the instances of the cluster.
func (i *Inventory) members(all []*Instance) []*Instance {
	return keep(all, func(one *Instance) bool { return i.config.Cluster.Member(one.Tags) })
}

func named(all []*Instance, name string) []*Instance {
	return keep(all, func(one *Instance) bool { return one.PrivateDNSName == name })
}

func keep(all []*Instance, is func(*Instance) bool) []*Instance {
	var kept []*Instance
	for _, one := range all {
		if is(one) {
			kept = append(kept, one)
		}
	}
	return kept
}

// only gives the one instance with a name.
func only(name string, found []*Instance) (*Instance, error) {
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("find instance named %s: %w", name, ErrAbsent)
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("%w is named %s: %s", ErrAmbiguous, name, enumerate(found))
}

// enumerate lists instances for a message, in a stable order.
func enumerate(found []*Instance) string {
	ids := make([]string, len(found))
	for k, one := range found {
		ids[k] = one.ID
	}
	slices.Sort(ids)
	return strings.Join(ids, ", ")
}
