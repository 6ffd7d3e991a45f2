package client

import (
	"errors"
	"net/http"

	kmetrics "k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
)

// The metrics that the upstream OpenStack controller manager documents:
// https://github.com/kubernetes/cloud-provider-openstack/blob/master/docs/metrics.md.
var (
	requestDuration = metrics.Metric{
		Name: "openstack_api_request_duration_seconds", Type: metrics.Histogram, Labels: []string{"request"},
		Help: "Duration of requests to the OpenStack APIs.",
	}
	requestTotal = metrics.Metric{
		Name: "openstack_api_requests_total", Type: metrics.Counter, Labels: []string{"request"},
		Help: "Requests to the OpenStack APIs.",
	}
	requestErrors = metrics.Metric{
		Name: "openstack_api_request_errors_total", Type: metrics.Counter, Labels: []string{"request"},
		Help: "Failed requests to the OpenStack APIs. The deletion of what no longer exists is not counted.",
	}
	reconcileDuration = metrics.Metric{
		Name: "cloudprovider_openstack_reconcile_duration_seconds", Type: metrics.Histogram, Labels: []string{"operation"},
		Help: "Duration of operations for load balancers, of any number of requests each.",
	}
	reconcileTotal = metrics.Metric{
		Name: "cloudprovider_openstack_reconcile_total", Type: metrics.Counter, Labels: []string{"operation"},
		Help: "Operations for load balancers.",
	}
	reconcileErrors = metrics.Metric{
		Name: "cloudprovider_openstack_reconcile_errors_total", Type: metrics.Counter, Labels: []string{"operation"},
		Help: "Failed operations for load balancers.",
	}
)

// The operations for load balancers, for [Metrics.Reconcile].
const (
	ReconcileEnsure = "loadbalancer_ensure"
	ReconcileUpdate = "loadbalancer_update"
	ReconcileDelete = "loadbalancer_delete"
)

// reconcileBuckets are those that the upstream controller manager has.
func reconcileBuckets() []float64 {
	return []float64{.01, .05, .1, .5, 1, 2.5, 5, 7.5, 10, 12.5, 15, 17.5, 20, 22.5, 25, 27.5, 30, 50, 75, 100, 1000}
}

// AllMetrics lists the metrics of this package.
func AllMetrics() []metrics.Metric {
	return []metrics.Metric{requestDuration, requestTotal, requestErrors, reconcileDuration, reconcileTotal, reconcileErrors}
}

// Metrics counts the requests and operations of all clients of the process.
type Metrics struct {
	recorder *metrics.Recorder
	clock    clock.PassiveClock

	requestDuration, reconcileDuration                          *kmetrics.HistogramVec
	requestTotal, requestErrors, reconcileTotal, reconcileError *kmetrics.CounterVec
}

// NewMetrics returns the metrics of this package, which count once they are registered,
// in addition to a recorder that counts at once.
func NewMetrics(recorder *metrics.Recorder) *Metrics {
	return &Metrics{
		recorder:          recorder,
		clock:             clock.RealClock{},
		requestDuration:   metrics.NewHistogram(requestDuration, kmetrics.DefBuckets),
		requestTotal:      metrics.NewCounter(requestTotal),
		requestErrors:     metrics.NewCounter(requestErrors),
		reconcileDuration: metrics.NewHistogram(reconcileDuration, reconcileBuckets()),
		reconcileTotal:    metrics.NewCounter(reconcileTotal),
		reconcileError:    metrics.NewCounter(reconcileErrors),
	}
}

// Register adds the metrics to a registry, such as that of legacyregistry.
func (m *Metrics) Register(mustRegister func(...kmetrics.Registerable)) {
	mustRegister(m.requestDuration, m.requestTotal, m.requestErrors, m.reconcileDuration, m.reconcileTotal, m.reconcileError)
}

// Reconcile counts an operation for a load balancer. The function that it returns is
// called with the result.
func (m *Metrics) Reconcile(operation string) func(error) {
	began := m.clock.Now()

	return func(err error) {
		m.reconcileDuration.WithLabelValues(operation).Observe(m.clock.Since(began).Seconds())
		m.reconcileTotal.WithLabelValues(operation).Inc()
		if err != nil {
			m.reconcileError.WithLabelValues(operation).Inc()
		}
	}
}

// request counts one request on the wire. The function that it returns is called at the
// end of the response.
func (m *Metrics) request(service Service, method, operation string) func(error) {
	done := m.recorder.Call(string(service), operation)
	began := m.clock.Now()

	return func(err error) {
		done(err)
		m.requestDuration.WithLabelValues(operation).Observe(m.clock.Since(began).Seconds())
		m.requestTotal.WithLabelValues(operation).Inc()
		if err != nil && (method != http.MethodDelete || !errors.Is(err, apierr.ErrNotFound)) {
			m.requestErrors.WithLabelValues(operation).Inc()
		}
	}
}

// connected stores whether there is a session with a cloud.
func (m *Metrics) connected(endpoint string, yes bool) {
	open := 0
	if yes {
		open = 1
	}
	m.recorder.Connected(endpoint, yes)
	m.recorder.Sessions(endpoint, open)
}
