package metrics

import (
	"strings"
	"sync"

	kmetrics "k8s.io/component-base/metrics"
)

// buckets reach from a call in the same rack to one that nearly timed out.
func buckets() []float64 {
	return []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
}

func newCounter(m Metric) *kmetrics.CounterVec {
	return kmetrics.NewCounterVec(&kmetrics.CounterOpts{
		Name: m.Name, Help: m.Help, StabilityLevel: kmetrics.ALPHA,
	}, m.Labels)
}

func newGauge(m Metric) *kmetrics.GaugeVec {
	return kmetrics.NewGaugeVec(&kmetrics.GaugeOpts{
		Name: m.Name, Help: m.Help, StabilityLevel: kmetrics.ALPHA,
	}, m.Labels)
}

func newHistogram(m Metric) *kmetrics.HistogramVec {
	return kmetrics.NewHistogramVec(&kmetrics.HistogramOpts{
		Name: m.Name, Help: m.Help, Buckets: buckets(), StabilityLevel: kmetrics.ALPHA,
	}, m.Labels)
}

// text makes a label value that the registry takes.
func text(value string) string { return strings.ToValidUTF8(value, "?") }

// limit bounds the values of a label.
type limit struct {
	mu   sync.Mutex
	max  int
	seen map[string]bool
}

func newLimit(n int) *limit { return &limit{max: n, seen: map[string]bool{}} }

// of gives value as text, or [Other] if there are too many different ones already.
func (l *limit) of(value string) string {
	value = text(value)
	l.mu.Lock()
	defer l.mu.Unlock()

	if !l.seen[value] {
		if len(l.seen) >= l.max {
			return Other
		}
		l.seen[value] = true
	}

	return value
}
