package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/cache"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
)

// Defaults of [Config]. A list is read again when it is older than DefaultMaxAge, which
// is less than the time after which a Node counts as not ready
// (--node-monitor-grace-period of kube-controller-manager, 40 s or more): the list in
// which the server of such a Node is looked up is from after its last report. DefaultReadAge
// is less than the time between two looks at such a Node.
const (
	DefaultMaxAge   = 30 * time.Second
	DefaultReadAge  = certainty.Pass / 2
	DefaultRetryAge = 5 * time.Second
	DefaultListWait = 5 * time.Second
)

const (
	// flavorAge is how long what a flavor is named is known, networkAge the same for
	// networks.
	flavorAge, networkAge = time.Hour, 10 * time.Minute
	// confirmAge is the age up to which a response that a server does not exist confirms it:
	// that of the lookup for which it is confirmed.
	confirmAge = time.Second
	// maxIDs is how many servers one request for ports takes.
	maxIDs = 50
	// maxAlone is how many servers are kept that were read alone.
	maxAlone = 1 << 8
)

// Config bounds ages. Zero fields have the defaults.
type Config struct {
	// MaxAge is the age at which a list is read again, RetryAge that of one that failed.
	MaxAge, RetryAge time.Duration
	// ReadAge is the age at which a server that was read alone is read again.
	ReadAge time.Duration
	// ListWait is how long a caller waits for a list.
	ListWait time.Duration
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
	c.ReadAge = cmp.Or(c.ReadAge, DefaultReadAge)
	c.RetryAge = cmp.Or(c.RetryAge, DefaultRetryAge)
	c.ListWait = cmp.Or(c.ListWait, DefaultListWait)
	if c.Nodes == nil {
		c.Nodes = func() ([]string, bool) { return nil, false }
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}

	return c
}

// ErrAbsent means that no list has the server, or that Nova responds that it does not exist.
// It is no proof that the server does not exist.
var ErrAbsent = apierr.Mark(apierr.ErrNotFound, errors.New("the server is not found"))

// Inventory finds servers. It is safe for concurrent use.
type Inventory struct {
	api    API
	config Config

	lists *cache.Value[*serverList]
	// singleServers and singlePorts are read in place of lists.
	singleServers, singlePorts *fallback
	// alone has what was read by requests for single servers.
	alone *cache.Cache[string, reading]

	mu sync.Mutex
	// missing has since when servers are missing, by their IDs.
	missing map[string]series

	ports    *cache.Value[*portList]
	networks networks
	flavors  flavors
}

// reading is what a request for one server got: none if Nova responds that it does not exist.
type reading struct {
	server *Server
	ended  time.Time
}

// New returns an inventory that has not read anything yet.
func New(api API, config Config) *Inventory {
	config = config.withDefaults()
	i := &Inventory{
		api: api, config: config, missing: map[string]series{}, flavors: newFlavors(api.Compute, config.Clock),
		singleServers: newFallback(config), singlePorts: newFallback(config),
	}
	lists := cache.Options{
		TTL: config.MaxAge, Timeout: math.MaxInt64, Detached: true, Clock: config.Clock, // each page has a deadline
		KeepError: func(error) time.Duration { return config.RetryAge },
	}
	i.ports = cache.NewValue(i.listPorts, lists)
	if config.Metrics != nil {
		lists.Observe = config.Metrics.Observe
	}
	i.lists = cache.NewValue(i.listServers, lists)
	i.alone = cache.New(i.readServer, cache.Options{TTL: config.MaxAge, Timeout: math.MaxInt64, Size: maxAlone, Clock: config.Clock})

	return i
}

// Close cancels the lists under way.
func (i *Inventory) Close() {
	i.lists.Close()
	i.ports.Close()
}

func (i *Inventory) now() time.Time { return i.config.Clock.Now() }

// Read returns the server with an ID by a request of its own.
func (i *Inventory) Read(ctx context.Context, id string) (*Server, error) {
	return i.read(ctx, id, i.config.ReadAge)
}

func (i *Inventory) read(ctx context.Context, id string, age time.Duration) (*Server, error) {
	found, err := i.alone.GetWithin(ctx, id, age)
	switch {
	case err != nil:
		return nil, err
	case found.server == nil:
		return nil, fmt.Errorf("read server %s: %w", id, ErrAbsent)
	}

	return found.server, nil
}

// Find returns the server with an ID, from a list that is not too old or a request of
// its own.
func (i *Inventory) Find(ctx context.Context, id string) (*Server, error) {
	if alone := i.newest(id); alone != nil {
		return alone, nil
	}
	list, err := i.list(ctx)
	if err != nil {
		return instead(ctx, i.singleServers, err, func() (*Server, error) { return i.read(ctx, id, i.config.MaxAge) })
	}
	row, listed := list.rows[id]
	switch {
	case !listed:
		return nil, fmt.Errorf("find server %s: %w", id, ErrAbsent)
	case row.err != nil:
		return nil, fmt.Errorf("find server %s: %w", id, row.err)
	case row.server.Status != certainty.StatusShutoff && row.server.Status != certainty.StatusBuild:
		return row.server, nil
	}
	alone, err := i.read(ctx, id, i.config.MaxAge)
	if err != nil && !errors.Is(err, ErrAbsent) {
		return row.server, nil // the list has proven that it exists
	}

	return alone, err
}

// newest returns a server that was read alone, not before the list and not too long ago.
func (i *Inventory) newest(id string) *Server {
	alone, at, known := i.alone.Peek(id)
	list, _, listed := i.lists.Peek()
	if !known || i.now().Sub(at) >= i.config.MaxAge || listed && at.Before(list.begun) {
		return nil
	}

	return alone.server
}

// readServer reads a server alone.
func (i *Inventory) readServer(ctx context.Context, id string) (reading, error) {
	project, err := i.api.Project(ctx)
	if err != nil {
		return reading{}, err
	}
	begun := i.now()
	server, err := i.api.Compute.GetServer(ctx, id)
	switch {
	case certainty.ResponseOf(err) == certainty.NotFound:
		return reading{ended: i.now()}, nil
	case err != nil:
		return reading{}, fmt.Errorf("read server %s: %w", id, err)
	}
	switch verdict := (certainty.Scope{Project: project}).Exists(id, rowOf(server)); verdict.Kind {
	case certainty.Present:
		i.endSeries(id, begun)

		return reading{server: newServer(server, begun, true), ended: i.now()}, nil
	case certainty.Absent: // the row of a deleted server
		return reading{ended: i.now()}, nil
	case certainty.Uncertain, certainty.Kept, certainty.Gone:
		return reading{}, fmt.Errorf("read server %s: %w", id, verdict.Reason)
	}

	return reading{}, fmt.Errorf("read server %s: %w", id, apierr.ErrUnavailable)
}
