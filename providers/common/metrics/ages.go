package metrics

import (
	"sync"
	"time"

	kmetrics "k8s.io/component-base/metrics"
	"k8s.io/utils/clock"
)

// ages computes the age of each snapshot when it is read.
type ages struct {
	kmetrics.BaseStableCollector

	clock clock.PassiveClock
	desc  *kmetrics.Desc

	mu  sync.Mutex
	all map[origin]*age
}

// origin is whose snapshot it is.
type origin struct{ provider, source string }

// age is when a snapshot was last known to be right.
type age struct {
	mu    *sync.Mutex // that of ages
	as    time.Time
	known bool // as is a refresh, not the start
}

var _ kmetrics.StableCollector = (*ages)(nil)

func newAges(clk clock.PassiveClock) *ages {
	return &ages{
		clock: clk,
		desc:  kmetrics.NewDesc(snapshotAge.Name, snapshotAge.Help, snapshotAge.Labels, nil, kmetrics.ALPHA, ""),
		all:   map[origin]*age{},
	}
}

// of returns the age of a source, from now on if it is new.
func (a *ages) of(provider, source string) *age {
	a.mu.Lock()
	defer a.mu.Unlock()

	at := origin{provider, source}
	if a.all[at] == nil {
		a.all[at] = &age{mu: &a.mu, as: a.clock.Now()}
	}

	return a.all[at]
}

func (g *age) refreshed(at time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()

	if !g.known || at.After(g.as) {
		g.as, g.known = at, true
	}
}

// DescribeWithStability describes to the registry what will be collected.
func (a *ages) DescribeWithStability(ch chan<- *kmetrics.Desc) { ch <- a.desc }

// CollectWithStability returns every age as it is now.
func (a *ages) CollectWithStability(ch chan<- kmetrics.Metric) {
	for at, asOf := range a.times() {
		ch <- kmetrics.NewLazyConstMetric(a.desc, kmetrics.GaugeValue, a.clock.Since(asOf).Seconds(), at.provider, at.source)
	}
}

// times copies what is known, so that no lock is held while it is sent.
func (a *ages) times() map[origin]time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()

	times := make(map[origin]time.Time, len(a.all))
	for at, g := range a.all {
		times[at] = g.as
	}

	return times
}
