package metrics

import (
	"maps"
	"slices"
	"sync"
	"time"

	kmetrics "k8s.io/component-base/metrics"
	"k8s.io/utils/clock"
)

// Since returns since when each of a number of objects is in a state, and false as
// long as that is not known. It is called at each scrape, by several callers at once,
// and must call no API.
type Since func() ([]time.Time, bool)

// backlog computes, when it is read, how many objects are in a state and the age of
// the oldest one.
type backlog struct {
	kmetrics.BaseStableCollector

	clock       clock.PassiveClock
	count, ages *kmetrics.Desc

	mu sync.Mutex
	// sources are by provider.
	sources map[string]Since
}

var _ kmetrics.StableCollector = (*backlog)(nil)

func newBacklog(clk clock.PassiveClock, count, oldest Metric) *backlog {
	return &backlog{
		clock:   clk,
		count:   kmetrics.NewDesc(count.Name, count.Help, count.Labels, nil, kmetrics.ALPHA, ""),
		ages:    kmetrics.NewDesc(oldest.Name, oldest.Help, oldest.Labels, nil, kmetrics.ALPHA, ""),
		sources: map[string]Since{},
	}
}

// report uses the source from now on. The last one of a provider counts.
func (b *backlog) report(provider string, since Since) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sources[provider] = since
}

// DescribeWithStability describes to the registry what will be collected.
func (b *backlog) DescribeWithStability(ch chan<- *kmetrics.Desc) { ch <- b.count; ch <- b.ages }

// CollectWithStability returns the count and the age of the oldest, zero if there is
// none, as they are now.
func (b *backlog) CollectWithStability(ch chan<- kmetrics.Metric) {
	for provider, since := range b.all() {
		all, known := since()
		if !known {
			continue
		}
		age := 0.0
		if len(all) > 0 {
			age = max(0, b.clock.Since(slices.MinFunc(all, time.Time.Compare)).Seconds())
		}
		ch <- kmetrics.NewLazyConstMetric(b.count, kmetrics.GaugeValue, float64(len(all)), provider)
		ch <- kmetrics.NewLazyConstMetric(b.ages, kmetrics.GaugeValue, age, provider)
	}
}

// all copies the sources, so that no lock is held while they are called.
func (b *backlog) all() map[string]Since {
	b.mu.Lock()
	defer b.mu.Unlock()

	return maps.Clone(b.sources)
}
