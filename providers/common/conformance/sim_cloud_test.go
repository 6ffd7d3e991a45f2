package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

// simMachine is an instance of the cloud in memory.
type simMachine struct {
	ref   instance.Ref
	ips   []string
	power Power
}

func (m *simMachine) ProviderID() string { return m.ref.ProviderID }

func (m *simMachine) State() instance.State {
	if m.power == On {
		return instance.Running
	}

	return instance.Stopped
}

// simCloud is a cloud in memory. It has sessions, lists and single reads.
type simCloud struct {
	build simBuild

	mu       sync.Mutex
	machines []*simMachine
	made     int
	calls    int
	logins   int
	open     map[int]bool
	failure  Failure
	broken   chan struct{} // closed by Heal; nil while the cloud is whole

	simWrites
}

var (
	_ Cloud          = (*simCloud)(nil)
	_ SessionCounter = (*simCloud)(nil)

	errRefused  = errors.New("login refused")
	errNoServer = errors.New("connection refused")
)

// newSimCloud makes a cloud whose providers are built as given.
func newSimCloud(t testing.TB, build simBuild) *simCloud {
	t.Helper()
	c := &simCloud{build: build, open: map[int]bool{}}
	c.notes, c.stored = map[string]string{}, map[string]*v1.Service{}
	t.Cleanup(func() { c.Heal(t) })

	return c
}

func (c *simCloud) Connect(t testing.TB) cloudprovider.Interface {
	t.Helper()

	return c.build.connect(t, c)
}

func (c *simCloud) Create(t testing.TB, m Machine) instance.Ref {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made++
	made := &simMachine{ips: m.IPs, ref: instance.Ref{
		ProviderID: fmt.Sprintf("sim://%08d", c.made),
		SystemUUID: fmt.Sprintf("uuid-%08d", c.made),
		NodeName:   m.Name,
	}}
	c.machines = append(c.machines, made)

	return made.ref
}

func (c *simCloud) Delete(t testing.TB, ref instance.Ref) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, m := range c.machines {
		if m.ref == ref {
			c.machines = append(c.machines[:i:i], c.machines[i+1:]...)

			return
		}
	}
	t.Fatalf("delete: no machine %+v", ref)
}

func (c *simCloud) SetPower(t testing.TB, ref instance.Ref, power Power) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, m := range c.machines {
		if m.ref == ref {
			c.machines[i] = &simMachine{ref: m.ref, ips: m.ips, power: power}

			return
		}
	}
	t.Fatalf("set power: no machine %+v", ref)
}

func (c *simCloud) Break(t testing.TB, failure Failure) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken != nil {
		t.Fatal("the cloud is broken already")
	}
	c.failure, c.broken = failure, make(chan struct{})
	if failure == Refusing {
		clear(c.open)
	}
}

func (c *simCloud) Heal(testing.TB) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.disturbed = nil
	if c.broken != nil {
		close(c.broken)
		c.broken = nil
	}
}

func (c *simCloud) Calls() int {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.calls
}

func (c *simCloud) Sessions() int {
	c.mu.Lock()
	defer c.mu.Unlock()

	return len(c.open)
}

// enter counts a call and lets it fail as the cloud is broken.
func (c *simCloud) enter(ctx context.Context) error {
	c.mu.Lock()
	c.calls++
	broken, failure := c.broken, c.failure
	c.mu.Unlock()
	if broken == nil {
		return ctx.Err()
	}
	switch failure {
	case Unreachable:
		return apierr.Mark(apierr.ErrUnavailable, errNoServer)
	case Throttling:
		return apierr.Mark(apierr.ErrThrottled, errors.New("slow down"))
	case Refusing:
		return apierr.Mark(apierr.ErrDenied, errRefused)
	case Hanging:
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-broken:
		return apierr.Mark(apierr.ErrUnavailable, errNoServer)
	}
}

// login opens a session.
func (c *simCloud) login(ctx context.Context) (int, error) {
	if err := c.enter(ctx); err != nil {
		return 0, fmt.Errorf("log in: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.logins++
	c.open[c.logins] = true

	return c.logins, nil
}

// logout ends a session.
func (c *simCloud) logout(ctx context.Context, session int) error {
	if err := c.enter(ctx); err != nil {
		return fmt.Errorf("log out: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, session)

	return nil
}

// read gives the machines that the question is about.
func (c *simCloud) read(ctx context.Context, session int, about func(*simMachine) bool) ([]*simMachine, error) {
	if err := c.enter(ctx); err != nil {
		return nil, fmt.Errorf("list machines: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.open[session] {
		return nil, apierr.Mark(apierr.ErrDenied, errors.New("list machines: no session"))
	}
	var found []*simMachine
	for _, m := range c.machines {
		if about(m) {
			found = append(found, m)
		}
	}

	return found, nil
}

// simSuite is the suite of a provider over this cloud.
func simSuite(build simBuild) Suite {
	return Suite{
		Provider:  "sim",
		NewCloud:  func(t testing.TB) Cloud { return newSimCloud(t, build) },
		Malformed: []string{"sim://", "sim://not-a-number"},
		Respell:   func(id string) []string { return []string{strings.TrimPrefix(id, "sim://")} },
		Budget:    Budget{Nodes: 60, Initialize: 10, Steady: 5, Lifecycle: 5},
		Timeout:   build.timeout,
		Patience:  build.patience,
		Memory:    build.memory,
	}
}

// simBuild says how providers are built: fast or slow, whole or flawed.
type simBuild struct {
	timeout  time.Duration
	memory   time.Duration
	patience time.Duration
	options  func(*instance.Options)
	client   func(*simClient)
	source   func(*simSource) instance.Source
	nodes    func(cloudprovider.InstancesV2, *simSource) cloudprovider.InstancesV2
	cloud    func(*simProvider) cloudprovider.Interface

	sparse    bool // the provider serves TCP alone and nothing special
	patient   bool // the provider asks to be called again
	noting    bool // the provider writes into Services
	sloppy    func(*simBalancers)
	balancers func(*simBalancers) cloudprovider.LoadBalancer
	careless  func(*simRoutes)
	routes    func(*simRoutes) cloudprovider.Routes
}
