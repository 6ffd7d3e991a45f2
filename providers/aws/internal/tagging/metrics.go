package tagging

import (
	"time"

	kmetrics "k8s.io/component-base/metrics"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
)

// The values of the label error_type.
const (
	errorsTotal     = "total_errors"
	errorsExhausted = "errors_after_retries_exhausted"
	errorsRefused   = "tags_refused"
)

// maxInstances is the maximum number of instances with their own series.
const maxInstances = 100

// The metrics that the existing AWS controller manager documents, in its
// spelling.
var (
	workItemErrors = metrics.Metric{
		Name: "cloudprovider_aws_tagging_controller_work_item_errors_total", Type: metrics.Counter,
		Labels: []string{"error_type", "instance_id"},
		Help:   "Failures of the tagging controller, by instance for up to 100 instances. Failures of the type tags_refused have no instance: EC2 rejects the tags.",
	}
	taggingDelay = metrics.Metric{
		Name: "tagging_controller_inital_node_tagging_delay_seconds", Type: metrics.Histogram, //nolint:misspell // that is its name
		Help: "Time from the creation of a Node until its instance was tagged for the first time. The name has the spelling of the upstream controller.",
	}
)

// AllMetrics lists the metrics of this package, by name.
func AllMetrics() []metrics.Metric { return []metrics.Metric{workItemErrors, taggingDelay} }

// Metrics count the work of the controller, once they are registered.
type Metrics struct {
	errors    *kmetrics.CounterVec
	delay     *kmetrics.Histogram
	instances *metrics.Limit
}

// NewMetrics makes the metrics of a controller.
func NewMetrics() *Metrics {
	return &Metrics{
		errors: metrics.NewCounter(workItemErrors),
		delay: kmetrics.NewHistogram(&kmetrics.HistogramOpts{
			Name: taggingDelay.Name, Help: taggingDelay.Help, StabilityLevel: kmetrics.ALPHA,
			Buckets: kmetrics.ExponentialBuckets(1, 4, 7),
		}),
		instances: metrics.NewLimit(maxInstances),
	}
}

// Register adds the metrics to a registry, such as that of legacyregistry.
func (m *Metrics) Register(mustRegister func(...kmetrics.Registerable)) {
	mustRegister(m.errors, m.delay)
}

func (m *Metrics) tagged(after time.Duration) { m.delay.Observe(after.Seconds()) }

func (m *Metrics) failed(instance, kind string) {
	m.errors.WithLabelValues(kind, m.instances.Of(instance)).Inc()
}

// refused counts a rejection of the tags, which belongs to no instance.
func (m *Metrics) refused() { m.errors.WithLabelValues(errorsRefused, "").Inc() }
