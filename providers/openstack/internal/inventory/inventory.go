package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/batch"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/cache"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
)

// Defaults of [Config]. A list is read again when it is older than DefaultMaxAge, which
// is less than the time after which a Node counts as not ready
// (--node-monitor-grace-period of kube-controller-manager, 40 s or more): the list in
// which the server of such a Node is looked up is from after its last report.
const (
	DefaultMaxAge   = 30 * time.Second
	DefaultRetryAge = 5 * time.Second
	DefaultWindow   = 50 * time.Millisecond
	DefaultTimeout  = 60 * time.Second
)

const (
	// flavorAge is how long what a flavor is named is known, networkAge the same for
	// networks.
	flavorAge, networkAge = time.Hour, 10 * time.Minute
	// maxIDs is how many servers one request for ports takes.
	maxIDs = 50
	// maxAlone is how many servers are kept that were read alone.
	maxAlone = 1 << 12
)

// Config bounds ages and sizes. Zero fields have the defaults.
type Config struct {
	// MaxAge is the age at which a list, or a server that was read alone, is read
	// again; RetryAge is that of a list that failed, or of which a page did.
	MaxAge, RetryAge time.Duration
	// Window is how long the ports of one server wait for those of others.
	Window time.Duration
	// Timeout bounds a list with all its pages.
	Timeout time.Duration
	// Nodes returns the IDs of the servers of all Nodes, and whether they are known.
	// Default: they never are.
	Nodes func() (ids []string, known bool)
	// Clock is that of all ages. Default: the real one.
	Clock clock.PassiveClock
	// Metrics counts lookups and lists of servers, unless it is nil.
	Metrics *metrics.Snapshot
}

func (c Config) withDefaults() Config {
	c.MaxAge = cmp.Or(c.MaxAge, DefaultMaxAge)
	c.RetryAge = cmp.Or(c.RetryAge, DefaultRetryAge)
	c.Window = cmp.Or(c.Window, DefaultWindow)
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	if c.Nodes == nil {
		c.Nodes = func() ([]string, bool) { return nil, false }
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}

	return c
}

var (
	// ErrAbsent means that no list has the server. It is no proof that the server
	// does not exist.
	ErrAbsent = apierr.Mark(apierr.ErrNotFound, errors.New("no list has the server"))
	// ErrBusy means that too many servers are to be read alone now.
	ErrBusy = apierr.Mark(apierr.ErrThrottled, errors.New("many servers are missing, they are confirmed some at a time"))
)

// Inventory finds servers. It is safe for concurrent use.
type Inventory struct {
	api    API
	config Config

	lists *cache.Cache[struct{}, *serverList]
	// alone has the servers that were read alone.
	alone *cache.Cache[string, *Server]
	// confirming, finding and checking limit how many servers are read alone: those that
	// are missing, those that may be on a page that failed, and those that are shut down.
	confirming, finding, checking *limiter

	mu sync.Mutex
	// missing has since when servers are missing, by their IDs.
	missing map[string]series
	// otherTried is when the server of another Node was last read as proof.
	otherTried time.Time

	ports       *cache.Cache[struct{}, *portList]
	serverPorts *batch.Batcher[string, []Port]
	networks    networks
	flavors     flavors
}

// New returns an inventory that has not read anything yet.
func New(api API, config Config) *Inventory {
	config = config.withDefaults()
	i := &Inventory{
		api: api, config: config,
		confirming: newLimiter(config.Clock), finding: newLimiter(config.Clock), checking: newLimiter(config.Clock),
		missing: map[string]series{},
		flavors: newFlavors(api.Compute, config.Clock),
	}
	lists := cache.Options{
		TTL: config.MaxAge, Timeout: config.Timeout, Clock: config.Clock,
		KeepError: func(error) time.Duration { return config.RetryAge },
	}
	i.ports = cache.New(i.listPorts, lists)
	lists.Observe = i.observe
	i.lists = cache.New(i.listServers, lists)
	i.alone = cache.New(i.readServer, cache.Options{TTL: config.MaxAge, Size: maxAlone, Clock: config.Clock})
	i.serverPorts = batch.New(i.readServerPorts, batch.Options{Window: config.Window, MaxSize: maxIDs})

	return i
}

// observe counts how a caller got the list of servers.
func (i *Inventory) observe(outcome cache.Outcome) {
	if i.config.Metrics != nil {
		i.config.Metrics.Observe(outcome)
	}
}

func (i *Inventory) now() time.Time { return i.config.Clock.Now() }

// Find returns the server with an ID, from a list that is not too old or a request of
// its own. [ErrAbsent] is no proof that there is none.
func (i *Inventory) Find(ctx context.Context, id string) (*Server, error) {
	found, err := i.find(ctx, id)
	if err == nil {
		i.endSeries(id, found.At)
	}

	return found, err
}

func (i *Inventory) find(ctx context.Context, id string) (*Server, error) {
	alone, at, known := i.alone.Peek(id)
	if known = known && i.now().Sub(at) < i.config.MaxAge; known && i.listed() == nil {
		return alone, nil
	}
	list, err := i.list(ctx, i.config.MaxAge)
	if err != nil {
		return nil, fmt.Errorf("find server %s: %w", id, err)
	}
	row, listed := list.rows[id]
	switch {
	case known && (!listed || at.After(list.begun)):
		return alone, nil
	case !listed && list.failed == nil:
		return nil, fmt.Errorf("find server %s: %w", id, ErrAbsent)
	case !listed:
		return i.unlisted(ctx, id, list.failed)
	case row.err != nil:
		return nil, fmt.Errorf("find server %s: %w", id, row.err)
	case row.server.Status == certainty.StatusShutoff && known && alone.Status == certainty.StatusShutoff:
		return alone, nil
	case row.server.Status == certainty.StatusShutoff:
		return i.shutoff(ctx, row.server)
	}

	return row.server, nil
}

// unlisted reads a server alone that may be on a page that failed.
func (i *Inventory) unlisted(ctx context.Context, id string, failed error) (*Server, error) {
	if !i.finding.allow(id) {
		return nil, fmt.Errorf("find server %s: %w", id, failed)
	}
	found, err := i.alone.GetWithin(ctx, id, i.config.MaxAge)
	if certainty.ResponseOf(err) == certainty.NotFound {
		err = ErrAbsent
	}

	return found, err
}

// shutoff reads a server alone that is shut down in a list. If that is not possible
// now, it exists, and its state is not known.
func (i *Inventory) shutoff(ctx context.Context, listed *Server) (*Server, error) {
	if !i.checking.allow(listed.ID) {
		return listed, nil
	}
	found, err := i.alone.GetWithin(ctx, listed.ID, i.config.MaxAge)
	switch {
	case certainty.ResponseOf(err) == certainty.NotFound:
		return nil, fmt.Errorf("find server %s: %w", listed.ID, ErrAbsent)
	case err != nil:
		return listed, nil //nolint:nilerr // the list has proven that it exists
	}

	return found, nil
}

// readServer reads a server alone.
func (i *Inventory) readServer(ctx context.Context, id string) (*Server, error) {
	project, err := i.api.Project(ctx)
	if err != nil {
		return nil, err
	}
	begun := i.now()
	server, err := i.api.Compute.GetServer(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read server %s: %w", id, err)
	}
	switch verdict := (certainty.Scope{Project: project}).Exists(id, rowOf(server)); verdict.Kind {
	case certainty.Present:
		return newServer(server, begun, true), nil
	case certainty.Absent:
		return nil, fmt.Errorf("read server %s: %w", id, errDeleted)
	case certainty.Uncertain, certainty.Kept, certainty.Gone:
		return nil, fmt.Errorf("read server %s: %w", id, verdict.Reason)
	}

	return nil, fmt.Errorf("read server %s: %w", id, apierr.ErrUnavailable)
}

// errDeleted stands for the row of a deleted server, like a response of 404.
var errDeleted = apierr.Mark(apierr.ErrNotFound, errors.New("the server is deleted"))
