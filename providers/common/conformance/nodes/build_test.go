package nodes

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/sim"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

// build is how providers are built: fast or slow, correct or as a mutant.
type build struct {
	timeout      time.Duration
	maxStaleness time.Duration
	noticeTime   time.Duration
	options      func(*instance.Options)
	client       func(*client)
	source       func(*source) instance.Source
	nodes        func(cloudprovider.InstancesV2, *source) cloudprovider.InstancesV2
	provider     func(*provider) cloudprovider.Interface
}

// adapter returns the adapter of such a provider.
func (b build) adapter() Adapter {
	return Adapter{
		Provider: sim.Provider,
		NewCloud: func(t testing.TB) conformance.Cloud {
			return &cloud{Cloud: sim.New(t), build: b, sessions: map[int]bool{}}
		},
		Malformed: []string{"sim://", "sim://not-a-number"},
		Spellings: func(id string) []string {
			return []string{strings.TrimPrefix(id, sim.Scheme), sim.Scheme + region + "/" + number(id)}
		},
		Elsewhere:    func(id string) []string { return []string{sim.Scheme + "other/" + number(id)} },
		Budget:       Budget{Nodes: 60, Initialize: 10, Steady: 5, Lifecycle: 5},
		Timeout:      b.timeout,
		NoticeTime:   b.noticeTime,
		MaxStaleness: b.maxStaleness,
		How:          How{InMemory: true},
	}
}

// slow returns the prepared adapter of a provider with the timeouts of a real one.
func (b build) slow(t *testing.T) Adapter {
	t.Helper()
	b.timeout, b.maxStaleness, b.noticeTime = 4*time.Second, 4*time.Second, 10*time.Second
	adapter, err := b.adapter().prepare()
	if err != nil {
		t.Fatal(err)
	}

	return adapter
}

// connect builds a provider over the cloud.
func (b build) connect(t testing.TB, c *cloud) cloudprovider.Interface {
	t.Helper()
	calls := &client{cloud: c}
	if b.client != nil {
		b.client(calls)
	}
	s := newSource(calls, b.timeout, b.maxStaleness/2)
	var lookup instance.Source = s
	if b.source != nil {
		lookup = b.source(s)
	}
	options := instance.Options{Provider: sim.Provider, Timeout: b.timeout, NegativeTTL: b.maxStaleness / 4}
	if b.options != nil {
		b.options(&options)
	}
	v2 := instance.New(lookup, options)
	running, stop := context.WithCancel(context.Background())
	var background sync.WaitGroup
	background.Go(func() { v2.Run(running) })
	var nodes cloudprovider.InstancesV2 = v2
	if b.nodes != nil {
		nodes = b.nodes(nodes, s)
	}
	p := &provider{CloudProvider: sim.CloudProvider{Nodes: nodes}, requeue: v2.SetRequeue, client: calls}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), b.timeout)
		defer cancel()
		_ = p.Close(ctx)
		stop()
		background.Wait()
	})
	if b.provider != nil {
		return b.provider(p)
	}

	return p
}
