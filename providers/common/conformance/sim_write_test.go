package conformance

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// simWrites is what can be made in the cloud in memory. It is guarded by the
// cloud's lock.
type simWrites struct {
	disturbed *Disturbance
	seen      int // calls since it was disturbed
	writes    int
	nodes     []*v1.Node
	balancers []*simBalancer
	rules     []simRule
	routes    []simRoute
	planted   []string // names of balancers, owners of rules, ranges of routes
	notes     map[string]string
	stored    map[string]*v1.Service // by cluster and name
}

var (
	_ LoadBalancerCloud = (*simBalancerCloud)(nil)
	_ RouteCloud        = (*simRouteCloud)(nil)

	errInternal = errors.New("internal error")
	errCut      = errors.New("connection reset")
	errConflict = errors.New("it is there already")
	errMissing  = errors.New("it is not there")
)

func (c *simCloud) ConnectAs(t testing.TB, _ string) cloudprovider.Interface {
	t.Helper()

	return c.build.connect(t, c)
}

func (c *simCloud) Disturb(t testing.TB, d Disturbance) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.disturbed != nil {
		t.Fatal("the cloud is disturbed already")
	}
	c.disturbed, c.seen = &d, 0
}

func (c *simCloud) Writes() int {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.writes
}

func (c *simCloud) Leftovers() []string {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.describe(false)
}

// describe lists what is there: what was planted, or all the rest.
func (c *simCloud) describe(planted bool) []string {
	var lines []string
	add := func(owner, line string) {
		if slices.Contains(c.planted, owner) == planted {
			lines = append(lines, line)
		}
	}
	for _, lb := range c.balancers {
		add(lb.name, lb.String())
	}
	for _, rule := range c.rules {
		add(rule.owner, rule.String())
	}
	for _, route := range c.routes {
		add(route.cidr, route.String())
	}
	slices.Sort(lines)

	return lines
}

// plant makes what was just added somebody else's.
func (c *simCloud) plant(owners ...string) (describe func() []string) {
	c.planted = append(c.planted, owners...)

	return func() []string {
		c.mu.Lock()
		defer c.mu.Unlock()

		return c.describe(true)
	}
}

// latency is how long a call takes, so that others can come in between.
const latency = time.Millisecond

// call counts a call and does it, unless something is wrong.
func (c *simCloud) call(ctx context.Context, write bool, apply func() error) error {
	if write {
		c.mu.Lock()
		c.writes++
		c.mu.Unlock()
	}
	if err := c.enter(ctx); err != nil {
		return err
	}
	time.Sleep(latency)
	c.mu.Lock()
	defer c.mu.Unlock()
	fault, disturbed := c.fault()
	if disturbed && fault != Lost {
		return map[Fault]error{
			Throttled: apierr.Mark(apierr.ErrThrottled, errors.New("slow down")),
			Failed:    apierr.Mark(apierr.ErrUnavailable, errInternal),
			Dropped:   apierr.Mark(apierr.ErrUnavailable, errCut),
		}[fault]
	}
	if err := apply(); !disturbed {
		return err
	}

	return apierr.Mark(apierr.ErrUnavailable, errCut)
}

// fault says what is to happen to this call.
func (c *simCloud) fault() (fault Fault, disturbed bool) {
	d := c.disturbed
	if d == nil {
		return 0, false
	}
	c.seen++

	return d.Fault, c.seen == d.First || !d.Only && c.seen > d.First
}

// simBalancerCloud is the cloud in memory as the cases about load balancers see
// it, and simRouteCloud as those about routes do: both can be planted in.
type (
	simBalancerCloud struct{ *simCloud }
	simRouteCloud    struct{ *simCloud }
)

// scheme is what the IDs of the cloud's machines begin with.
const scheme = "sim://"

// machineOf gives the machine of a canonical ID. The cloud is locked.
func (c *simCloud) machineOf(id string) *simMachine {
	for _, m := range c.machines {
		if m.ref.ProviderID == id && strings.HasPrefix(id, scheme) {
			return m
		}
	}

	return nil
}
