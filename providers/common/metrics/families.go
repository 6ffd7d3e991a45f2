package metrics

import (
	"slices"
	"strings"
	"sync"

	kmetrics "k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// buckets reach from a call in the same rack to one that nearly timed out.
func buckets() []float64 {
	return []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
}

// UpstreamBuckets are the buckets of the durations that the existing controller
// managers document, with two above them for calls that nearly timed out.
func UpstreamBuckets() []float64 {
	return slices.Concat(kmetrics.ExponentialBuckets(0.005, 2, 12), []float64{30, 60})
}

// NewCounter returns a counter, which counts once it is registered.
func NewCounter(m Metric) *kmetrics.CounterVec {
	return kmetrics.NewCounterVec(&kmetrics.CounterOpts{
		Name: m.Name, Help: m.Help, StabilityLevel: kmetrics.ALPHA,
	}, m.Labels)
}

func newGauge(m Metric) *kmetrics.GaugeVec {
	return kmetrics.NewGaugeVec(&kmetrics.GaugeOpts{
		Name: m.Name, Help: m.Help, StabilityLevel: kmetrics.ALPHA,
	}, m.Labels)
}

// NewHistogram returns a histogram, which counts once it is registered.
func NewHistogram(m Metric, buckets []float64) *kmetrics.HistogramVec {
	return kmetrics.NewHistogramVec(&kmetrics.HistogramOpts{
		Name: m.Name, Help: m.Help, Buckets: buckets, StabilityLevel: kmetrics.ALPHA,
	}, m.Labels)
}

// Registrable is a group of metrics. Register adds them to a registry.
type Registrable interface {
	Register(mustRegister func(...kmetrics.Registerable))
}

// OfProcess returns a function that returns the metrics which newMetrics made at
// its first call, registered with the registry of the process. A provider makes
// its own metrics with it, in a package variable: two of its clouds share them.
func OfProcess[M Registrable](newMetrics func() M) func() M {
	return sync.OnceValue(func() M {
		m := newMetrics()
		m.Register(legacyregistry.MustRegister)

		return m
	})
}

// text makes a label value that the registry takes.
func text(value string) string { return strings.ToValidUTF8(value, "?") }

// Limit bounds the values of a label. It is safe for concurrent use.
type Limit struct {
	mu   sync.Mutex
	max  int
	seen map[string]bool
}

// NewLimit returns a Limit of n different values.
func NewLimit(n int) *Limit { return &Limit{max: n, seen: map[string]bool{}} }

// Of returns value as text, or [Other] if there are too many different ones
// already.
func (l *Limit) Of(value string) string {
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
