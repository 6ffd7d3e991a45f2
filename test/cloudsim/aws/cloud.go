package aws

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simstate"
)

// Options define the region to simulate. The zero value is us-west-2 with
// AWS's own limits, on a free loopback port.
type Options struct {
	// Address is where to listen; port 0 is a free one.
	Address string
	// InMemory uses no port: only the Dial of [Cloud.Server] connects. Such a region
	// can run in a testing/synctest bubble.
	InMemory bool
	// Region names the region; default us-west-2.
	Region string
	// Zones are the availability zones. By default a, b and c of the region and
	// one local zone.
	Zones []Zone
	// AccountID owns everything; default 123456789012.
	AccountID string
	// PageSize makes all pages of results smaller than AWS's limits.
	PageSize int
	// AnyScope accepts signatures made for any region and service name, as a
	// compatible service behind an endpoint override does.
	AnyScope bool
	// Limits are the quotas of the account.
	Limits Limits
	// Clock is the time of the region; default the real one. Token buckets and
	// delays go by it.
	Clock clock.PassiveClock
	// Delays are how long operations take until they have all their effect. The
	// default are the [TypicalDelays] when Clock is not the real one, so that a test
	// waits for none of them, and no delay at all otherwise.
	Delays *Delays
	// DisableThrottling starts the region without the token buckets that AWS
	// documents for its APIs. Where a test sets it, a comment has the reason.
	DisableThrottling bool
}

// Limits are the quotas of an account. Zero fields are AWS's defaults.
type Limits struct {
	// RulesPerSecurityGroup bounds the inbound rules of a group, counted for
	// IPv4 and IPv6 apart; default 60.
	RulesPerSecurityGroup int
	// PrefixListEntries is the maximum number of entries of each prefix list;
	// default 1. A rule that names one counts as so many rules.
	PrefixListEntries int
	// RoutesPerTable bounds the routes of a table; default 500.
	RoutesPerTable int
}

func (o Options) complete() Options {
	o.Region = cmp.Or(o.Region, "us-west-2")
	o.AccountID = cmp.Or(o.AccountID, "123456789012")
	if o.Zones == nil {
		o.Zones = defaultZones(o.Region)
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Delays == nil {
		o.Delays = new(Delays)
		if simulated(o.Clock) {
			*o.Delays = TypicalDelays()
		}
	}
	o.Limits.RulesPerSecurityGroup = cmp.Or(o.Limits.RulesPerSecurityGroup, 60)
	o.Limits.PrefixListEntries = cmp.Or(o.Limits.PrefixListEntries, 1)
	o.Limits.RoutesPerTable = cmp.Or(o.Limits.RoutesPerTable, 500)

	return o
}

// Cloud is a running simulated region. All its methods may be used from several
// goroutines at once, and each API call is atomic.
type Cloud struct {
	opts        Options
	server      *simserver.Server
	interceptor simserver.Interceptor
	apis        []*api
	requests    simstate.Requests[Request]

	mu          sync.Mutex // held while an operation runs
	operation   int        // number of the running one
	ids         simstate.IDs
	schedule    simstate.Schedule[*Cloud]
	keys        map[string]credential
	signing     map[signingScope][]byte // derived keys
	role        string                  // whose credentials are required; empty for any
	assumed     []AssumedRole
	limits      rateLimits
	consistency Consistency
	sparse      bool
	denied      []string
	metadata    metadataService
	ec2         ec2State
	balancers   balancers
}

// Start makes a region without any resource and listens. Close ends it.
func Start(opts Options) (*Cloud, error) {
	opts = opts.complete()
	c := &Cloud{
		opts: opts,
		keys: make(map[string]credential), signing: make(map[signingScope][]byte),
		balancers: newBalancers(*opts.Delays),
	}
	c.metadata = newMetadataService()
	c.keys[staticKey] = credential{secret: staticSecret}
	c.apis = c.allAPIs()
	c.setDocumentedLimits()
	server, err := simserver.Start(simserver.Config{Address: opts.Address, Plain: true, InMemory: opts.InMemory}, c)
	if err != nil {
		return nil, fmt.Errorf("start simulated region %s: %w", c.opts.Region, err)
	}
	c.server = server

	return c, nil
}

// Close stops listening and waits for the calls in progress.
func (c *Cloud) Close() error { return c.server.Close() }

// URL returns the endpoint that serves all APIs and the instance metadata.
func (c *Cloud) URL() string { return c.server.Scheme() + "://" + c.server.Address() }

// Region returns the region's name.
func (c *Cloud) Region() string { return c.opts.Region }

// Server returns what can go down or hang.
func (c *Cloud) Server() *simserver.Server { return c.server }

// Interceptor returns the interceptor that logs, delays and fails calls.
func (c *Cloud) Interceptor() *simserver.Interceptor { return &c.interceptor }

// Environment returns the variables that lead the SDK and the aws command line
// here, in the form NAME=value.
func (c *Cloud) Environment() []string {
	return []string{
		"AWS_ENDPOINT_URL=" + c.URL(),
		"AWS_EC2_METADATA_SERVICE_ENDPOINT=" + c.URL(),
		"AWS_ACCESS_KEY_ID=" + staticKey,
		"AWS_SECRET_ACCESS_KEY=" + staticSecret,
		"AWS_REGION=" + c.opts.Region,
		"AWS_DEFAULT_REGION=" + c.opts.Region, // for the command line
	}
}

// Writes returns the number of calls that may change state, by operation,
// whether or not they succeeded. It uses the interceptor's log.
func (c *Cloud) Writes() map[string]int {
	writes := c.interceptor.Calls()
	for op := range writes {
		if !Mutating(op) {
			delete(writes, op)
		}
	}

	return writes
}

// Mutating reports whether the operation, by its name in the interceptor's log,
// may change anything.
func Mutating(op string) bool {
	group, action, found := strings.Cut(op, ".")
	if !found {
		action = op
	}
	if group == groupIMDS || action == "" || action[0] < 'A' || action[0] > 'Z' || strings.Contains(action, " ") {
		return false
	}
	for _, reading := range []string{"Describe", "Get", "Assume", "List"} {
		if strings.HasPrefix(action, reading) {
			return false
		}
	}

	return true
}

// after runs do at the first operation or inspection when d has passed. The
// caller holds mu, and so does do. It runs at once when d is not positive.
func (c *Cloud) after(d time.Duration, do func(*Cloud)) {
	if d <= 0 {
		do(c)

		return
	}
	c.schedule.At(c.opts.Clock.Now().Add(d), do)
}

// applyDue applies the changes that are due. The caller holds mu.
func (c *Cloud) applyDue() { c.schedule.Run(c.opts.Clock.Now(), c) }

// inspect runs f with the state as the next operation would find it.
func (c *Cloud) inspect(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.applyDue()
	f()
}

// newID returns an EC2 resource ID such as sg-0123456789abcdef0.
func (c *Cloud) newID(prefix string) string { return prefix + "-0" + c.ids.Hex(prefix, 16) }
