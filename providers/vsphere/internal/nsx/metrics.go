package nsx

import (
	"errors"
	"time"

	kmetrics "k8s.io/component-base/metrics"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
)

var waiting = metrics.Metric{
	Name: "multicloud_ccm_vsphere_nsxt_request_wait_duration_seconds", Type: metrics.Histogram, Labels: []string{},
	Help: "How long requests to the NSX-T manager waited because of the limits of their number and rate. The rate falls while the manager throttles.",
}

// AllMetrics lists the metrics of this package, by name.
func AllMetrics() []metrics.Metric { return []metrics.Metric{waiting} }

// Metrics counts the calls of all clients of the process.
type Metrics struct {
	recorder *metrics.Recorder
	waiting  *kmetrics.HistogramVec
}

// NewMetrics returns the metrics of this package, which count once they are registered,
// in addition to a recorder that counts at once.
func NewMetrics(recorder *metrics.Recorder) *Metrics {
	return &Metrics{recorder: recorder, waiting: metrics.NewHistogram(waiting, metrics.UpstreamBuckets())}
}

// Register adds the metrics to a registry, such as that of legacyregistry.
func (m *Metrics) Register(mustRegister func(...kmetrics.Registerable)) { mustRegister(m.waiting) }

// call counts one call on the wire.
func (m *Metrics) call(operation string) func(error) { return m.recorder.Call("nsxt", operation) }

// login counts a login, which every call is. endpoint is the manager.
func (m *Metrics) login(endpoint string, err error) {
	if err == nil || errors.Is(err, ErrLogin) {
		m.recorder.Login(endpoint, err)
	}
}

func (m *Metrics) waited(d time.Duration) { m.waiting.WithLabelValues().Observe(d.Seconds()) }
