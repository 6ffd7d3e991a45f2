package networks

import (
	"cmp"
	"context"
	"errors"
	"time"

	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/cache"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// API makes the calls to Neutron.
type API interface {
	ExternalNetworks(ctx context.Context) ([]*client.NetworkInfo, error)
	SubnetsByNetwork(ctx context.Context, networks []string) ([]*client.Subnet, error)
	GetSubnet(ctx context.Context, id string) (*client.Subnet, error)
	PortsByDevice(ctx context.Context, ids []string) ([]*client.Port, error)
	RouterPortsBySubnet(ctx context.Context, subnet string) ([]*client.Port, error)
	RoutersByID(ctx context.Context, ids []string) ([]*client.Router, error)
}

var _ API = (*client.NetworkService)(nil)

// DefaultMaxAge is the default of [Options].MaxAge.
const DefaultMaxAge = 10 * time.Minute

const (
	// maxIDs is how many servers one request for ports takes.
	maxIDs = 50
	// maxChunks is how many lists of ports are kept.
	maxChunks = 256
	// freshAge is how old ports may be if the address of a Node is not among them: it may
	// just have been added.
	freshAge = 30 * time.Second
	// readTimeout bounds a list with all its pages.
	readTimeout = time.Minute
)

// Options are the times of a Finder. Zero fields have the defaults.
type Options struct {
	// MaxAge is how long external networks, what routers connect with them, their subnets,
	// also that one is invisible, and the subnets of servers are kept.
	MaxAge time.Duration
	// Clock is that of all ages. Default: the real one.
	Clock clock.PassiveClock
}

// Finder finds networks and subnets. It is safe for concurrent use.
type Finder struct {
	api     API
	options Options
	// external has the IDs of the external networks, sorted.
	external *cache.Value[[]string]
	// gateways has the IDs of the networks that routers connect a subnet with, by its ID.
	gateways *cache.Cache[string, []string]
	// subnets has subnets of floating IPs by their IDs.
	subnets *cache.Cache[string, *client.Subnet]
	// ports has the addresses of servers, by a list of their IDs.
	ports *cache.Cache[string, addresses]
}

// New returns a Finder that has not read anything yet.
func New(api API, options Options) *Finder {
	options.MaxAge = cmp.Or(options.MaxAge, DefaultMaxAge)
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	f := &Finder{api: api, options: options}
	f.external = cache.NewValue(f.findExternal, cache.Options{
		TTL: options.MaxAge, Timeout: readTimeout, Clock: options.Clock,
	})
	f.gateways = cache.New(f.readGateways, cache.Options{
		TTL: options.MaxAge, Timeout: readTimeout, Clock: options.Clock,
	})
	f.subnets = cache.New(f.api.GetSubnet, cache.Options{
		TTL: options.MaxAge, Timeout: readTimeout, Clock: options.Clock, KeepError: f.keepInvisible,
	})
	f.ports = cache.New(f.readPorts, cache.Options{
		TTL: options.MaxAge, Size: maxChunks, Timeout: readTimeout, Clock: options.Clock,
	})

	return f
}

// keepInvisible returns how long an error about a subnet is kept: that the project cannot see
// it changes as seldom as the subnet.
func (f *Finder) keepInvisible(err error) time.Duration {
	if errors.Is(err, client.ErrInvisible) {
		return f.options.MaxAge
	}

	return 0
}
