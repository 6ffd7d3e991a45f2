package conformance

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/cache"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

// connect builds a provider over the cloud, with whatever is to be wrong in it.
func (b simBuild) connect(t testing.TB, c *simCloud) cloudprovider.Interface {
	t.Helper()
	client := &simClient{cloud: c}
	if b.client != nil {
		b.client(client)
	}
	s := newSimSource(client, b.timeout, b.memory/2)
	var source instance.Source = s
	if b.source != nil {
		source = b.source(s)
	}
	options := instance.Options{Provider: "sim", Timeout: b.timeout, NegativeTTL: b.memory / 4}
	if b.options != nil {
		b.options(&options)
	}
	v2 := instance.New(source, options)
	running, stop := context.WithCancel(context.Background())
	var background sync.WaitGroup
	background.Go(func() { v2.Run(running) })
	var nodes cloudprovider.InstancesV2 = v2
	if b.nodes != nil {
		nodes = b.nodes(nodes, s)
	}
	provider := &simProvider{nodes: nodes, requeue: v2.SetRequeue, client: client, balancers: b.newBalancers(c), routes: b.newRoutes(c)}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), b.timeout)
		defer cancel()
		_ = provider.Close(ctx)
		stop()
		background.Wait()
	})
	if b.cloud != nil {
		return b.cloud(provider)
	}

	return provider
}

// simClient talks to the cloud in one session.
type simClient struct {
	cloud *simCloud
	// What can be wrong with it.
	stubborn  bool // never logs in again
	sleepless bool // logs in although it was closed
	broken    bool // set by the first failure of an obstinate client
	obstinate bool // never works again after a failure

	mu      sync.Mutex
	session int
	closed  bool
}

// current is the session in use, 0 if there is none.
func (c *simClient) current() (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed && !c.sleepless {
		return 0, errors.New("the client is closed")
	}
	if c.broken {
		return 0, errors.New("the client never works again")
	}

	return c.session, nil
}

// lost forgets a session that the cloud does not know.
func (c *simClient) lost(session int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = c.obstinate
	if c.session == session && errors.Is(err, apierr.ErrDenied) && !c.stubborn {
		c.session = 0
	}
}

// ready gives a session, a new one if need be.
func (c *simClient) ready(ctx context.Context) (int, error) {
	session, err := c.current()
	if err != nil || session != 0 {
		return session, err
	}
	session, err = c.cloud.login(ctx)
	if err != nil {
		c.lost(0, err)

		return 0, err
	}
	c.mu.Lock()
	kept := c.session == 0 && (!c.closed || c.sleepless)
	if kept {
		c.session = session
	}
	used := c.session
	c.mu.Unlock()
	if !kept {
		return used, c.cloud.logout(ctx, session)
	}

	return session, nil
}

// read asks the cloud for machines.
func (c *simClient) read(ctx context.Context, about func(*simMachine) bool) ([]*simMachine, error) {
	session, err := c.ready(ctx)
	if err != nil {
		return nil, err
	}
	machines, err := c.cloud.read(ctx, session, about)
	if err != nil {
		c.lost(session, err)
	}

	return machines, err
}

// simSource answers from a list that is shared for a moment.
type simSource struct {
	client *simClient
	list   *cache.Value[[]*simMachine]
	// What can be wrong with it.
	match    func(*simMachine, instance.Ref) bool
	pick     func([]*simMachine) instance.Result
	describe func(*simMachine) *cloudprovider.InstanceMetadata
}

func newSimSource(client *simClient, timeout, ttl time.Duration) *simSource {
	all := func(*simMachine) bool { return true }

	return &simSource{
		client: client,
		list: cache.NewValue(
			func(ctx context.Context) ([]*simMachine, error) { return client.read(ctx, all) },
			cache.Options[[]*simMachine]{TTL: ttl, Timeout: timeout},
		),
		match:    matches,
		pick:     only,
		describe: metadataOf,
	}
}

var simID = regexp.MustCompile(`^[0-9]{8}$`)

func (s *simSource) Accepts(id string) error {
	if !simID.MatchString(strings.TrimPrefix(id, "sim://")) {
		return fmt.Errorf("%q is not sim:// and eight digits", id)
	}

	return nil
}

// matches says that the machine is the one that was asked for.
func matches(m *simMachine, ref instance.Ref) bool {
	switch {
	case ref.ProviderID != "":
		return strings.TrimPrefix(ref.ProviderID, "sim://") == strings.TrimPrefix(m.ref.ProviderID, "sim://")
	case ref.SystemUUID == m.ref.SystemUUID:
		return true
	}

	return ref.SystemUUID == "" && ref.NodeName == m.ref.NodeName
}

// only gives the one machine that there is.
func only(found []*simMachine) instance.Result {
	switch len(found) {
	case 0:
		return instance.Absent()
	case 1:
		return instance.Found(found[0])
	}

	return instance.Failed(instance.WithReason(instance.ReasonAmbiguousInstance, errors.New("several machines fit")))
}

func (s *simSource) Lookup(ctx context.Context, refs []instance.Ref) []instance.Result {
	answers := make([]instance.Result, len(refs))
	machines, err := s.list.Get(ctx)
	for i, ref := range refs {
		if err != nil {
			answers[i] = instance.Failed(err)

			continue
		}
		var found []*simMachine
		for _, m := range machines {
			if s.match(m, ref) {
				found = append(found, m)
			}
		}
		answers[i] = s.pick(found)
	}

	return answers
}

func (s *simSource) Confirm(ctx context.Context, ref instance.Ref) instance.Result {
	found, err := s.client.read(ctx, func(m *simMachine) bool { return s.match(m, ref) })
	if err != nil {
		return instance.Failed(err)
	}

	return s.pick(found)
}

func (s *simSource) Metadata(_ context.Context, _ *v1.Node, found instance.Instance) (*cloudprovider.InstanceMetadata, error) {
	return s.describe(found.(*simMachine)), nil
}

// metadataOf describes a machine.
func metadataOf(m *simMachine) *cloudprovider.InstanceMetadata {
	addresses := []v1.NodeAddress{{Type: v1.NodeHostName, Address: m.ref.NodeName}}
	for _, ip := range m.ips {
		addresses = append(addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: ip})
	}

	return &cloudprovider.InstanceMetadata{
		InstanceType: "small", Zone: "a", Region: "r",
		NodeAddresses:    addresses,
		AdditionalLabels: map[string]string{"example.com/rack": "1"},
	}
}

// simProvider is the cloud provider over the client.
type simProvider struct {
	nodes     cloudprovider.InstancesV2
	requeue   func(func(nodeName string))
	client    *simClient
	balancers cloudprovider.LoadBalancer
	routes    cloudprovider.Routes
}

var _ cloudprovider.Interface = (*simProvider)(nil)

func (p *simProvider) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}

func (p *simProvider) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return p.balancers, true }

func (p *simProvider) Instances() (cloudprovider.Instances, bool) { return nil, false }

func (p *simProvider) InstancesV2() (cloudprovider.InstancesV2, bool) { return p.nodes, true }

func (p *simProvider) Zones() (cloudprovider.Zones, bool) { return nil, false }

func (p *simProvider) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

func (p *simProvider) Routes() (cloudprovider.Routes, bool) { return p.routes, true }

func (p *simProvider) ProviderName() string { return "sim" }

func (p *simProvider) HasClusterID() bool { return true }

func (p *simProvider) SetNodeRequeue(requeue func(nodeName string)) { p.requeue(requeue) }

// Close logs out and refuses to log in again.
func (p *simProvider) Close(ctx context.Context) error {
	p.client.mu.Lock()
	session := p.client.session
	p.client.closed, p.client.session = true, 0
	p.client.mu.Unlock()
	if session == 0 {
		return nil
	}

	return p.client.cloud.logout(ctx, session)
}
