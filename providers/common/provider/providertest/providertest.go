// Package providertest tests what every provider must do as a whole: clouds of it
// are started and closed many times in one process, and nothing of them is left.
//
// It is not for what a provider does between start and end: see package
// conformance.
package providertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
)

const (
	// cycles is how many clouds are started and closed, atOnce at the same time.
	cycles = 100
	atOnce = 2
	// patience bounds the start and the end of one cloud.
	patience = 30 * time.Second
)

// Cloud is a cloud that was made and not initialized.
type Cloud interface {
	cloudprovider.Interface
	provider.Closer
}

// Lifecycle is a provider with a simulated cloud that is running. The functions
// are called by several goroutines at the same time.
type Lifecycle struct {
	// New makes a cloud as the factory does.
	New func() (Cloud, error)
	// Use calls the simulated cloud through a cloud that is initialized. It is
	// repeated until it returns nil.
	Use func(ctx context.Context, cloud Cloud) error
	// Kubernetes is the API for the clouds. Nil stands for an empty one.
	Kubernetes *Kubernetes
	// Left lists the sessions, watches and the like that are open at the
	// simulated cloud. Nil stands for a cloud that has none.
	Left func() []string
}

// endings are the ways in which a cloud may end. Close follows each.
var endings = []struct {
	name string
	end  func(ctx context.Context, l Lifecycle, c Cloud) error
}{
	{"in use", func(ctx context.Context, l Lifecycle, c Cloud) error {
		c.Initialize(l.Kubernetes, make(chan struct{}))

		return l.use(ctx, c)
	}},
	{"stopped", func(ctx context.Context, l Lifecycle, c Cloud) error {
		stop := make(chan struct{})
		defer close(stop)
		c.Initialize(l.Kubernetes, stop)
		c.Initialize(l.Kubernetes, stop) // as with leader migration

		return l.use(ctx, c)
	}},
	{"starting", func(_ context.Context, l Lifecycle, c Cloud) error {
		c.Initialize(l.Kubernetes, make(chan struct{}))

		return nil
	}},
	{"not initialized", func(context.Context, Lifecycle, Cloud) error { return nil }},
}

// Run starts and closes clouds, two at the same time, and fails the test if a
// goroutine, a session, a watch or a series of metrics is left for each. The test
// must not run in parallel with others: their goroutines would count.
func Run(t testing.TB, l Lifecycle) {
	t.Helper()
	if l.Kubernetes == nil {
		l.Kubernetes = &Kubernetes{}
	}
	if l.Left == nil {
		l.Left = func() []string { return nil }
	}
	others := goleak.IgnoreCurrent()
	l.cycle(t, atOnce*len(endings)) // metrics of the process are registered by now
	before := series(t)
	l.cycle(t, cycles)
	// A label may get a new value by chance, such as the code of an error.
	if added := series(t) - before; added >= cycles/len(endings) {
		t.Errorf("%d clouds left %d series of metrics", cycles, added)
	}
	if left := l.Left(); len(left) > 0 {
		t.Errorf("left at the simulated cloud: %q", left)
	}
	if open := l.Kubernetes.Watches(); len(open) > 0 {
		t.Errorf("left at the Kubernetes API: watches of %q", open)
	}
	if err := leaked(others); err != nil {
		t.Errorf("left in the process: %v", err)
	}
}

// leaked waits a moment for goroutines that are about to end, such as those of
// connections that were closed.
func leaked(others goleak.Option) error {
	var err error
	for range 5 {
		if err = goleak.Find(others); err == nil {
			break
		}
	}

	return err
}

// cycle starts and closes n clouds.
func (l Lifecycle) cycle(t testing.TB, n int) {
	t.Helper()
	var workers sync.WaitGroup
	for worker := range atOnce {
		workers.Go(func() {
			for i := worker; i < n; i += atOnce {
				ending := endings[i/atOnce%len(endings)]
				if err := l.live(t.Context(), ending.end); err != nil {
					t.Errorf("cloud %d, %s: %v", i, ending.name, err)
				}
			}
		})
	}
	workers.Wait()
}

// live is one cloud from its start to its end.
func (l Lifecycle) live(ctx context.Context, end func(context.Context, Lifecycle, Cloud) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, err := l.New()
	if err != nil {
		return err
	}

	return errors.Join(end(ctx, l, c), c.Close(ctx))
}

func (l Lifecycle) use(ctx context.Context, c Cloud) error {
	for {
		err := l.Use(ctx, c)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("use the cloud: %w", err)
		case <-time.After(time.Millisecond):
		}
	}
}

// series counts what the process serves at /metrics, without the metrics of Go and
// of the process.
func series(t testing.TB) int {
	t.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, family := range families {
		n += len(family.GetMetric())
	}

	return n
}
