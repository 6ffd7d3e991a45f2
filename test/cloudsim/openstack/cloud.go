package openstack

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simstate"
)

// Profile is a kind of cloud: which drivers and extensions it has.
type Profile string

// The profiles.
const (
	// Amphora is a cloud as of the Zed release whose load balancers are virtual
	// machines. It is the default.
	Amphora Profile = "amphora"
	// OVN is the same cloud with load balancers inside of the network.
	OVN Profile = "ovn"
	// Bare is an old cloud: Nova 2.1, Octavia 2.0, no tags, no extensions of
	// Neutron, changes one at a time.
	Bare Profile = "bare"
)

// Options define the cloud to simulate. The zero value is one region, profile
// Amphora, with the limits that OpenStack has by default, on a free loopback port.
type Options struct {
	// Address is where to listen; port 0 is a free one.
	Address string
	// InMemory uses no port: only [Cloud.HTTPClient] connects. Such a cloud can
	// run in a testing/synctest bubble.
	InMemory bool
	// TLS serves https, as behind a proxy that ends TLS: links in responses are
	// still http (oslo.middleware: enable_proxy_headers_parsing is off by default).
	TLS bool
	// Regions are the names of the regions, each with services of its own; default
	// RegionOne. Keystone is one for all.
	Regions []string
	// Profile is the kind of cloud; default Amphora.
	Profile Profile
	// Catalog is the form of the service catalog.
	Catalog Catalog
	// PageSize is the most rows that a list returns; default 1000 for Nova and
	// Octavia, and no limit for Neutron, as the services have it.
	PageSize int
	// Clock is the time of the cloud; default the real one.
	Clock clock.PassiveClock
	// Delays are how long operations take until they have all their effect. The
	// default are the [TypicalDelays] when Clock is not the real one, so that a
	// test waits for none of them, and no delay at all otherwise.
	Delays *Delays
	// StaleReads makes some reads show an older state; default the
	// [TypicalStaleReads]. Where a test sets it to none, a comment has the reason.
	StaleReads *StaleReads
	// Quotas bound the resources of each project. Zero fields are the defaults of
	// the services. Where a test raises one of them, a comment has the reason.
	Quotas Quotas
	// TokenLifetime is how long a token is valid; default an hour (keystone:
	// conf/token.py, expiration).
	TokenLifetime time.Duration
	// OctaviaMinor is the version 2.x of Octavia; default 26, that of Zed, and 0 in
	// profile Bare. None of the later ones is complete: 29 has vip_sg_ids.
	OctaviaMinor int
	// Microversion is the highest one of Nova; default 2.93, that of Zed, and 2.1
	// in profile Bare.
	Microversion string
}

func (o Options) complete() Options {
	if len(o.Regions) == 0 {
		o.Regions = []string{"RegionOne"}
	}
	o.Profile = cmp.Or(o.Profile, Amphora)
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Delays == nil {
		o.Delays = new(Delays)
		if simulated(o.Clock) {
			*o.Delays = TypicalDelays()
		}
	}
	if o.StaleReads == nil {
		o.StaleReads = new(TypicalStaleReads())
	}
	o.Quotas = o.Quotas.complete()
	o.TokenLifetime = cmp.Or(o.TokenLifetime, time.Hour)
	if o.Profile == Bare {
		o.Microversion = cmp.Or(o.Microversion, "2.1")
	} else {
		o.OctaviaMinor = cmp.Or(o.OctaviaMinor, 26)
	}
	o.Microversion = cmp.Or(o.Microversion, "2.93")

	return o
}

// Cloud is a running simulated cloud. All its methods may be used from several
// goroutines at once, and each API call is atomic.
type Cloud struct {
	opts        Options
	server      *simserver.Server
	interceptor simserver.Interceptor
	services    []*service
	requests    simstate.Requests[Request]

	mu       sync.Mutex // held while an operation runs
	ids      simstate.IDs
	schedule simstate.Schedule[*Cloud]
	delays   Delays
	rowTimes RowTimes
	denied   []string
	catalog  Catalog
	replica  replica
	keystone *keystoneState
	regions  []*region // in the order of Options.Regions
	watches  []*watch
	outages  []string
	ended    string             // the operation of a load balancer's change whose end was not looked at yet
	creating map[replicaKey]int // creations under way in Octavia, by region and project
}

// region is the state of the services of a region.
type region struct {
	name    string
	nova    *novaState
	neutron *neutronState
	octavia *octaviaState
}

// Start makes a cloud with the projects and users of [Users], without any other
// resource, and listens. Close ends it.
func Start(opts Options) (*Cloud, error) {
	opts = opts.complete()
	c := &Cloud{opts: opts, delays: *opts.Delays, catalog: opts.Catalog, replica: replica{StaleReads: *opts.StaleReads}}
	c.keystone = newKeystoneState(c)
	for _, name := range opts.Regions {
		r := &region{name: name}
		r.nova, r.neutron, r.octavia = newNovaState(c, r), newNeutronState(c, r), newOctaviaState(c, r)
		c.regions = append(c.regions, r)
	}
	c.services = []*service{c.keystoneService(), c.novaService(), c.neutronService(), c.octaviaService(), c.barbicanService(), c.glanceService()}
	for _, s := range c.services {
		s.complete(c)
	}
	server, err := simserver.Start(simserver.Config{Address: opts.Address, Plain: !opts.TLS, InMemory: opts.InMemory}, c)
	if err != nil {
		return nil, fmt.Errorf("start simulated cloud %s: %w", opts.Regions[0], err)
	}
	c.server = server

	return c, nil
}

// Close stops listening and waits for the calls in progress.
func (c *Cloud) Close() error { return c.server.Close() }

// URL returns where the cloud listens, without a path.
func (c *Cloud) URL() string { return c.server.Scheme() + "://" + c.server.Address() }

// Options returns the options with their defaults.
func (c *Cloud) Options() Options { return c.opts }

// Regions returns the names of the regions.
func (c *Cloud) Regions() []string { return slices.Clone(c.opts.Regions) }

// Server returns what can go down or hang.
func (c *Cloud) Server() *simserver.Server { return c.server }

// Interceptor returns the interceptor that logs, delays and fails calls.
func (c *Cloud) Interceptor() *simserver.Interceptor { return &c.interceptor }

// HTTPClient returns a client of its own, whose idle connections the caller
// closes. It trusts the certificate of the cloud, and is the only one that
// reaches a cloud in memory.
func (c *Cloud) HTTPClient() *http.Client {
	transport := &http.Transport{TLSClientConfig: c.clientTLS()}
	if c.opts.InMemory {
		transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			return c.server.Dial(ctx, network, address)
		}
	}

	return &http.Client{Transport: transport}
}

// Writes returns the number of calls that may change state, by operation,
// whether or not they succeeded. Logins are none. It uses the interceptor's log.
func (c *Cloud) Writes() map[string]int {
	writes := c.interceptor.Calls()
	for op := range writes {
		if !c.Mutating(op) {
			delete(writes, op)
		}
	}

	return writes
}

// Mutating reports whether the operation, by its name in the interceptor's log,
// may change anything but tokens.
func (c *Cloud) Mutating(op string) bool {
	for _, s := range c.services {
		if route := s.byOp[op]; route != nil {
			return route.writes()
		}
	}

	return false
}

// after runs do at the first operation or inspection when d has passed, which is
// the next one when d is not positive. The caller holds mu, and so does do. Do
// finds what it changes by its ID: after [Cloud.Restore] there are other objects.
func (c *Cloud) after(d time.Duration, do func(*Cloud)) {
	c.schedule.At(c.now().Add(d), do)
}

// now is the time of the cloud.
func (c *Cloud) now() time.Time { return c.opts.Clock.Now() }

// applyDue applies the changes that are due. The caller holds mu.
func (c *Cloud) applyDue() { c.schedule.Run(c.now(), c) }

// inspect runs f with the state as the next operation would find it.
func (c *Cloud) inspect(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.applyDue()
	f()
}

// region returns the region with that name, the first one when it is empty. It
// panics when there is none: tests name regions.
func (c *Cloud) region(name string) *region {
	if name == "" {
		return c.regions[0]
	}
	for _, r := range c.regions {
		if r.name == name {
			return r
		}
	}
	panic("openstack: no region " + name)
}

// newID returns a UUID that looks random and is the same in every run. With one
// kind for each sort of object, the IDs of one sort do not depend on the others.
func (c *Cloud) newID(kind string) string {
	h := c.ids.Hex(kind, 32)

	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-a" + h[17:20] + "-" + h[20:]
}

// newHexID returns an ID as Keystone makes them: a UUID without dashes.
func (c *Cloud) newHexID(kind string) string { return c.ids.Hex(kind, 32) }

// simulated reports whether a clock is another one than that of the machine.
func simulated(c clock.PassiveClock) bool {
	switch c.(type) {
	case nil, clock.RealClock, *clock.RealClock:
		return false
	}

	return true
}
